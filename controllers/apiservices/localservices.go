// Package apiservices has the controllers of API aggregation: LocalServices maintains the
// APIServices of the group versions that this server serves, RemoteServices the availability
// and the discovery of group versions of other servers, and Extensions the ConfigMap from which
// these servers learn how to authenticate users.
package apiservices

import (
	"context"
	"slices"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers/customkinds"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/kinds/apiextensions"
	"github.com/miniapiserver/miniapiserver/kinds/apiregistration"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// managedLabel marks APIServices that the server maintains. Those of custom kinds are always
// maintained. Those of built-in groups are restored only at the start, so users can change
// them until then.
const (
	managedLabel   = "kube-aggregator.kubernetes.io/automanaged"
	managedAlways  = "true"
	managedAtStart = "onstart"
)

// LocalServices maintains an APIService for every group version that the server itself
// serves. It cannot be turned off, because discovery is based on APIServices.
type LocalServices struct {
	reconcile.BaseConfig
	services    registry.Target
	definitions *api.Resource
	outline     reconcile.ItemReader // of definitions
	loop        *reconcile.Loop[string]
	// builtIn has the APIServices of built-in group versions, and atStart the names of those
	// that existed at the start.
	builtIn map[string]schema.GroupVersion
	atStart map[string]bool
	synced  map[string]bool // used by the loop's only worker

	mu     sync.Mutex
	custom map[string][]schema.GroupVersion // by the name of the definition
	wanted map[string]int                   // number of definitions that need each APIService
}

type apiService = apiregistrationv1.APIService

// NewLocalServices returns a LocalServices, or nil if the catalogue has no APIServices.
func NewLocalServices(c reconcile.BaseConfig) *LocalServices {
	c = c.Complete()
	res, version, ok := c.Catalogue.Lookup(apiregistrationv1.SchemeGroupVersion, apiregistration.APIServices)
	if !ok {
		return nil
	}
	l := &LocalServices{
		BaseConfig: c, services: registry.Target{Resource: res, Version: version},
		definitions: c.Served(apiextensionsv1.SchemeGroupVersion, apiextensions.CustomResourceDefinitions),
		builtIn:     map[string]schema.GroupVersion{}, atStart: map[string]bool{}, synced: map[string]bool{},
		custom: map[string][]schema.GroupVersion{}, wanted: map[string]int{},
	}
	if l.definitions != nil {
		l.outline = customkinds.OutlineReader(l.definitions)
	}
	for _, a := range BuiltInServices(c.Catalogue) {
		l.builtIn[a.Name] = schema.GroupVersion{Group: a.Spec.Group, Version: a.Spec.Version}
	}
	l.loop = &reconcile.Loop[string]{BaseConfig: c, Name: "local-apiservices", Sync: l.sync, Sources: []reconcile.Source[string]{
		{Resource: res, Keys: reconcile.NameKey}, {Resource: l.definitions, Keys: l.affected, Read: l.outline},
	}}
	return l
}

// BuiltInServices returns the APIServices of the built-in group versions of a catalogue.
func BuiltInServices(c *api.Catalogue) []*apiService {
	var out []*apiService
	for _, g := range c.Groups() {
		if g.Name == api.RegistrationGroup || !g.Kubernetes() {
			continue
		}
		for _, gv := range g.Versions {
			out = append(out, localService(gv, managedAtStart))
		}
	}
	return out
}

func localService(gv schema.GroupVersion, managed string) *apiService {
	p := api.PriorityOf(gv)
	return &apiService{
		ObjectMeta: metav1.ObjectMeta{Name: serviceNameOf(gv), Labels: map[string]string{managedLabel: managed}},
		Spec: apiregistrationv1.APIServiceSpec{
			Group: gv.Group, Version: gv.Version, GroupPriorityMinimum: p.Group, VersionPriority: p.Version,
		},
	}
}

func serviceNameOf(gv schema.GroupVersion) string { return gv.Version + "." + gv.Group }

// Load reads the APIServices and definitions that exist at the start. Run needs them, because
// an APIService whose definition is not known yet would be deleted as obsolete.
func (l *LocalServices) Load(ctx context.Context) error {
	for _, s := range []struct {
		of   *api.Resource
		read reconcile.ItemReader
		note func(api.Object)
	}{
		{l.services.Resource, (*storage.Item).Object, func(obj api.Object) { l.atStart[obj.GetName()] = true }},
		{l.definitions, l.outline, func(obj api.Object) { l.affected(reconcile.Change{Object: obj}) }},
	} {
		if s.of == nil {
			continue
		}
		items, err := l.Items(ctx, s.of, "", registry.Selection{})
		if err != nil {
			return err
		}
		var mu sync.Mutex
		err = reconcile.ForEachParallel(items, func(item *storage.Item) error {
			if obj, err := s.read(item); err == nil { // else the store has logged the error
				mu.Lock()
				defer mu.Unlock()
				s.note(obj)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Run maintains the APIServices until ctx is done.
func (l *LocalServices) Run(ctx context.Context) { l.loop.Run(ctx) }

// affected records the APIServices that a definition needs, and returns their names and those
// that it needed before.
func (l *LocalServices) affected(c reconcile.Change) []string {
	var served []schema.GroupVersion
	if d, ok := c.Object.(*apiextensionsv1.CustomResourceDefinition); ok && !c.Deleted {
		for _, v := range d.Spec.Versions {
			if v.Served {
				served = append(served, schema.GroupVersion{Group: d.Spec.Group, Version: v.Name})
			}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var names []string
	for _, gv := range l.custom[c.Object.GetName()] {
		names = append(names, serviceNameOf(gv))
		if l.wanted[serviceNameOf(gv)]--; l.wanted[serviceNameOf(gv)] == 0 {
			delete(l.wanted, serviceNameOf(gv))
		}
	}
	for _, gv := range served {
		names = append(names, serviceNameOf(gv))
		l.wanted[serviceNameOf(gv)]++
	}
	if l.custom[c.Object.GetName()] = served; len(served) == 0 {
		delete(l.custom, c.Object.GetName())
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// desired returns the APIService that should exist with the name, or nil.
func (l *LocalServices) desired(name string) *apiService {
	if gv, ok := l.builtIn[name]; ok {
		return localService(gv, managedAtStart)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wanted[name] == 0 {
		return nil
	}
	version, group, _ := strings.Cut(name, ".")
	return localService(schema.GroupVersion{Group: group, Version: version}, managedAlways)
}

// sync creates, updates or deletes one APIService.
func (l *LocalServices) sync(ctx context.Context, name string) (reconcile.Result, error) {
	want := l.desired(name)
	is, err := reconcile.GetObject[*apiService](ctx, l.BaseConfig, l.services.Resource, "", name)
	if err != nil {
		return reconcile.Retry, err
	}
	if err := l.reconcileService(ctx, name, is, want); err != nil {
		return reconcile.Retry, err
	}
	l.synced[name] = true
	return reconcile.Done, nil
}

// reconcileService changes an APIService from is to want, either of which may be nil. It ignores
// APIServices that are not marked as managed, and those of built-in groups after their first
// sync.
func (l *LocalServices) reconcileService(ctx context.Context, name string, is, want *apiService) error {
	before := l.synced[name]
	switch {
	case is == nil && want == nil, before && isManagedAtStart(want):
		return nil
	case is == nil:
		return l.create(ctx, want)
	case is.Labels[managedLabel] != managedAlways && !isManagedAtStart(is):
		return nil
	case isManagedAtStart(is) && (!l.atStart[name] || before):
		return nil
	case want == nil:
		return l.remove(ctx, is)
	case equality.Semantic.DeepEqual(is.Spec, want.Spec):
		return nil
	}
	return l.update(ctx, is, want.Spec)
}

func isManagedAtStart(a *apiService) bool {
	return a != nil && a.Labels[managedLabel] == managedAtStart
}

// These functions write as the server itself. A conflicting change triggers another sync.

func (l *LocalServices) create(ctx context.Context, want *apiService) error {
	_, err := l.Registry.Create(reconcile.AsServer(ctx), l.services, want, registry.WriteOptions{Manager: reconcile.ServerManager})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func (l *LocalServices) remove(ctx context.Context, is *apiService) error {
	t := l.services
	t.Name = is.Name
	_, err := l.Registry.Delete(reconcile.AsServer(ctx), t, registry.DeleteOptions{Preconditions: reconcile.Unchanged(is)})
	return reconcile.IgnoreDeleted(err)
}

func (l *LocalServices) update(ctx context.Context, is *apiService, spec apiregistrationv1.APIServiceSpec) error {
	t := l.services
	t.Name = is.Name
	_, err := l.Registry.Update(reconcile.AsServer(ctx), t, func(_ context.Context, old api.Object) (api.Object, error) {
		now := old.(*apiService)
		now.ResourceVersion, now.Spec = is.ResourceVersion, spec
		return now, nil
	}, registry.UpdateOptions{WriteOptions: registry.WriteOptions{Manager: reconcile.ServerManager}})
	return reconcile.IgnoreDeleted(err)
}
