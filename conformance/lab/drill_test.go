package lab

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	apiwait "k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"

	"github.com/miniapiserver/miniapiserver/lab/kubectl"
)

// copier is a controller: it copies each ConfigMap with the label copy=me to one with the suffix -copy. A careless one does not try
// again what failed.
type copier struct {
	client   kubernetes.Interface
	careless bool
}

func (c *copier) reconcile(ctx context.Context, from *corev1.ConfigMap) error {
	maps := c.client.CoreV1().ConfigMaps(from.Namespace)
	to, err := maps.Get(ctx, from.Name+"-copy", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		to = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: from.Name + "-copy"}}
		to, err = maps.Create(ctx, to, metav1.CreateOptions{})
	}
	if err != nil {
		return err
	}
	to.Data = from.Data
	_, err = maps.Update(ctx, to, metav1.UpdateOptions{})
	return err
}

// run runs the controller until ctx ends.
func (c *copier) run(ctx context.Context, t *testing.T) {
	factory := informers.NewSharedInformerFactoryWithOptions(c.client, 0, informers.WithNamespace("default"))
	maps := factory.Core().V1().ConfigMaps()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](5*time.Millisecond, time.Second))
	add := func(obj any) {
		if m := obj.(*corev1.ConfigMap); m.Labels["copy"] == "me" {
			queue.Add(m.Name)
		}
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, obj any) { add(obj) }}
	if _, err := maps.Informer().AddEventHandler(handler); err != nil {
		t.Error(err)
		return
	}
	var working sync.WaitGroup
	working.Go(func() {
		for {
			name, ends := queue.Get()
			if ends {
				return
			}
			from, err := maps.Lister().ConfigMaps("default").Get(name)
			if err == nil {
				err = c.reconcile(ctx, from)
			}
			switch {
			case err == nil, apierrors.IsNotFound(err), c.careless:
				queue.Forget(name)
			default:
				queue.AddRateLimited(name)
			}
			queue.Done(name)
		}
	})
	factory.StartWithContext(ctx)
	<-ctx.Done()
	queue.ShutDown()
	working.Wait()
	factory.Shutdown()
}

// drillCommandEnv has the test binary be the command of a drill.
const drillCommandEnv = "LAB_DRILL_COMMAND"

// TestDrillCommand is the command of the drills: it creates a ConfigMap, and waits for its copy. Without the variable it has nothing to do.
func TestDrillCommand(t *testing.T) {
	if os.Getenv(drillCommandEnv) == "" {
		t.Skip("runs as the command of TestDrill")
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	defer utilnet.CloseIdleConnectionsFor(client.Transport)
	c, err := kubernetes.NewForConfigAndClient(config, client)
	if err != nil {
		t.Fatal(err)
	}
	maps := c.CoreV1().ConfigMaps("default")
	from := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "one", Labels: labels.Set{"copy": "me"}}, Data: map[string]string{"a": "b"}}
	if _, err := maps.Create(t.Context(), from, metav1.CreateOptions{}); err != nil {
		t.Fatalf("the state is not that of the start: %v", err)
	}
	err = apiwait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 5*time.Second, true, func(ctx context.Context) (bool, error) {
		one, err := maps.Get(ctx, "one-copy", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil && one.Data["a"] == "b", err
	})
	if err != nil {
		t.Errorf("there is no copy: %v", err)
	}
}

// TestDrill drills two controllers with a command that creates an object: what they survive, and what is left of it.
func TestDrill(t *testing.T) {
	w := startLab(t)
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(kubeconfig, w.s.Kubeconfig(), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(drillCommandEnv, "1")
	faults := filepath.Join(dir, "faults.yaml")
	const none = "- name: none-of-its\n  match: {resources: [pods]}\n  inject: {error: {code: 500}}\n"
	if err := os.WriteFile(faults, []byte(none), 0o600); err != nil {
		t.Fatal(err)
	}
	drilled := map[string][]string{
		"careful":  {"conflict", "internal-error", "lost-answer", "lost-request"},
		"careless": {"conflict", "lost-answer"}, // each costs the patience of the command
	}
	for name, hit := range drilled {
		t.Run(name, func(t *testing.T) {
			w := w.in(t)
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			defer running.Wait()
			defer cancel()
			controller := &copier{client: w.typed(name + "/1"), careless: name == "careless"}
			running.Go(func() { controller.run(ctx, t) })
			var stdout, stderr bytes.Buffer
			code := kubectl.Run([]string{"--kubeconfig", kubeconfig, "drill", "--agent", name + "/*",
				"--faults", strings.Join(append(hit, faults), ","), "--", os.Args[0], "-test.run=^TestDrillCommand$"}, &stdout, &stderr)
			want, results := 0, map[string]string{"none": "passed", "none-of-its": "hit nothing"}
			for _, fault := range hit {
				if results[fault] = "survived"; controller.careless {
					want, results[fault] = 1, "failed"
				}
			}
			if code != want {
				t.Errorf("exit status %d: %s", code, stderr.String())
			}
			for fault, result := range results {
				if !regexp.MustCompile(fmt.Sprintf(`(?m)^%s +%s `, fault, result)).MatchString(stdout.String()) {
					t.Errorf("%s: not %s:\n%s", fault, result, stdout.String())
				}
			}
			if left := contents(w, group+"/faults") + contents(w, group+"/checkpoints"); strings.Contains(left, "name") {
				t.Errorf("the drill left %s", left)
			}
			if after := contents(w, "/api/v1/namespaces/default/configmaps"); strings.Contains(after, "one") {
				t.Errorf("the command left %s", after)
			}
		})
	}
}
