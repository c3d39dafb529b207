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
	"github.com/miniapiserver/miniapiserver/internal/recovery"
	"github.com/miniapiserver/miniapiserver/registry"
)

// RemoteServices looks whether the servers that APIServices lead to can be
// reached, fetches what they serve, and writes into the APIServices how it
// stands. It is no controller that can be turned off: without it no request is
// passed on.
type RemoteServices struct {
	Config
	remotes  *aggregation.Services
	metrics  *aggregation.Metrics
	services registry.Target
	// loop checks them; schemas fetches their schemas, for which they may take their
	// time.
	loop, schemas *loop[string]
}

// recheck is how often a server is looked at again, in seconds: nothing tells of a
// network that is broken.
const recheck = 30 * time.Second

// How often schemas are looked at again: nothing tells of others.
const (
	refetch     = time.Minute
	refetchLate = time.Hour // after failures
)

// NewRemoteServices makes it; nil if there are no APIServices in the catalogue.
func NewRemoteServices(c Config, remotes *aggregation.Services, metrics *aggregation.Metrics) *RemoteServices {
	c = c.complete()
	res, version, ok := c.Catalogue.Lookup(apiregistrationv1.SchemeGroupVersion, api.APIServices)
	if !ok {
		return nil
	}
	r := &RemoteServices{Config: c, remotes: remotes, metrics: metrics, services: registry.Target{Resource: res, Version: version}}
	r.loop = &loop[string]{
		Config: c, name: "remote-apiservices", sync: r.sync, workers: 5, pace: pace{5 * time.Millisecond, recheck},
		sources: []source[string]{
			{resource: res, keys: nameOf},
			{resource: c.served(corev1.SchemeGroupVersion, "services"), keys: func(c change) []string {
				return remotes.Behind(c.object.GetNamespace(), c.object.GetName())
			}},
			{resource: c.served(discoveryv1.SchemeGroupVersion, "endpointslices"), keys: func(c change) []string {
				return remotes.Behind(c.object.GetNamespace(), c.object.GetLabels()[discoveryv1.LabelServiceName])
			}},
		},
	}
	r.schemas = &loop[string]{
		Config: c, name: "open_api_aggregation_controller", sync: r.fetch, pace: pace{refetch, refetchLate},
		sources: []source[string]{{resource: res, keys: nameOf}},
	}
	return r
}

// Run looks at them until ctx is done.
func (r *RemoteServices) Run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { recovery.Keep(ctx, r.Logger, r.loop.name, func() { r.loop.Run(ctx) }) })
	r.schemas.Run(ctx)
}

// fetch gets the schemas of one server. One that is not available yet gives a sign
// when it is.
func (r *RemoteServices) fetch(ctx context.Context, name string) (verdict, error) {
	remote := r.remotes.Named(name)
	if remote == nil || !remote.Available() {
		return done, nil
	}
	switch err := remote.FetchSwagger(ctx); {
	case errors.Is(err, aggregation.ErrNoSwagger):
		return done, nil
	case err != nil:
		return soon, err
	}
	return verdict(refetch), nil
}

// sync looks at one APIService.
func (r *RemoteServices) sync(ctx context.Context, name string) (verdict, error) {
	a, err := get[*apiService](ctx, r.Config, r.services.Resource, "", name)
	if err != nil {
		return soon, err
	}
	if a == nil {
		r.metrics.Forget(name)
		return done, nil
	}
	if a.Spec.Service == nil {
		return done, r.tell(ctx, a, api.LocalAPIService(r.Now()))
	}
	remote := r.remotes.Remote(schema.GroupVersion{Group: a.Spec.Group, Version: a.Spec.Version})
	if remote == nil {
		return soon, nil // it has just been changed
	}
	found := remote.Check(ctx)
	if ctx.Err() != nil {
		return done, nil // the end of the server says nothing of others
	}
	// What it serves is known before it is said that it does.
	fetched := r.remotes.Fetch(ctx, remote)
	if err := r.tell(ctx, a, conditionOf(found, r.Now())); err != nil {
		return soon, err
	}
	switch {
	case found.Err != nil || found.OK() && fetched != nil:
		return soon, nil
	case !found.OK():
		return done, nil // there will be a sign of what is missing
	}
	return verdict(recheck), nil
}

func conditionOf(f aggregation.Finding, now time.Time) apiregistrationv1.APIServiceCondition {
	c := apiregistrationv1.APIServiceCondition{
		Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionFalse,
		LastTransitionTime: metav1.NewTime(now.UTC()).Rfc3339Copy(), Reason: f.Reason, Message: f.Message,
	}
	switch {
	case f.OK():
		c.Status = apiregistrationv1.ConditionTrue
	case !f.Known:
		c.Status = apiregistrationv1.ConditionUnknown
	}
	return c
}

// tell writes the condition, if it is another one.
func (r *RemoteServices) tell(ctx context.Context, a *apiService, c apiregistrationv1.APIServiceCondition) error {
	available := c.Status == apiregistrationv1.ConditionTrue
	r.metrics.Tell(a.Name, available)
	was := api.APIServiceAvailable(a)
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
		if is := api.APIServiceAvailable(now); is != nil {
			*is = c
		} else {
			now.Status.Conditions = append(now.Status.Conditions, c)
		}
		return now, nil
	}, registry.UpdateOptions{WriteOptions: registry.WriteOptions{Manager: serverName}})
	if err == nil && was != nil && was.Status == apiregistrationv1.ConditionTrue && !available {
		r.metrics.Lost(a.Name, c.Reason)
	}
	return ignoreGone(err)
}
