package sandbox

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Sandbox is a running control plane. New and Start make one.
type Sandbox struct {
	// URL is the address of the API server.
	URL string
	// KubeconfigFile is a kubeconfig file of the administrator.
	KubeconfigFile string
	// LabPage is the address of the page of the lab with its token, if Options.Server.Lab has one.
	LabPage string
	// Client has the administrator's access.
	Client kubernetes.Interface

	config  *rest.Config
	process process
	logger  *slog.Logger
}

// outcome is how a process ended. It implements part of process.
type outcome struct {
	ended   chan struct{}
	failure error // set before ended is closed
}

func (o *outcome) done() <-chan struct{} { return o.ended }

func (o *outcome) err() error {
	select {
	case <-o.ended:
		return o.failure
	default:
		return nil
	}
}

// A process runs a control plane: this process or a child of it.
type process interface {
	// stop ends it. A further call waits for the first.
	stop(ctx context.Context) error
	// done is closed when it has ended, and err then says why, if it ended by itself.
	done() <-chan struct{}
	err() error
}

// errBusy is the error of New if this process cannot run a sandbox.
var errBusy = errors.New("this process runs a sandbox, or its kube-controller-manager failed to start: it can run once in a process")

// busy is held while this process runs a sandbox, and for ever if it cannot run another one. The programs of k8s.io/kubernetes register the
// names of their caches for the whole process.
var busy sync.Mutex

// New starts a sandbox in this process, and returns when its nodes are Ready, all components have
// read what they work on, and the scene has settled. It fails with the error of ctx or of a component;
// if another sandbox runs in this process; if one with another version of Kubernetes has run; and if
// the kube-controller-manager of an earlier one failed to start.
func New(ctx context.Context, o Options) (*Sandbox, error) {
	o = o.withDefaults()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if !busy.TryLock() {
		return nil, errBusy
	}
	if err := chooseRelease(o.Server); err != nil {
		busy.Unlock()
		return nil, err
	}
	p, err := newControlPlane(ctx, o, busy.Unlock)
	if err != nil {
		return nil, err
	}
	s := &Sandbox{
		URL: p.server.URL, KubeconfigFile: p.server.KubeconfigFile, LabPage: p.server.LabPage,
		Client: p.client, config: p.server.RESTConfig(), process: p, logger: o.Logger,
	}
	if err := s.loadScene(ctx, o.Scene); err != nil {
		return nil, err
	}
	return s, nil
}

// loadScene loads a scene, if it has a name. If that fails, the sandbox stops.
func (s *Sandbox) loadScene(ctx context.Context, scene string) error {
	if scene == "" {
		return nil
	}
	err := s.Load(ctx, scene)
	if err != nil {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		err = errors.Join(err, s.Stop(stop))
	}
	return err
}

// RESTConfig returns a client configuration with the administrator's access, which the caller may
// change.
func (s *Sandbox) RESTConfig() *rest.Config { return rest.CopyConfig(s.config) }

// Run waits until ctx ends, and then stops the sandbox. It fails if the sandbox stops by itself.
func (s *Sandbox) Run(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-s.Done():
		return s.Err()
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	return s.Stop(stop)
}

// Stop ends the sandbox. A further call waits for the first.
func (s *Sandbox) Stop(ctx context.Context) error { return s.process.stop(ctx) }

// Done returns a channel that is closed when the sandbox has stopped.
func (s *Sandbox) Done() <-chan struct{} { return s.process.done() }

// Err returns why the sandbox stopped by itself. It is nil while it runs, and after Stop.
func (s *Sandbox) Err() error { return s.process.err() }
