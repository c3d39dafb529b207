package sandbox

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/server/flagz"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	schedulerconfig "k8s.io/kubernetes/cmd/kube-scheduler/app/config"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

// schedulerConfigz is the name under which the kube-scheduler registers its configuration.
const schedulerConfigz = "componentconfig"

// scheduler returns the real kube-scheduler, and a function that waits until it has read what it
// schedules by.
func (s *controlPlane) scheduler() (component, error) {
	o := options.NewOptions()
	flags := pflag.NewFlagSet(Scheduler, pflag.ContinueOnError)
	for _, set := range o.Flags.FlagSets {
		flags.AddFlagSet(set)
	}
	args := append([]string{
		"--kubeconfig=" + s.server.KubeconfigFile,
		"--leader-elect=false",
		"--secure-port=0",
		"--authentication-kubeconfig=" + s.server.KubeconfigFile, // for another port
		"--authorization-kubeconfig=" + s.server.KubeconfigFile,
	}, s.options.SchedulerArgs...)
	if err := flags.Parse(args); err != nil {
		return component{}, fmt.Errorf("--scheduler-arg: %w", err)
	}
	if o.LeaderElection.LeaderElect {
		return component{}, fmt.Errorf("--scheduler-arg: %w", errLeaderElection)
	}
	if err := o.ComponentGlobalsRegistry.Set(); err != nil {
		return component{}, err
	}
	var err error
	if o.ComponentConfig, err = latest.Default(); err != nil {
		return component{}, err
	}
	if errs := o.Validate(); len(errs) > 0 {
		return component{}, fmt.Errorf("--scheduler-arg: %w", errs[0])
	}
	if err := s.kubelet.addPages("/kube-scheduler", "kube-scheduler", flagz.NamedFlagSetsReader{FlagSets: *o.Flags}); err != nil {
		return component{}, err
	}
	return component{Scheduler, func(ctx context.Context) error {
		c, err := o.Config(ctx)
		if err != nil {
			return err
		}
		if c.SecureServing == nil { // the flags give it no port
			if c.SecureServing, err = s.serveHealth(Scheduler); err != nil {
				return err
			}
		}
		c.KubeConfig = s.clientConfig("system:kube-scheduler")
		return registerOnce(schedulerConfigz, c.KubeConfig, func() error {
			if err := connectScheduler(ctx, c); err != nil {
				return err
			}
			complete := c.Complete()
			sched, err := newScheduler(ctx, &complete)
			if err != nil {
				return err
			}
			s.schedules <- sched
			return app.Run(ctx, &complete, sched)
		})
	}}, nil
}

// connectScheduler makes the clients and caches of a configuration anew, for its KubeConfig.
func connectScheduler(ctx context.Context, c *schedulerconfig.Config) error {
	client, err := kubernetes.NewForConfig(rest.AddUserAgent(c.KubeConfig, "scheduler"))
	if err != nil {
		return err
	}
	dynamicClient, err := dynamic.NewForConfig(c.KubeConfig)
	if err != nil {
		return err
	}
	c.Client = client
	c.EventBroadcaster = events.NewEventBroadcasterAdapterWithContext(ctx, client)
	c.InformerFactory = scheduler.NewInformerFactory(client, 0, nil)
	c.DynInformerFactory = dynamicinformer.NewFilteredDynamicSharedInformerFactory(dynamicClient, 0, corev1.NamespaceAll, nil)
	return nil
}

// newScheduler makes the scheduler of a configuration, as app.Setup does for one that it reads
// from files.
func newScheduler(ctx context.Context, c *schedulerconfig.CompletedConfig) (*scheduler.Scheduler, error) {
	recorders := func(name string) events.EventRecorderLogger { return c.EventBroadcaster.NewRecorder(name) }
	o := c.ComponentConfig
	return scheduler.New(ctx, c.Client, c.InformerFactory, c.DynInformerFactory, profile.RecorderFactory(recorders),
		scheduler.WithComponentConfigVersion(o.APIVersion),
		scheduler.WithKubeConfig(c.KubeConfig),
		scheduler.WithProfiles(o.Profiles...),
		scheduler.WithPercentageOfNodesToScore(o.PercentageOfNodesToScore),
		scheduler.WithPodMaxBackoffSeconds(o.PodMaxBackoffSeconds),
		scheduler.WithPodInitialBackoffSeconds(o.PodInitialBackoffSeconds),
		scheduler.WithPodMaxInUnschedulablePodsDuration(c.PodMaxInUnschedulablePodsDuration),
		scheduler.WithExtenders(o.Extenders...),
		scheduler.WithParallelism(o.Parallelism))
}
