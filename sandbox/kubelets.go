package sandbox

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/utils/clock"
	"sigs.k8s.io/kwok/pkg/client/clientset/versioned"
	"sigs.k8s.io/kwok/pkg/kwok/controllers"
	kwoklog "sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/client"
)

const (
	// kubeletParallelism is the number of pods, and of nodes, whose stages are played at a time.
	kubeletParallelism = 16
	// nodeLeaseSeconds is the lifetime of a node's lease, the kubelet's default.
	nodeLeaseSeconds = 40
	// kubeletsID is the holder of the nodes' leases.
	kubeletsID = "kwok"
)

// kubelets returns kwok as the kubelet of all nodes.
func (s *controlPlane) kubelets() (component, error) {
	stages, err := readStages(s.options.Pods)
	if err != nil {
		return component{}, err
	}
	objectStages, err := readObjectStages(stages)
	if err != nil {
		return component{}, err
	}
	if err := s.kubelet.addPages("", "kubelet", shownFlags{"pods": cmp.Or(s.options.Pods, PodPresets()[0])}, "/healthz", "/metrics"); err != nil {
		return component{}, err
	}
	conf := controllers.Config{
		Clock:                           clock.RealClock{},
		ManageAllNodes:                  true,
		CIDR:                            podCIDR,
		NodePort:                        kubeletPort,
		LocalStages:                     stages,
		PodPlayStageParallelism:         kubeletParallelism,
		NodePlayStageParallelism:        kubeletParallelism,
		NodeLeaseDurationSeconds:        nodeLeaseSeconds,
		NodeLeaseParallelism:            kubeletParallelism,
		PodsOnNodeSyncParallelism:       kubeletParallelism,
		EnablePodsOnNodeSyncStreamWatch: true,
		ID:                              kubeletsID,
		FuncMap:                         s.stageFunctions(s.components),
	}
	if err := connectKubelets(&conf, s.clientConfig("")); err != nil {
		return component{}, err
	}
	kubelets, err := controllers.NewController(conf)
	if err != nil {
		return component{}, err
	}
	return component{Kubelets, func(ctx context.Context) error {
		ctx = kwoklog.NewContext(ctx, kwoklog.NewLogger(logWriter{s.options.Logger}, kwoklog.LevelWarn))
		if err := s.deleteLeases(ctx); err != nil {
			return fmt.Errorf("deleting the leases of an earlier run: %w", err)
		}
		if err := kubelets.Start(ctx); err != nil {
			return err
		}
		if err := startObjectStages(ctx, conf, objectStages); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	}}, nil
}

// deleteLeases deletes the leases that the kubelets of an earlier run with the same data left. The
// kubelets create theirs before they have read the existing ones, report an error if there is one, and leave
// the pods of the node alone until they try again, ten seconds later.
func (s *controlPlane) deleteLeases(ctx context.Context) error {
	leases := s.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	list, err := leases.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		if holder := list.Items[i].Spec.HolderIdentity; holder == nil || *holder != kubeletsID {
			continue
		}
		if err := leases.Delete(ctx, list.Items[i].Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// connectKubelets makes the clients of a configuration.
func connectKubelets(conf *controllers.Config, config *rest.Config) (err error) {
	if conf.DynamicClient, err = dynamic.NewForConfig(config); err != nil {
		return err
	}
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	conf.TypedClient = clientset
	if conf.TypedKwokClient, err = versioned.NewForConfig(config); err != nil {
		return err
	}
	raw := rest.CopyConfig(config)
	raw.GroupVersion = &schema.GroupVersion{}
	raw.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	if conf.RESTClient, err = rest.RESTClientFor(raw); err != nil {
		return err
	}
	conf.RESTMapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(clientset.Discovery()))
	users := impersonator{config}
	conf.ImpersonatingDynamicClient, conf.ImpersonatingTypedClient = users, users
	return nil
}

// impersonator makes the clients of stages that act as another user.
type impersonator struct{ config *rest.Config }

var (
	_ client.DynamicClientImpersonator = impersonator{}
	_ client.TypedClientImpersonator   = impersonator{}
)

func (i impersonator) as(user rest.ImpersonationConfig) *rest.Config {
	config := rest.CopyConfig(i.config)
	config.Impersonate = user
	return config
}

// ImpersonateDynamic implements client.DynamicClientImpersonator.
func (i impersonator) ImpersonateDynamic(user rest.ImpersonationConfig) (dynamic.Interface, error) {
	return dynamic.NewForConfig(i.as(user))
}

// ImpersonateTyped implements client.TypedClientImpersonator.
func (i impersonator) ImpersonateTyped(user rest.ImpersonationConfig) (kubernetes.Interface, error) {
	return kubernetes.NewForConfig(i.as(user))
}

// logWriter logs the lines of kwok, each a JSON object.
type logWriter struct{ logger *slog.Logger }

// Write implements io.Writer.
func (w logWriter) Write(line []byte) (int, error) {
	var record struct {
		Level slog.Level
		Msg   string
		Err   string
		Stage string
	}
	if err := json.Unmarshal(line, &record); err != nil {
		record.Level, record.Msg = slog.LevelWarn, string(line) // in words
	}
	if strings.HasSuffix(record.Err, " not found") {
		record.Level = slog.LevelDebug // somebody deleted the pod before its stage
	}
	w.logger.Log(context.Background(), record.Level, "kwok: "+record.Msg, "stage", record.Stage, "error", record.Err)
	return len(line), nil
}
