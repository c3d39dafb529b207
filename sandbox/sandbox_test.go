package sandbox

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/server"
)

// eventually waits until holds returns true, and fails the test after a time limit.
func eventually(t *testing.T, what string, holds func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, holds); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func podTemplate(labels map[string]string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "nginx"}}},
	}
}

func deployment(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: podTemplate(labels)},
	}
}

// deploy creates a Deployment in a sandbox and waits until its pods are available.
func deploy(t *testing.T, s *Sandbox, name string, replicas int32) {
	t.Helper()
	deployments := s.Client.AppsV1().Deployments("default")
	if _, err := deployments.Create(t.Context(), deployment(name, replicas), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Deployment is available", func(ctx context.Context) (bool, error) {
		d, err := deployments.Get(ctx, name, metav1.GetOptions{})
		return err == nil && d.Status.AvailableReplicas == replicas, err
	})
}

// TestCluster checks what makes a sandbox a cluster.
func TestCluster(t *testing.T) {
	s := Start(t, Options{Nodes: 2})
	deploy(t, s, "web", 3)
	pods, err := s.Client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil {
		t.Fatal(err)
	}
	addresses := map[string]bool{}
	for _, pod := range pods.Items {
		if pod.Spec.NodeName == "" || pod.Status.PodIP == "" || pod.Status.HostIP == "" {
			t.Errorf("pod %s: node %q, IP %q, host %q", pod.Name, pod.Spec.NodeName, pod.Status.PodIP, pod.Status.HostIP)
		}
		addresses[pod.Status.PodIP] = true
	}
	if len(addresses) != 3 {
		t.Errorf("3 pods have %d addresses", len(addresses))
	}
	logs, err := s.Client.CoreV1().Pods("default").GetLogs(pods.Items[0].Name, &corev1.PodLogOptions{}).Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	if text, err := io.ReadAll(logs); err != nil || !strings.Contains(string(text), "This is a sandbox") {
		t.Errorf("logs: %q, %v", text, err)
	}
	metrics, err := s.Client.CoreV1().RESTClient().Get().AbsPath("/api/v1/nodes/node-0/proxy/metrics").DoRaw(t.Context())
	if err != nil || !strings.Contains(string(metrics), "scheduler_schedule_attempts_total") || !strings.Contains(string(metrics), `workqueue_adds_total{name="deployment"}`) {
		t.Errorf("metrics of the scheduler or of controllers are missing: %v", err)
	}
	for path, want := range map[string]string{
		"/api/v1/nodes/node-1/proxy/statusz":                         "kubelet statusz",
		"/api/v1/nodes/node-0/proxy/flagz":                           "pods",
		"/api/v1/nodes/node-0/proxy/kube-controller-manager/statusz": "kube-controller-manager statusz",
		"/api/v1/nodes/node-0/proxy/kube-controller-manager/flagz":   "cluster-signing-key-file",
		"/api/v1/nodes/node-0/proxy/kube-scheduler/statusz":          "kube-scheduler statusz",
		"/api/v1/nodes/node-0/proxy/kube-scheduler/flagz":            "leader-elect",
		"/statusz": "apiserver statusz",
		"/flagz":   "service-cluster-ip-range",
	} {
		page, err := s.Client.CoreV1().RESTClient().Get().AbsPath(path).SetHeader("Accept", "text/plain").DoRaw(t.Context())
		if err != nil || !strings.Contains(string(page), want) {
			t.Errorf("%s: %q, %v", path, page, err)
		}
	}
	eventually(t, "the scheduler is healthy", func(ctx context.Context) (bool, error) {
		status, err := s.Client.CoreV1().ComponentStatuses().Get(ctx, Scheduler, metav1.GetOptions{})
		return err == nil && status.Conditions[0].Status == corev1.ConditionTrue && status.Conditions[0].Message == "ok", err
	})
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "once"}, Spec: batchv1.JobSpec{Template: podTemplate(nil)}}
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	if _, err := s.Client.BatchV1().Jobs("default").Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Job completes", func(ctx context.Context) (bool, error) {
		j, err := s.Client.BatchV1().Jobs("default").Get(ctx, "once", metav1.GetOptions{})
		return err == nil && j.Status.Succeeded == 1 && j.Status.CompletionTime != nil, err
	})
	eventually(t, "metrics of nodes", func(ctx context.Context) (bool, error) {
		data, err := s.Client.CoreV1().RESTClient().Get().AbsPath("/apis/metrics.k8s.io/v1beta1/nodes").DoRaw(ctx)
		// The API is unavailable until the server has looked at its Service.
		return err == nil && strings.Contains(string(data), `"NodeMetrics"`) && strings.Contains(string(data), "node-1"), nil
	})
}

// TestComponentStatuses checks that kubectl get componentstatuses shows which components run.
func TestComponentStatuses(t *testing.T) {
	s := Start(t, Options{Without: []string{Scheduler}})
	eventually(t, "the controller manager and etcd are healthy, and the scheduler, which does not run, is not", func(ctx context.Context) (bool, error) {
		list, err := s.Client.CoreV1().ComponentStatuses().List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		healthy := map[string]corev1.ConditionStatus{}
		for _, c := range list.Items {
			healthy[c.Name] = c.Conditions[0].Status
		}
		return maps.Equal(healthy, map[string]corev1.ConditionStatus{
			"controller-manager": corev1.ConditionTrue, "scheduler": corev1.ConditionFalse, "etcd-0": corev1.ConditionTrue,
		}), nil
	})
}

// TestNodeRestriction checks that a node cannot create another one.
func TestNodeRestriction(t *testing.T) {
	s := Start(t, Options{})
	config := s.RESTConfig()
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:node:node-0", Groups: []string{"system:nodes"}}
	node, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	_, err = node.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("got %v", err)
	}
}

// TestConnectionToPod checks that no connection to the address of a pod leaves the process.
func TestConnectionToPod(t *testing.T) {
	s := Start(t, Options{})
	deploy(t, s, "web", 1)
	pods, err := s.Client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) != 1 {
		t.Fatalf("%d pods, %v", len(pods.Items), err)
	}
	err = s.Client.CoreV1().RESTClient().Get().Namespace("default").Resource("pods").Name(pods.Items[0].Name + ":80").SubResource("proxy").
		MaxRetries(0).Do(t.Context()).Error()
	want := "nothing listens on " + pods.Items[0].Status.PodIP + ":80, which is pod default/" + pods.Items[0].Name
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// TestFinalizerOfPod checks that a deleted pod that a finalizer holds back ends, as controllers expect,
// and that its Job is then continued with another one.
func TestFinalizerOfPod(t *testing.T) {
	s := Start(t, Options{Pods: "realistic"})
	failed := batchv1.Failed
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "long"}, Spec: batchv1.JobSpec{Template: podTemplate(nil), PodReplacementPolicy: &failed}}
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	job.Spec.Template.Annotations = map[string]string{"sandbox.miniapiserver.io/run": "1h"}
	if _, err := s.Client.BatchV1().Jobs("default").Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pods := s.Client.CoreV1().Pods("default")
	var first corev1.Pod
	eventually(t, "the pod of the Job runs", func(ctx context.Context) (bool, error) {
		list, err := pods.List(ctx, metav1.ListOptions{})
		if err != nil || len(list.Items) == 0 {
			return false, err
		}
		first = list.Items[0]
		return first.Status.Phase == corev1.PodRunning, nil
	})
	if err := pods.Delete(t.Context(), first.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "another pod replaces the one that failed", func(ctx context.Context) (bool, error) {
		list, err := pods.List(ctx, metav1.ListOptions{})
		if err != nil || len(list.Items) != 1 || list.Items[0].UID == first.UID {
			return false, err
		}
		j, err := s.Client.BatchV1().Jobs("default").Get(ctx, "long", metav1.GetOptions{})
		return err == nil && j.Status.Failed == 1 && j.Status.Active == 1, err
	})
}

// TestCommands checks that pods that are not always restarted end as their commands say.
func TestCommands(t *testing.T) {
	s := Start(t, Options{})
	pods := s.Client.CoreV1().Pods("default")
	for name, test := range map[string]struct {
		command []string
		policy  corev1.RestartPolicy
		phase   corev1.PodPhase
		code    int32
	}{
		"true":       {[]string{"/bin/true"}, corev1.RestartPolicyNever, corev1.PodSucceeded, 0},
		"false":      {[]string{"false"}, corev1.RestartPolicyNever, corev1.PodFailed, 1},
		"shell":      {[]string{"/bin/sh", "-c", "exit 42"}, corev1.RestartPolicyNever, corev1.PodFailed, 42},
		"sleep-exit": {[]string{"sh", "-c", "sleep 1 && exit 3"}, corev1.RestartPolicyNever, corev1.PodFailed, 3},
		"sleep":      {[]string{"sleep", "1"}, corev1.RestartPolicyOnFailure, corev1.PodSucceeded, 0},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: podTemplate(nil).Spec}
			pod.Spec.RestartPolicy, pod.Spec.Containers[0].Command = test.policy, test.command
			if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the pod ends", func(ctx context.Context) (bool, error) {
				p, err := pods.Get(ctx, name, metav1.GetOptions{})
				if err != nil || p.Status.Phase != test.phase {
					return false, err
				}
				end := p.Status.ContainerStatuses[0].State.Terminated
				return end != nil && end.ExitCode == test.code, nil
			})
		})
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "restarted"}, Spec: podTemplate(nil).Spec}
	pod.Spec.RestartPolicy, pod.Spec.Containers[0].Command = corev1.RestartPolicyOnFailure, []string{"false"}
	if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the container is restarted", func(ctx context.Context) (bool, error) {
		p, err := pods.Get(ctx, "restarted", metav1.GetOptions{})
		if err != nil || p.Status.Phase != corev1.PodRunning {
			return false, err
		}
		status := p.Status.ContainerStatuses[0]
		return status.RestartCount == 1 && status.LastTerminationState.Terminated != nil && status.State.Waiting != nil, nil
	})
}

// TestLongJobs checks that the pods of Jobs run as long as their command says, while others complete.
func TestLongJobs(t *testing.T) {
	s := Start(t, Options{})
	jobs := s.Client.BatchV1().Jobs("default")
	for name, container := range map[string]corev1.Container{
		"sleep":    {Name: "main", Image: "busybox", Command: []string{"sleep", "1000000"}},
		"infinity": {Name: "main", Image: "busybox", Args: []string{"sh", "-c", "sleep infinity"}},
		"pause":    {Name: "main", Image: "registry.k8s.io/pause:3.10"},
		"other":    {Name: "main", Image: "perl", Command: []string{"perl", "-e", "exit 1; sleep 9"}},
	} {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: batchv1.JobSpec{Template: podTemplate(map[string]string{"app": name})}}
		job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
		job.Spec.Template.Spec.Containers[0] = container
		if _, err := jobs.Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "three Jobs run and one is complete", func(ctx context.Context) (bool, error) {
		list, err := jobs.List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		active, complete := 0, 0
		for _, job := range list.Items {
			if job.Status.Ready != nil && *job.Status.Ready == 1 {
				active++
			}
			if job.Name == "other" && job.Status.CompletionTime != nil {
				complete++
			}
			if job.Name != "other" && job.Status.Succeeded+job.Status.Failed > 0 {
				t.Fatalf("%s: %d pods succeeded, %d failed", job.Name, job.Status.Succeeded, job.Status.Failed)
			}
		}
		return active == 3 && complete == 1, nil
	})
}

// TestObservedGeneration checks that the status of a pod follows its spec.
func TestObservedGeneration(t *testing.T) {
	s := Start(t, Options{})
	pods := s.Client.CoreV1().Pods("default")
	if _, err := pods.Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: podTemplate(nil).Spec}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	observed := func(generation int64) {
		t.Helper()
		eventually(t, "the kubelet observes the generation", func(ctx context.Context) (bool, error) {
			pod, err := pods.Get(ctx, "a", metav1.GetOptions{})
			if err != nil || pod.Generation != generation || pod.Status.ObservedGeneration != generation {
				return false, err
			}
			i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady })
			return i >= 0 && pod.Status.Conditions[i].ObservedGeneration == generation && pod.Status.Conditions[i].Status == corev1.ConditionTrue, nil
		})
	}
	observed(1)
	image := []byte(`{"spec":{"containers":[{"name":"main","image":"nginx:2"}]}}`)
	if _, err := pods.Patch(t.Context(), "a", types.StrategicMergePatchType, image, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	observed(2)
}

// TestSideBySide checks that tests can have sandboxes at a time, and of several releases.
func TestSideBySide(t *testing.T) {
	if testing.Short() {
		t.Skip("starts three sandboxes at once")
	}
	for name, version := range map[string]string{"a": "", "b": "", "older": "1.36"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Start(t, Options{Server: server.Options{Emulation: server.Emulation{Version: version}}})
			deploy(t, s, "web", 1)
			info, err := s.Client.Discovery().ServerVersion()
			if err != nil || version != "" && info.EmulationMinor != "36" {
				t.Errorf("got %v, %v", info, err)
			}
		})
	}
}

// syncBuffer is a buffer for concurrent use.
type syncBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

// Write implements io.Writer.
func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// TestRestart checks that a sandbox with a data directory continues, without errors.
func TestRestart(t *testing.T) {
	o := Options{Server: server.Options{Dir: t.TempDir()}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	quietLogs()
	first, err := New(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	deploy(t, first, "web", 2)
	if err := first.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	var log syncBuffer
	o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError}))
	second, err := New(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := second.Stop(ctx); err != nil {
			t.Error(err)
		}
	}()
	deploy(t, second, "more", 1) // the kubelets have taken up the node
	if text := log.String(); strings.Contains(text, "kwok") {
		t.Errorf("the restart logs %s", text)
	}
	if err := second.Client.AppsV1().Deployments("default").Delete(ctx, "more", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := second.Client.AppsV1().Deployments("default").Delete(ctx, "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pods are gone", func(ctx context.Context) (bool, error) {
		pods, err := second.Client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
		return err == nil && len(pods.Items) == 0, err
	})
}

// TestWithout checks that components can be left out.
func TestWithout(t *testing.T) {
	s := Start(t, Options{Without: []string{Scheduler}})
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "lonely"}, Spec: podTemplate(nil).Spec}
	created, err := s.Client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
	if err != nil || created.Spec.NodeName != "" {
		t.Fatalf("node %q, %v", created.Spec.NodeName, err)
	}
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "lonely"}, Target: corev1.ObjectReference{Kind: "Node", Name: "node-0"}}
	if err := s.Client.CoreV1().Pods("default").Bind(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pod runs where this scheduler put it", func(ctx context.Context) (bool, error) {
		p, err := s.Client.CoreV1().Pods("default").Get(ctx, "lonely", metav1.GetOptions{})
		return err == nil && p.Status.Phase == corev1.PodRunning, err
	})
}

// TestWithoutControllerManager checks that a sandbox starts for a controller manager from outside, and that the
// server's own controllers run.
func TestWithoutControllerManager(t *testing.T) {
	s := Start(t, Options{Without: []string{ControllerManager}})
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: podTemplate(nil).Spec}
	pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}} // nobody takes the node's taint away
	if _, err := s.Client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pod runs", func(ctx context.Context) (bool, error) {
		p, err := s.Client.CoreV1().Pods("default").Get(ctx, "a", metav1.GetOptions{})
		return err == nil && p.Status.Phase == corev1.PodRunning, err
	})
}

// TestComponentEnds checks that a component that ends by itself ends the sandbox, with an error that
// names the component, and that nothing is left.
func TestComponentEnds(t *testing.T) {
	for name, test := range map[string]struct {
		run  func(context.Context) error
		want string
	}{
		"error":  {func(context.Context) error { return errors.New("lost") }, "example: lost"},
		"return": {func(context.Context) error { return nil }, "example ended by itself"},
		"panic":  {func(context.Context) error { panic("broken") }, "panic in example: broken"},
	} {
		t.Run(name, func(t *testing.T) {
			quietLogs()
			s, err := New(t.Context(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			s.process.(*controlPlane).run(component{"example", test.run})
			select {
			case <-s.Done():
			case <-time.After(time.Minute):
				t.Fatal("the sandbox goes on")
			}
			if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if _, err := os.Stat(s.KubeconfigFile); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the directory of %s is left: %v", s.KubeconfigFile, err)
			}
			if err := s.Client.Discovery().RESTClient().Get().AbsPath("/version").MaxRetries(0).Do(t.Context()).Error(); err == nil {
				t.Error("the server goes on")
			}
		})
	}
}

// TestComponentDoesNotStart checks that New fails with the error of a component that ends while it starts.
func TestComponentDoesNotStart(t *testing.T) {
	for _, test := range []struct {
		o    Options
		want string
	}{
		{Options{ControllerManagerArgs: []string{"--none"}}, "--controller-manager-arg: unknown flag: --none"},
		{Options{SchedulerArgs: []string{"--none"}}, "--scheduler-arg: unknown flag: --none"},
		{Options{ControllerManagerArgs: []string{"--leader-elect"}}, "no leader election"},
		{Options{SchedulerArgs: []string{"--leader-elect"}}, "no leader election"},
		{Options{ControllerManagerArgs: []string{"--cluster-cidr=x"}}, "controller-manager: invalid CIDR"},
	} {
		quietLogs()
		s, err := New(t.Context(), test.o)
		if err == nil {
			t.Error(s.Stop(t.Context()))
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %q", err, test.want)
		}
	}
}

// TestLogHandler checks that errors of components that stop are lowered.
func TestLogHandler(t *testing.T) {
	var out bytes.Buffer
	logger := slog.New(LogHandler(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelError}))).With("a", 1)
	stopping.Store(true)
	logger.Error("cut off")
	stopping.Store(false)
	logger.Error("broken")
	if text := out.String(); strings.Contains(text, "cut off") || !strings.Contains(text, "broken") {
		t.Errorf("got %s", text)
	}
}

// TestNodesFile checks that a node of a file has what pods need: the manifest's fields, and the preset's.
func TestNodesFile(t *testing.T) {
	manifests := `
apiVersion: v1
kind: Node
metadata: {name: edge, labels: {topology.kubernetes.io/zone: far}}
spec: {taints: [{key: edge, effect: NoSchedule}]}
status: {capacity: {cpu: "2"}}
`
	file := t.TempDir() + "/nodes.yaml"
	if err := os.WriteFile(file, []byte(manifests), 0o600); err != nil {
		t.Fatal(err)
	}
	s := Start(t, Options{NodesFile: file})
	nodes, err := s.Client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 1 {
		t.Fatalf("%d nodes, %v", len(nodes.Items), err)
	}
	status := nodes.Items[0].Status
	if cpu, pods := status.Allocatable.Cpu().String(), status.Allocatable.Pods().String(); cpu != "2" || pods != "110" {
		t.Errorf("%s CPUs, %s pods", cpu, pods)
	}
	spec := podTemplate(nil).Spec
	spec.Tolerations = []corev1.Toleration{{Key: "edge", Operator: corev1.TolerationOpExists}}
	spec.NodeSelector = map[string]string{"topology.kubernetes.io/zone": "far", "kubernetes.io/hostname": "edge"}
	pods := s.Client.CoreV1().Pods("default")
	if _, err := pods.Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: spec}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pod runs", func(ctx context.Context) (bool, error) {
		pod, err := pods.Get(ctx, "a", metav1.GetOptions{})
		return err == nil && pod.Status.Phase == corev1.PodRunning && pod.Status.PodIP != "", err
	})
	if logs, err := pods.GetLogs("a", &corev1.PodLogOptions{}).DoRaw(t.Context()); err != nil || !strings.Contains(string(logs), "sandbox") {
		t.Errorf("logs: %q, %v", logs, err)
	}
}

// TestExtendedResource checks that a resource of the capacity of a node is allocatable.
func TestExtendedResource(t *testing.T) {
	s := Start(t, Options{})
	nodes := s.Client.CoreV1().Nodes()
	patch := func(quantity string) {
		t.Helper()
		change := []byte(`{"status":{"capacity":{"example.com/dongle":` + quantity + `}}}`)
		if _, err := nodes.Patch(t.Context(), "node-0", types.StrategicMergePatchType, change, metav1.PatchOptions{}, "status"); err != nil {
			t.Fatal(err)
		}
	}
	allocatable := func(want bool) {
		t.Helper()
		eventually(t, "the allocatable resources follow the capacity", func(ctx context.Context) (bool, error) {
			node, err := nodes.Get(ctx, "node-0", metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			dongles, ok := node.Status.Allocatable["example.com/dongle"]
			return ok == want && (!want || dongles.String() == "4") && node.Status.Allocatable.Pods().String() == "110", nil
		})
	}
	patch(`"4"`)
	allocatable(true)
	patch("null")
	allocatable(false)
}

// TestPresets checks that the stages of every preset are read.
func TestPresets(t *testing.T) {
	for _, name := range PodPresets() {
		if stages, err := readStages(name); err != nil || len(stages) != 2 {
			t.Errorf("%s: stages of %d kinds, %v", name, len(stages), err)
		}
	}
	objects, err := readObjectStages(nil)
	if err != nil || len(objects) != 4 {
		t.Errorf("stages of %d other kinds, %v", len(objects), err)
	}
	if none, err := readObjectStages(objects); err != nil || len(none) > 0 {
		t.Errorf("stages of kinds that a file has: %v, %v", none, err)
	}
}

func TestValidate(t *testing.T) {
	write := func(name, text string) string {
		t.Helper()
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	file := write("pod.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")
	empty := write("empty.yaml", "# nothing\n")
	for _, test := range []struct {
		o    Options
		want string
	}{
		{Options{Nodes: -1}, "--nodes -1"},
		{Options{NodePreset: "huge"}, "--node-preset huge"},
		{Options{Pods: "slow"}, "--pods slow"},
		{Options{Pods: file}, "--pods " + file},
		{Options{Pods: "./no.yaml"}, "--pods: open ./no.yaml"},
		{Options{Pods: empty}, "--pods " + empty},
		{Options{Without: []string{"etcd"}}, "--without etcd"},
		{Options{NodesFile: "no.yaml"}, "--nodes-file: open no.yaml"},
		{Options{NodesFile: file}, "v1 Pod a: want v1 Node"},
		{Options{NodesFile: empty}, "--nodes-file " + empty},
		{Options{NodesFile: write("n.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: a, lables: {}}\n")}, `unknown field "metadata.lables"`},
		{Options{Scene: empty}, "--scene " + empty},
		{Options{Forward: map[int32]string{80: "127.0.0.1:http"}}, "--forward 80=127.0.0.1:http"},
		{Options{Server: server.Options{Emulation: server.Emulation{Version: "1.99"}}}, "--kubernetes-version"},
	} {
		if err := test.o.Validate(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %q", err, test.want)
		}
	}
}

// TestScenes checks that the scenes load, and that exactly the pods of broken that should not run
// do not.
func TestScenes(t *testing.T) {
	s := Start(t, Options{Scene: "web-shop"})
	ready := func(namespace string) (n int) {
		t.Helper()
		pods, err := s.Client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, pod := range pods.Items {
			if pod.Status.Phase == corev1.PodRunning {
				n++
			}
		}
		return n
	}
	if n := ready("shop"); n != 24 {
		t.Errorf("%d pods of the shop run", n)
	}
	if err := s.Load(t.Context(), "broken"); err != nil {
		t.Fatal(err)
	}
	for namespace, want := range map[string]int{
		"fault-01": 0, "fault-02": 1, "fault-03": 0, "fault-04": 2, "fault-05": 0, "fault-06": 0, "fault-07": 0, "fault-08": 0, "fault-09": 0, "fault-10": 2,
	} {
		if n := ready(namespace); n != want {
			t.Errorf("%s: %d pods run, want %d", namespace, n, want)
		}
	}
	if objects, err := readScene("busy-cluster"); err != nil || len(objects) != 30+2*600 {
		t.Errorf("busy-cluster: %d objects, %v", len(objects), err)
	}
	if _, err := readScene("unknown"); err == nil || !strings.Contains(err.Error(), "web-shop") {
		t.Errorf("unknown scene: %v", err)
	}
}
