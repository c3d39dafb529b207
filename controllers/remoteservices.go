package controllers

import (
	"context"
	"errors"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/miniapiserver/miniapiserver/aggregation"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/apiregistration"
	"github.com/miniapiserver/miniapiserver/internal/recovery"
	"github.com/miniapiserver/miniapiserver/registry"
)

// RemoteServices checks the availability of extension API servers, fetches their discovery
// documents, and sets the Available condition of their APIServices. It cannot be turned off,
// because requests are proxied only to available servers.
type RemoteServices struct {
	Config
	remotes  *aggregation.Services
	metrics  *aggregation.Metrics
	services registry.Target
	// loop runs the checks. schemas fetches OpenAPI documents, which may take long.
	loop, schemas *loop[string]
}

// recheckInterval is the interval between checks, because a network failure triggers no event.
const recheckInterval = 30 * time.Second

// Intervals between fetches of schemas, whose changes trigger no events.
const (
	refetchInterval    = time.Minute
	maxRefetchInterval = time.Hour // after failures
)

// NewRemoteServices returns a RemoteServices, or nil if the catalogue has no APIServices.
func NewRemoteServices(c Config, remotes *aggregation.Services, metrics *aggregation.Metrics) *RemoteServices {
	c = c.complete()
	res, version, ok := c.Catalogue.Lookup(apiregistrationv1.SchemeGroupVersion, apiregistration.APIServices)
	if !ok {
		return nil
	}
	r := &RemoteServices{Config: c, remotes: remotes, metrics: metrics, services: registry.Target{Resource: res, Version: version}}
	r.loop = &loop[string]{
		Config: c, name: "remote-apiservices", sync: r.sync, workers: 5, backoff: backoffRange{5 * time.Millisecond, recheckInterval},
		sources: []source[string]{
			{resource: res, keys: nameKey},
			{resource: c.served(corev1.SchemeGroupVersion, "services"), keys: func(c objectChange) []string {
				return remotes.ForService(c.object.GetNamespace(), c.object.GetName())
			}},
			{resource: c.served(discoveryv1.SchemeGroupVersion, "endpointslices"), keys: func(c objectChange) []string {
				return remotes.ForService(c.object.GetNamespace(), c.object.GetLabels()[discoveryv1.LabelServiceName])
			}},
		},
	}
	r.schemas = &loop[string]{
		Config: c, name: "open_api_aggregation_controller", sync: r.fetch, backoff: backoffRange{refetchInterval, maxRefetchInterval},
		sources: []source[string]{{resource: res, keys: nameKey}},
	}
	return r
}

// Run runs both loops until ctx is done.
func (r *RemoteServices) Run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { recovery.RestartOnPanic(ctx, r.Logger, r.loop.name, func() { r.loop.Run(ctx) }) })
	r.schemas.Run(ctx)
}

// fetch fetches the OpenAPI document of one server. A server that is not available is
// fetched when its condition changes.
func (r *RemoteServices) fetch(ctx context.Context, name string) (syncResult, error) {
	remote := r.remotes.ByName(name)
	if remote == nil || !remote.Available() {
		return resultDone, nil
	}
	switch err := remote.FetchOpenAPIV2(ctx); {
	case errors.Is(err, aggregation.ErrNoOpenAPIV2):
		return resultDone, nil
	case err != nil:
		return resultRetry, err
	}
	return syncResult(refetchInterval), nil
}

// sync checks one APIService.
func (r *RemoteServices) sync(ctx context.Context, name string) (syncResult, error) {
	a, err := getObject[*apiService](ctx, r.Config, r.services.Resource, "", name)
	if err != nil {
		return resultRetry, err
	}
	if a == nil {
		r.metrics.Delete(name)
		return resultDone, nil
	}
	if a.Spec.Service == nil {
		return resultDone, r.setAvailable(ctx, a, apiregistration.LocalAPIService(r.Now()))
	}
	remote := r.remotes.Remote(schema.GroupVersion{Group: a.Spec.Group, Version: a.Spec.Version})
	if remote == nil {
		return resultRetry, nil // its change is being applied
	}
	found := remote.Check(ctx)
	if ctx.Err() != nil {
		return resultDone, nil // the check was interrupted
	}
	// The documents are fetched before the condition is set, so that an available server is
	// in discovery.
	fetched := r.remotes.Fetch(ctx, remote)
	if err := r.setAvailable(ctx, a, availableCondition(found, r.Now())); err != nil {
		return resultRetry, err
	}
	switch {
	case found.Err != nil || found.OK() && fetched != nil:
		return resultRetry, nil
	case !found.OK():
		return resultDone, nil // a change of the service triggers a sync
	}
	return syncResult(recheckInterval), nil
}

func availableCondition(f aggregation.CheckResult, now time.Time) apiregistrationv1.APIServiceCondition {
	c := apiregistrationv1.APIServiceCondition{
		Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionFalse,
		LastTransitionTime: metav1.NewTime(now.UTC()).Rfc3339Copy(), Reason: f.Reason, Message: f.Message,
	}
	switch {
	case f.OK():
		c.Status = apiregistrationv1.ConditionTrue
	case !f.Completed:
		c.Status = apiregistrationv1.ConditionUnknown
	}
	return c
}

// setAvailable sets the condition if it changed.
func (r *RemoteServices) setAvailable(ctx context.Context, a *apiService, c apiregistrationv1.APIServiceCondition) error {
	available := c.Status == apiregistrationv1.ConditionTrue
	r.metrics.SetAvailable(a.Name, available)
	was := apiregistration.APIServiceAvailable(a)
	if was != nil && was.Status == c.Status {
		c.LastTransitionTime = was.LastTransitionTime
	}
	if was != nil && equality.Semantic.DeepEqual(*was, c) {
		return nil
	}
	t := r.services
	t.Name, t.Status = a.Name, true
	_, err := r.Registry.Update(asServer(ctx), t, func(_ context.Context, old api.Object) (api.Object, error) {
		now := old.(*apiService)
		now.ResourceVersion = a.ResourceVersion
		if is := apiregistration.APIServiceAvailable(now); is != nil {
			*is = c
		} else {
			now.Status.Conditions = append(now.Status.Conditions, c)
		}
		return now, nil
	}, registry.UpdateOptions{WriteOptions: registry.WriteOptions{Manager: serverManager}})
	if err == nil && was != nil && was.Status == apiregistrationv1.ConditionTrue && !available {
		r.metrics.CountUnavailable(a.Name, c.Reason)
	}
	return ignoreDeleted(err)
}
