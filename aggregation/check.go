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

	"github.com/miniapiserver/miniapiserver/internal/outbound"
	"github.com/miniapiserver/miniapiserver/internal/recovery"
	"github.com/miniapiserver/miniapiserver/registry/services"
	"github.com/miniapiserver/miniapiserver/request"
)

// Limits of a check.
const (
	probeAttempts = 5
	checkTimeout  = 5 * time.Second
)

// CheckResult is the result of an availability check.
type CheckResult struct {
	Reason, Message string
	// Completed is false if the check could not be completed.
	Completed bool
	// Err is set if the server does not respond. Such a result can change without a change
	// of an object, so the check must be repeated.
	Err error
}

// OK reports whether the server is available.
func (f CheckResult) OK() bool { return f.Completed && f.Reason == reasonAvailable }

const reasonAvailable = "Passed"

// Check checks whether a remote server is available: its service exists, has endpoints, and
// responds.
func (r *Remote) Check(ctx context.Context) CheckResult {
	if f := r.checkService(ctx); f.Reason != "" {
		return f
	}
	if r.err != nil {
		return CheckResult{Completed: true, Reason: "FailedDiscoveryCheck", Message: r.err.Error(), Err: r.err}
	}
	if err := r.probe(ctx); err != nil {
		return CheckResult{Completed: true, Reason: "FailedDiscoveryCheck", Message: err.Error(), Err: err}
	}
	return CheckResult{Completed: true, Reason: reasonAvailable, Message: "all checks passed"}
}

// checkService checks the service and its endpoints. An empty Reason means that they are in
// order.
func (r *Remote) checkService(ctx context.Context) CheckResult {
	named := fmt.Sprintf("service/%s in %q", r.Service.Name, r.Service.Namespace)
	svc, err := r.resolver.Service(ctx, r.Service)
	switch {
	case apierrors.IsNotFound(err):
		return CheckResult{Completed: true, Reason: "ServiceNotFound", Message: named + " is not present"}
	case err != nil:
		return CheckResult{Reason: "ServiceAccessError", Message: fmt.Sprintf("%s cannot be checked due to: %v", named, err)}
	case svc.Spec.Type != corev1.ServiceTypeClusterIP:
		return CheckResult{}
	}
	port := services.FindPort(svc, r.Service.Port)
	if port == nil {
		return CheckResult{Completed: true, Reason: "ServicePortError",
			Message: fmt.Sprintf("%s is not listening on port %d", named, r.Service.Port)}
	}
	found, err := r.resolver.EndpointSlices(ctx, r.Service)
	switch {
	case err != nil:
		return CheckResult{Reason: "EndpointsAccessError", Message: fmt.Sprintf("%s cannot be checked due to: %v", named, err)}
	case len(found) == 0:
		return CheckResult{Completed: true, Reason: "EndpointsNotFound", Message: "cannot find endpointslices for " + named}
	case !slices.ContainsFunc(found, func(s *discoveryv1.EndpointSlice) bool { return isReadySlice(s, port.Name) }):
		return CheckResult{Completed: true, Reason: "MissingEndpoints",
			Message: fmt.Sprintf("endpointslices for %s have no addresses with port name %q", named, port.Name)}
	}
	return CheckResult{}
}

// isReadySlice reports whether a slice has a ready endpoint and the port.
func isReadySlice(s *discoveryv1.EndpointSlice, port string) bool {
	return slices.ContainsFunc(s.Endpoints, func(e discoveryv1.Endpoint) bool { return e.Conditions.Ready == nil || *e.Conditions.Ready }) &&
		slices.ContainsFunc(s.Ports, func(p discoveryv1.EndpointPort) bool { return p.Name != nil && *p.Name == port && p.Port != nil })
}

// probe requests the discovery document of the group version. It sends several requests at
// once, because one responding endpoint is sufficient.
func (r *Remote) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	results := make(chan error, probeAttempts)
	for range probeAttempts {
		wg.Go(func() {
			var err error
			caught := recovery.Call(nil, "asking a remote server", func() { err = r.probeOnce(ctx) })
			results <- errors.Join(err, caught)
		})
	}
	var err error
	for range probeAttempts {
		if err = <-results; err == nil {
			return nil
		}
	}
	r.close()
	return err
}

func (r *Remote) probeOnce(ctx context.Context) error {
	host, err := r.Host(ctx)
	if err != nil {
		return err
	}
	url := "https://" + host + r.path()
	resp, err := r.get(ctx, r.plain, aggregatorUser(), url, nil)
	if err == nil {
		_ = resp.Body.Close() // only the status is needed
		if resp.StatusCode < http.StatusOK || resp.StatusCode >= http.StatusMultipleChoices {
			err = fmt.Errorf("bad status from %s: %d", url, resp.StatusCode)
		}
	}
	if err != nil {
		return fmt.Errorf("failing or missing response from %s: %w", url, err)
	}
	return nil
}

// path returns the path of the group version.
func (r *Remote) path() string {
	if r.Group == "" {
		return "/api/" + r.Version
	}
	return "/apis/" + r.Group + "/" + r.Version
}

// aggregatorUser returns the user that the server is for its own requests to remote servers.
func aggregatorUser() *request.User {
	return &request.User{Name: "system:kube-aggregator", Groups: []string{request.GroupMasters}}
}

// get sends a GET request to a remote server with the headers of a user.
func (r *Remote) get(ctx context.Context, transport http.RoundTripper, as *request.User, url string,
	header http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	r.SetUserHeaders(req.Header, as)
	return outbound.Client(transport).Do(req)
}
