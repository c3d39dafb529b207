package sandbox

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	kubescheduler "k8s.io/kubernetes/pkg/scheduler"

	"github.com/miniapiserver/miniapiserver/controllers"
	"github.com/miniapiserver/miniapiserver/internal/recovery"
	"github.com/miniapiserver/miniapiserver/server"
)

// controlPlane is the server and the components of a sandbox.
type controlPlane struct {
	server *server.Server
	// client has the administrator's access, through memory.
	client  kubernetes.Interface
	options Options
	onEnd   func()

	files     files
	kubelet   *kubelet
	metrics   *metricsAPI
	metricsIP atomic.Value // string: the address of the metrics' Service
	health    sync.Map     // of *transport.Memory by address: see serveHealth
	schedules chan *kubescheduler.Scheduler

	components context.Context // that of the components
	end        context.CancelFunc
	wg         sync.WaitGroup
	failed     chan error // of size one: the first failure
	spent      bool       // the process cannot run another sandbox; set by a component, read after wg
	stopping   sync.Once
	outcome
}

// files are those of the server that other components read.
type files struct{ ca, caKey string }

// legacyTokens is the controller of the server that goes on beside a kube-controller-manager: the
// latter writes tokens into Secrets only with the key that signs them, which stays with the server.
const legacyTokens = "serviceaccount-token-controller"

// nodeRestriction is the admission plugin that confines nodes to their own objects. Clusters have it, as kubeadm
// sets them up.
const nodeRestriction = "NodeRestriction"

// newControlPlane starts a control plane and returns when its nodes are Ready and all components have
// read what they work on. It fails with the error of ctx, or that of a component. The options are
// complete and valid. The function onEnd is called when it has ended, or failed to start, unless the
// process cannot run another one.
func newControlPlane(ctx context.Context, o Options, onEnd func()) (*controlPlane, error) {
	s := &controlPlane{options: o, onEnd: onEnd, schedules: make(chan *kubescheduler.Scheduler, 1), failed: make(chan error, 1), outcome: outcome{ended: make(chan struct{})}}
	stopping.Store(false)
	s.components, s.end = context.WithCancel(klog.NewContext(context.Background(), logr.FromSlogHandler(o.Logger.Handler())))
	if err := s.start(ctx); err != nil {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		return nil, errors.Join(err, s.stop(stop))
	}
	s.wg.Go(func() { _ = recovery.Call(o.Logger, "supervisor", s.supervise) })
	return s, nil
}

// stopTimeout is the time for requests in flight and for ending the components.
const stopTimeout = 10 * time.Second

func (s *controlPlane) start(ctx context.Context) (err error) {
	if err := chooseRelease(s.options.Server); err != nil {
		return err
	}
	if s.kubelet, err = newKubelet(s.options.Forward, s.options.Logger); err != nil {
		return err
	}
	if s.metrics, err = newMetricsAPI(s.options.Logger); err != nil {
		return err
	}
	o := s.options.Server
	if s.options.runs(ControllerManager) {
		o.Controllers.Off = slices.DeleteFunc(controllers.Names(),
			func(name string) bool { return name == legacyTokens })
	}
	if !slices.Contains(o.Admission.DisablePlugins, nodeRestriction) {
		o.Admission.EnablePlugins = append(slices.Clone(o.Admission.EnablePlugins), nodeRestriction)
	}
	o.Dial = s.dial
	o.Kubelets.AddressTypes = []string{string(corev1.NodeInternalIP)} // no name server knows the nodes
	if s.server, err = server.Start(ctx, o); err != nil {
		return err
	}
	pki := filepath.Join(filepath.Dir(s.server.KubeconfigFile), "pki")
	s.files = files{ca: filepath.Join(pki, "ca.crt"), caKey: filepath.Join(pki, "ca.key")}
	if s.client, err = kubernetes.NewForConfig(s.clientConfig("")); err != nil {
		return err
	}
	s.metrics.client, s.kubelet.client = s.client, s.client
	return s.startComponents(ctx)
}

// clientConfig returns the configuration of clients in the process that act as a user; the empty
// name is the administrator.
func (s *controlPlane) clientConfig(user string) *rest.Config {
	c := s.server.LocalConfig()
	c.AcceptContentTypes, c.ContentType = "application/vnd.kubernetes.protobuf,application/json", "application/vnd.kubernetes.protobuf"
	c.DisableCompression = true
	c.Impersonate.UserName = user
	return c
}

// startComponents starts all components and waits until the sandbox is ready.
func (s *controlPlane) startComponents(ctx context.Context) error {
	makers := map[string]func() (component, error){
		ControllerManager: s.controllerManager, Scheduler: s.scheduler, Kubelets: s.kubelets,
	}
	components := []component{{"metrics", s.metrics.run}}
	if s.options.runs(Kubelets) {
		components = append(components, component{"kubelet API", s.kubelet.run})
	}
	for _, name := range Components() {
		if !s.options.runs(name) {
			continue
		}
		c, err := makers[name]()
		if err != nil {
			return err
		}
		components = append(components, c)
	}
	for _, c := range components {
		s.run(c)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(s.components, func() { cancel(errStopped) })
	defer stop()
	err := s.prepare(ctx)
	select {
	case failed := <-s.failed: // explains why
		return failed
	default:
		return err
	}
}

var errStopped = errors.New("the sandbox stops")

// run runs a component in a goroutine that Stop waits for. Its failure ends all others.
func (s *controlPlane) run(c component) {
	s.wg.Go(func() {
		var err error
		if panicked := recovery.Call(s.options.Logger, c.name, func() { err = c.run(s.components) }); panicked != nil {
			err = panicked
		}
		// A kube-controller-manager that does not get as far as its controllers keeps the names of
		// its caches.
		if c.name == ControllerManager && err != nil {
			s.spent = true
		}
		if err := failure(s.components, c.name, err); err != nil {
			select {
			case s.failed <- err:
			default: // only the first explains the others
			}
			stopping.Store(true)
			s.end()
		}
	})
}

// prepare creates the objects of the sandbox and waits until it is ready.
func (s *controlPlane) prepare(ctx context.Context) error {
	clients, err := aggregator.NewForConfig(s.clientConfig(""))
	if err != nil {
		return err
	}
	ip, err := s.metrics.register(ctx, s.client, clients.ApiregistrationV1())
	if err != nil {
		return fmt.Errorf("registering the metrics: %w", err)
	}
	s.metricsIP.Store(ip)
	if err := createWarning(ctx, s.client); err != nil {
		return fmt.Errorf("creating policy %s: %w", warnPolicy, err)
	}
	if err := createStorage(ctx, s.client); err != nil {
		return err
	}
	if err := createNodes(ctx, s.client, s.options); err != nil {
		return err
	}
	if s.options.runs(Scheduler) {
		select {
		case scheduler := <-s.schedules:
			if err := scheduler.WaitForHandlersSync(ctx); err != nil {
				return fmt.Errorf("waiting for the scheduler: %w", err)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if !s.options.runs(Kubelets) {
		return nil
	}
	if err := s.awaitNode(ctx); err != nil {
		return fmt.Errorf("waiting for a node: %w", err)
	}
	return s.awaitServiceAccount(ctx)
}

// awaitNode waits until a node is ready for pods. Without a controller manager that takes the taint of a
// new node away, it waits until the kubelet is ready.
func (s *controlPlane) awaitNode(ctx context.Context) error {
	return await(ctx, func(ctx context.Context) (watch.Interface, error) {
		return s.client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{})
	}, func(e watch.Event) bool {
		node, ok := e.Object.(*corev1.Node)
		return ok && kubeletReady(node) && (!s.options.runs(ControllerManager) || !taintedNotReady(node))
	})
}

// awaitServiceAccount waits until pods can be created in the default namespace: the admission of
// pods requires the account, which a controller creates.
func (s *controlPlane) awaitServiceAccount(ctx context.Context) error {
	return await(ctx, func(ctx context.Context) (watch.Interface, error) {
		return s.client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Watch(ctx, metav1.ListOptions{})
	}, func(e watch.Event) bool {
		account, ok := e.Object.(*corev1.ServiceAccount)
		return ok && account.Name == "default"
	})
}

// await watches, from the current state on, until an event satisfies a condition.
func await(ctx context.Context, start func(context.Context) (watch.Interface, error), holds func(watch.Event) bool) error {
	for {
		w, err := start(ctx)
		if err != nil {
			return reason(ctx, err)
		}
		for e := range w.ResultChan() {
			if e.Type == watch.Error {
				return reason(ctx, apierrors.FromObject(e.Object))
			}
			if holds(e) {
				w.Stop()
				return nil
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// reason returns the reason for which ctx ended, or else err.
func reason(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func kubeletReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

func taintedNotReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeNotReady })
}

// supervise stops the sandbox when a component or the server has failed.
func (s *controlPlane) supervise() {
	select {
	case <-s.server.Done():
		s.fail(fmt.Errorf("the API server ended: %w", s.server.Err()))
	case <-s.components.Done():
		select {
		case err := <-s.failed:
			s.fail(err)
		default: // Stop
		}
	}
}

// fail ends the control plane with an error, which Err returns.
func (s *controlPlane) fail(err error) {
	s.options.Logger.Warn("the sandbox stops", "error", err)
	go func() { // not counted by wg, for which stop waits
		_ = recovery.Call(s.options.Logger, "stop", func() {
			ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
			defer cancel()
			_ = s.stopBecause(ctx, err) // err returns it
		})
	}()
}

// stop implements process.
func (s *controlPlane) stop(ctx context.Context) error { return s.stopBecause(ctx, nil) }

// stopBecause ends all components and the server. A further call waits for the first.
func (s *controlPlane) stopBecause(ctx context.Context, cause error) error {
	s.stopping.Do(func() {
		defer close(s.ended)
		stopping.Store(true)
		s.end()
		s.wg.Wait()
		if !s.spent {
			defer s.onEnd()
		}
		s.failure = cause
		if s.server != nil {
			s.failure = errors.Join(cause, s.server.Stop(ctx))
		}
	})
	<-s.ended
	return s.failure
}
