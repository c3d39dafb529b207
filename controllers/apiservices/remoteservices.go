package apiservices

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
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/internal/recovery"
	"github.com/miniapiserver/miniapiserver/kinds/apiregistration"
	"github.com/miniapiserver/miniapiserver/registry"
)

// RemoteServices checks the availability of extension API servers, fetches their discovery
// documents, and sets the Available condition of their APIServices. It cannot be turned off,
// because requests are proxied only to available servers.
type RemoteServices struct {
	reconcile.BaseConfig
	remotes  *aggregation.Services
	metrics  *aggregation.Metrics
	services registry.Target
	// loop runs the checks. schemas fetches OpenAPI documents, which may take long.
	loop, schemas *reconcile.Loop[string]
}

// recheckInterval is the interval between checks, because a network failure triggers no event.
const recheckInterval = 30 * time.Second

// Intervals between fetches of schemas, whose changes trigger no events.
const (
	refetchInterval    = time.Minute
	maxRefetchInterval = time.Hour // after failures
)

// NewRemoteServices returns a RemoteServices, or nil if the catalogue has no APIServices.
func NewRemoteServices(c reconcile.BaseConfig, remotes *aggregation.Services, metrics *aggregation.Metrics) *RemoteServices {
	c = c.Complete()
	res, version, ok := c.Catalogue.Lookup(apiregistrationv1.SchemeGroupVersion, apiregistration.APIServices)
	if !ok {
		return nil
	}
	r := &RemoteServices{BaseConfig: c, remotes: remotes, metrics: metrics, services: registry.Target{Resource: res, Version: version}}
	r.loop = &reconcile.Loop[string]{
		BaseConfig: c, Name: "remote-apiservices", Sync: r.sync, Workers: 5, Backoff: reconcile.BackoffRange{First: 5 * time.Millisecond,
			Max: recheckInterval},
		Sources: []reconcile.Source[string]{
			{Resource: res, Keys: reconcile.NameKey},
			{Resource: c.Served(corev1.SchemeGroupVersion, "services"), Keys: func(c reconcile.Change) []string {
				return remotes.ForService(c.Object.GetNamespace(), c.Object.GetName())
			}},
			{Resource: c.Served(discoveryv1.SchemeGroupVersion, "endpointslices"), Keys: func(c reconcile.Change) []string {
				return remotes.ForService(c.Object.GetNamespace(), c.Object.GetLabels()[discoveryv1.LabelServiceName])
			}},
		},
	}
	r.schemas = &reconcile.Loop[string]{
		BaseConfig: c, Name: "open_api_aggregation_controller", Sync: r.fetch, Backoff: reconcile.BackoffRange{First: refetchInterval,
			Max: maxRefetchInterval},
		Sources: []reconcile.Source[string]{{Resource: res, Keys: reconcile.NameKey}},
	}
	return r
}

// Run runs both loops until ctx is done.
func (r *RemoteServices) Run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { recovery.RestartOnPanic(ctx, r.Logger, r.loop.Name, func() { r.loop.Run(ctx) }) })
	r.schemas.Run(ctx)
}

// fetch fetches the OpenAPI document of one server. A server that is not available is
// fetched when its condition changes.
func (r *RemoteServices) fetch(ctx context.Context, name string) (reconcile.Result, error) {
	remote := r.remotes.ByName(name)
	if remote == nil || !remote.Available() {
		return reconcile.Done, nil
	}
	switch err := remote.FetchOpenAPIV2(ctx); {
	case errors.Is(err, aggregation.ErrNoOpenAPIV2):
		return reconcile.Done, nil
	case err != nil:
		return reconcile.Retry, err
	}
	return reconcile.Poll(refetchInterval), nil
}

// sync checks one APIService.
func (r *RemoteServices) sync(ctx context.Context, name string) (reconcile.Result, error) {
	a, err := reconcile.GetObject[*apiService](ctx, r.BaseConfig, r.services.Resource, "", name)
	if err != nil {
		return reconcile.Retry, err
	}
	if a == nil {
		r.metrics.Delete(name)
		return reconcile.Done, nil
	}
	if a.Spec.Service == nil {
		return reconcile.Done, r.setAvailable(ctx, a, apiregistration.LocalAPIService(r.Now()))
	}
	remote := r.remotes.Remote(schema.GroupVersion{Group: a.Spec.Group, Version: a.Spec.Version})
	if remote == nil {
		return reconcile.Retry, nil // its change is being applied
	}
	found := remote.Check(ctx)
	if ctx.Err() != nil {
		return reconcile.Done, nil // the check was interrupted
	}
	// The documents are fetched before the condition is set, so that an available server is
	// in discovery.
	fetched := r.remotes.Fetch(ctx, remote)
	if err := r.setAvailable(ctx, a, availableCondition(found, r.Now())); err != nil {
		return reconcile.Retry, err
	}
	switch {
	case found.Err != nil || found.OK() && fetched != nil:
		return reconcile.Retry, nil
	case !found.OK():
		return reconcile.Done, nil // a change of the service triggers a sync
	}
	return reconcile.Poll(recheckInterval), nil
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
	_, err := r.Registry.Update(reconcile.AsServer(ctx), t, func(_ context.Context, old api.Object) (api.Object, error) {
		now := old.(*apiService)
		now.ResourceVersion = a.ResourceVersion
		if is := apiregistration.APIServiceAvailable(now); is != nil {
			*is = c
		} else {
			now.Status.Conditions = append(now.Status.Conditions, c)
		}
		return now, nil
	}, registry.UpdateOptions{WriteOptions: registry.WriteOptions{Manager: reconcile.ServerManager}})
	if err == nil && was != nil && was.Status == apiregistrationv1.ConditionTrue && !available {
		r.metrics.CountUnavailable(a.Name, c.Reason)
	}
	return reconcile.IgnoreDeleted(err)
}
