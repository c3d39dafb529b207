package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"k8s.io/client-go/rest"
	"k8s.io/component-base/configz"
)

// A component is a part of the sandbox that runs until its context ends.
type component struct {
	name string
	// run runs the component. It returns when ctx ends, or an error.
	run func(ctx context.Context) error
}

// registration is held from before a program of k8s.io/kubernetes registers its configuration until
// it has done so: the registry belongs to the process, and refuses a name that it has.
var registration sync.Mutex

// registerOnce removes the configuration that an earlier program of this process registered under
// a name, so that run, which registers its own before its first request, can. Other sandboxes wait
// until then. It changes config, whose requests it observes.
func registerOnce(name string, config *rest.Config, run func() error) error {
	registration.Lock()
	var once sync.Once
	registered := func() { once.Do(registration.Unlock) }
	defer registered()
	configz.Delete(name)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			registered()
			return next.RoundTrip(r)
		})
	})
	return run()
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// errLeaderElection is the error of a component that should elect a leader.
var errLeaderElection = errors.New("the sandbox has no leader election, because a component that loses its lease ends the process at once: " +
	"leave the component out with --without, and run it as programs of their own")

// failure is the error of a component that ended before its context.
func failure(ctx context.Context, name string, err error) error {
	switch {
	case ctx.Err() != nil:
		return nil
	case err == nil:
		return fmt.Errorf("%s ended by itself", name)
	default:
		return fmt.Errorf("%s: %w", name, err)
	}
}
