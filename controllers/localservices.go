package controllers

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
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// managedLabel marks the APIServices that the server keeps itself: those of
// custom kinds always, and the others at its start only, so that whoever wants
// to can change them until the next one.
const (
	managedLabel   = "kube-aggregator.kubernetes.io/automanaged"
	managedAlways  = "true"
	managedAtStart = "onstart"
)

// LocalServices keeps an APIService for every group version that the server
// serves itself. It is no controller that can be turned off: discovery is made of
// APIServices.
type LocalServices struct {
	Config
	services    registry.Target
	definitions *api.Resource
	outline     reader // of definitions
	loop        *loop[string]
	// builtIn and atStart are names of APIServices: of what is built in, and of
	// what there was at the start.
	builtIn map[string]schema.GroupVersion
	atStart map[string]bool
	synced  map[string]bool // of loop's one worker

	mu     sync.Mutex
	custom map[string][]schema.GroupVersion // by the name of the definition
	wanted map[string]int                   // how many definitions want an APIService
}

type apiService = apiregistrationv1.APIService

// NewLocalServices makes it; nil if there are no APIServices in the catalogue.
func NewLocalServices(c Config) *LocalServices {
	c = c.complete()
	res, version, ok := c.Catalogue.Lookup(apiregistrationv1.SchemeGroupVersion, api.APIServices)
	if !ok {
		return nil
	}
	l := &LocalServices{
		Config: c, services: registry.Target{Resource: res, Version: version},
		definitions: c.served(apiextensionsv1.SchemeGroupVersion, api.CustomResourceDefinitions),
		builtIn:     map[string]schema.GroupVersion{}, atStart: map[string]bool{}, synced: map[string]bool{},
		custom: map[string][]schema.GroupVersion{}, wanted: map[string]int{},
	}
	if l.definitions != nil {
		l.outline = outliner(l.definitions)
	}
	for _, a := range BuiltInServices(c.Catalogue) {
		l.builtIn[a.Name] = schema.GroupVersion{Group: a.Spec.Group, Version: a.Spec.Version}
	}
	l.loop = &loop[string]{Config: c, name: "local-apiservices", sync: l.sync, sources: []source[string]{
		{resource: res, keys: nameOf}, {resource: l.definitions, keys: l.affected, read: l.outline},
	}}
	return l
}

// BuiltInServices are the APIServices of the built-in group versions that a
// catalogue serves.
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

// Load finds out what there is, at the start: before it is known which custom
// kinds there are, no APIService is one too many.
func (l *LocalServices) Load(ctx context.Context) error {
	for _, s := range []struct {
		of   *api.Resource
		read reader
		note func(api.Object)
	}{
		{l.services.Resource, (*storage.Item).Object, func(obj api.Object) { l.atStart[obj.GetName()] = true }},
		{l.definitions, l.outline, func(obj api.Object) { l.affected(change{object: obj}) }},
	} {
		if s.of == nil {
			continue
		}
		items, err := l.items(ctx, s.of, "", registry.Selection{})
		if err != nil {
			return err
		}
		var mu sync.Mutex
		err = inParallel(items, func(item *storage.Item) error {
			if obj, err := s.read(item); err == nil { // or told of by the store
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

// Run keeps them until ctx is done.
func (l *LocalServices) Run(ctx context.Context) { l.loop.Run(ctx) }

// affected notes what a definition wants, and names what it wants or wanted.
func (l *LocalServices) affected(c change) []string {
	var served []schema.GroupVersion
	if d, ok := c.object.(*definition); ok && !c.gone {
		for _, v := range d.Spec.Versions {
			if v.Served {
				served = append(served, schema.GroupVersion{Group: d.Spec.Group, Version: v.Name})
			}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var names []string
	for _, gv := range l.custom[c.object.GetName()] {
		names = append(names, serviceNameOf(gv))
		if l.wanted[serviceNameOf(gv)]--; l.wanted[serviceNameOf(gv)] == 0 {
			delete(l.wanted, serviceNameOf(gv))
		}
	}
	for _, gv := range served {
		names = append(names, serviceNameOf(gv))
		l.wanted[serviceNameOf(gv)]++
	}
	if l.custom[c.object.GetName()] = served; len(served) == 0 {
		delete(l.custom, c.object.GetName())
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// desired is the APIService that there should be of a name; nil for none.
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

// sync makes one APIService what it should be.
func (l *LocalServices) sync(ctx context.Context, name string) (verdict, error) {
	want := l.desired(name)
	is, err := get[*apiService](ctx, l.Config, l.services.Resource, "", name)
	if err != nil {
		return soon, err
	}
	if err := l.settle(ctx, name, is, want); err != nil {
		return soon, err
	}
	l.synced[name] = true
	return done, nil
}

// settle does what there is to do about an APIService, of which is and want may
// be nil. One that nobody marked as the server's is left alone, and one that is
// looked after at the start only is looked at once.
func (l *LocalServices) settle(ctx context.Context, name string, is, want *apiService) error {
	before := l.synced[name]
	switch {
	case is == nil && want == nil, before && atStart(want):
		return nil
	case is == nil:
		return l.create(ctx, want)
	case is.Labels[managedLabel] != managedAlways && !atStart(is):
		return nil
	case atStart(is) && (!l.atStart[name] || before):
		return nil
	case want == nil:
		return l.remove(ctx, is)
	case equality.Semantic.DeepEqual(is.Spec, want.Spec):
		return nil
	}
	return l.update(ctx, is, want.Spec)
}

func atStart(a *apiService) bool { return a != nil && a.Labels[managedLabel] == managedAtStart }

// These write as the server itself. What others did meanwhile is looked at next.

func (l *LocalServices) create(ctx context.Context, want *apiService) error {
	_, err := l.Registry.Create(asServer(ctx), l.services, want, registry.WriteOptions{Manager: serverName})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func (l *LocalServices) remove(ctx context.Context, is *apiService) error {
	t := l.services
	t.Name = is.Name
	_, err := l.Registry.Delete(asServer(ctx), t, registry.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(is.UID))})
	return ignoreGone(err)
}

func (l *LocalServices) update(ctx context.Context, is *apiService, spec apiregistrationv1.APIServiceSpec) error {
	t := l.services
	t.Name = is.Name
	_, err := l.Registry.Update(asServer(ctx), t, func(_ context.Context, old api.Object) (api.Object, error) {
		now := old.(*apiService)
		now.ResourceVersion, now.Spec = is.ResourceVersion, spec
		return now, nil
	}, registry.UpdateOptions{WriteOptions: registry.WriteOptions{Manager: serverName}})
	return ignoreGone(err)
}
