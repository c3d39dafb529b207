package aggregation

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/internal/recovery"
	"github.com/miniapiserver/miniapiserver/registry/services"
	"github.com/miniapiserver/miniapiserver/request"
)

// Bounds of a check.
const (
	attempts     = 5
	checkTimeout = 5 * time.Second
)

// Finding is what a check of a remote server found.
type Finding struct {
	Reason, Message string
	// Known is false where it could not be found out.
	Known bool
	// Err says that the server does not answer, which may change without any sign.
	Err error
}

// OK tells whether the server can be reached.
func (f Finding) OK() bool { return f.Known && f.Reason == reasonPassed }

const reasonPassed = "Passed"

// Check finds out whether a remote server can be reached: whether its service is
// there, has endpoints, and answers.
func (r *Remote) Check(ctx context.Context) Finding {
	if f := r.checkService(ctx); f.Reason != "" {
		return f
	}
	if r.err != nil {
		return Finding{Known: true, Reason: "FailedDiscoveryCheck", Message: r.err.Error(), Err: r.err}
	}
	if err := r.ping(ctx); err != nil {
		return Finding{Known: true, Reason: "FailedDiscoveryCheck", Message: err.Error(), Err: err}
	}
	return Finding{Known: true, Reason: reasonPassed, Message: "all checks passed"}
}

// checkService looks at the service and its endpoints.
func (r *Remote) checkService(ctx context.Context) Finding {
	named := fmt.Sprintf("service/%s in %q", r.To.Name, r.To.Namespace)
	svc, err := r.resolver.Service(ctx, r.To)
	switch {
	case apierrors.IsNotFound(err):
		return Finding{Known: true, Reason: "ServiceNotFound", Message: named + " is not present"}
	case err != nil:
		return Finding{Reason: "ServiceAccessError", Message: fmt.Sprintf("%s cannot be checked due to: %v", named, err)}
	case svc.Spec.Type != corev1.ServiceTypeClusterIP:
		return Finding{}
	}
	port := services.PortOf(svc, r.To.Port)
	if port == nil {
		return Finding{Known: true, Reason: "ServicePortError", Message: fmt.Sprintf("%s is not listening on port %d", named, r.To.Port)}
	}
	found, err := r.resolver.Slices(ctx, r.To)
	switch {
	case err != nil:
		return Finding{Reason: "EndpointsAccessError", Message: fmt.Sprintf("%s cannot be checked due to: %v", named, err)}
	case len(found) == 0:
		return Finding{Known: true, Reason: "EndpointsNotFound", Message: "cannot find endpointslices for " + named}
	case !slices.ContainsFunc(found, func(s *discoveryv1.EndpointSlice) bool { return leadsSomewhere(s, port.Name) }):
		return Finding{Known: true, Reason: "MissingEndpoints",
			Message: fmt.Sprintf("endpointslices for %s have no addresses with port name %q", named, port.Name)}
	}
	return Finding{}
}

// leadsSomewhere tells whether a slice has an endpoint that is ready, and the
// port.
func leadsSomewhere(s *discoveryv1.EndpointSlice, port string) bool {
	return slices.ContainsFunc(s.Endpoints, func(e discoveryv1.Endpoint) bool { return e.Conditions.Ready == nil || *e.Conditions.Ready }) &&
		slices.ContainsFunc(s.Ports, func(p discoveryv1.EndpointPort) bool { return p.Name != nil && *p.Name == port && p.Port != nil })
}

// ping asks for what every server has. Of several endpoints one that answers is
// enough, so that it is asked several times at once.
func (r *Remote) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	results := make(chan error, attempts)
	for range attempts {
		wg.Go(func() {
			var err error
			caught := recovery.Call(nil, "asking a remote server", func() { err = r.pingOnce(ctx) })
			results <- errors.Join(err, caught)
		})
	}
	var err error
	for range attempts {
		if err = <-results; err == nil {
			return nil
		}
	}
	r.close()
	return err
}

func (r *Remote) pingOnce(ctx context.Context) error {
	host, err := r.Host(ctx)
	if err != nil {
		return err
	}
	url := "https://" + host + r.path()
	answer, err := r.get(ctx, r.plain, self(), url, nil)
	if err == nil {
		_ = answer.Body.Close() // nothing of it is wanted
		if answer.StatusCode < http.StatusOK || answer.StatusCode >= http.StatusMultipleChoices {
			err = fmt.Errorf("bad status from %s: %d", url, answer.StatusCode)
		}
	}
	if err != nil {
		return fmt.Errorf("failing or missing response from %s: %w", url, err)
	}
	return nil
}

// path is where the group version is served.
func (r *Remote) path() string {
	if r.Group == "" {
		return "/api/" + r.Version
	}
	return "/apis/" + r.Group + "/" + r.Version
}

// self is who the server is to others, when it asks for itself.
func self() *request.User {
	return &request.User{Name: "system:kube-aggregator", Groups: []string{request.GroupMasters}}
}

// get asks a remote server for something, as a user.
func (r *Remote) get(ctx context.Context, transport http.RoundTripper, as *request.User, url string, header http.Header) (*http.Response, error) {
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		ask.Header[name] = values
	}
	SayUser(ask.Header, as)
	c := &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c.Do(ask)
}
