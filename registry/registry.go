// Package registry implements the verbs get, list, watch, create, update, patch, apply and
// delete for objects of every kind, between handlers, which speak HTTP, and storage, which
// has keys and revisions. Built-in and custom kinds share the code: everything particular
// to a kind is in its api.Resource.
//
// A Target names the objects of a request. An Outcome is the result of a write.
//
// Reading order:
//
//   - registry.go, read.go: the registry, get, list and watch; converted.go, form.go: lists
//     and objects of custom kinds that a webhook converts.
//   - history.go: earlier versions of objects.
//   - write.go, create.go, update.go, delete.go: the writes, each as a list of its steps.
//     update.go has the only compare-and-swap loop of the server ; fence.go: what
//     a creation depends on until it is stored.
//   - admit.go: what admission sees of a write; manage.go: managedFields and apply;
//     status.go, subresource.go: the parts of an object that a subresource shows.
//   - post.go, virtual.go, actions.go: requests that are POSTed to subresources and virtual
//     resources, such as bindings, evictions and reviews; connect.go: connections.
//   - allocation/: service addresses and node ports, behind the interface Allocator.
//   - unsafedelete.go: objects that cannot be decoded; batch.go: the
//     objects of the server's start; errors.go: errors of storage as Status.
package registry

import (
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/ssa"
	"github.com/miniapiserver/miniapiserver/storage"
)

// Options configure a Registry, apart from its store and catalogue. The zero value works.
type Options struct {
	// Now is the clock of the stamps in objects; nil means time.Now.
	Now func() time.Time
	// EventTTL is the lifetime of events; 0 means no limit.
	EventTTL time.Duration
	// DeleteCollectionWorkers is how many objects of a collection are deleted at a time; 0
	// means one.
	DeleteCollectionWorkers int
	// EtcdPrefix is the prefix of all keys, for error messages that contain a key.
	EtcdPrefix string
	// Transformer returns the encryption of a resource's values; nil, or the result nil, means
	// that there is none.
	Transformer func(schema.GroupResource) storage.Transformer
	// Schemas are the schemas for field management; nil turns it off.
	Schemas ssa.Schemas
	// FieldManagers are the field managers of resources that other registries serve too.
	FieldManagers FieldManagers
	// Admission returns the Admission that decides about a write; nil admits everything.
	Admission func() Admission
	// Access answers the permission checks of kinds; nil turns them off.
	Access api.Access
	// Reviews returns the function that answers reviews of a source (api.Action.Source);
	// nil means that there are none.
	Reviews func(source string) (Review, bool)
	// Allocators returns the Allocators of the resources that have one; nil means that there are none.
	Allocators func(*Registry) map[schema.GroupResource]Allocator
	// PrefersIPv6 is true if the preferred address family of the cluster is IPv6.
	PrefersIPv6 bool
	// Stores are the stores of resources that another etcd has. All other resources, and
	// keys of no resource, are in the store of the registry.
	Stores map[schema.GroupResource]*storage.Store
	// UnconvertedIsCorrupt reports stored objects that cannot be converted to the version of a read
	// like corrupt ones.
	UnconvertedIsCorrupt bool
	// Virtual computes the objects of virtual resources, by source (api.View.Source). A
	// resource whose source is missing is not served.
	Virtual map[string]Source
}

// Registry implements the verbs for the resources of a catalogue. It is safe for concurrent
// use.
type Registry struct {
	store     *storage.Store
	catalogue *api.Catalogue
	o         Options
	fields    fieldManagers
	selectors attributeSlots
	// conversions are the versions to which a webhook converts.
	conversions  conversionCaches
	encodeFaults encodeFaults

	allocators  map[schema.GroupResource]Allocator
	comparisons *comparisonMetrics

	// closedCollection stands for the collection of a removed resource.
	closedCollection *storage.Collection

	mu          sync.RWMutex
	collections map[string]*storage.Collection // by prefix
	// lagOf is the function of SetLag; nil if nothing lags.
	lagOf func(schema.GroupResource) time.Duration
}

// New returns a Registry and adds the stored resources of the catalogue. It must be called
// before the store and those of the options are started.
func New(store *storage.Store, catalogue *api.Catalogue, o Options) (*Registry, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Reviews == nil {
		o.Reviews = func(string) (Review, bool) { return Review{}, false }
	}
	if o.EtcdPrefix == "" {
		o.EtcdPrefix = "/registry"
	}
	r := &Registry{store: store, catalogue: catalogue, o: o, fields: fieldManagers{schemas: o.Schemas, shared: o.FieldManagers},
		collections: map[string]*storage.Collection{}}
	r.comparisons = newComparisonMetrics()
	if o.Allocators != nil {
		r.allocators = o.Allocators(r)
	}
	r.closedCollection = store.ClosedCollection()
	for _, res := range catalogue.Resources() {
		if res.Virtual != nil {
			continue
		}
		if err := r.AddResource(res, 0); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// AddResource adds the collection of a stored resource. If the store is started, it returns
// when the resource can be served. since is the revision at which the resource was created,
// before which no watch can start; 0 if it existed before the store.
func (r *Registry) AddResource(res *api.Resource, since int64) error {
	cfg := r.collectionConfig(res)
	cfg.Oldest = since
	c, err := r.storeOf(res.GroupResource()).Collection(cfg)
	if err != nil {
		return fmt.Errorf("collection of %s: %w", res.Name, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.collections[res.Storage.Prefix] = c
	if r.lagOf != nil {
		c.SetLag(r.lagOf(res.GroupResource()))
	}
	r.conversions.addResource(res, time.Now(), c.IsEmpty())
	return nil
}

// ApplyLocal writes objects of a resource that is in a local store, as storage.Collection.ApplyLocal does.
func (r *Registry) ApplyLocal(res *api.Resource, changes []storage.LocalChange) {
	r.collection(res).ApplyLocal(changes)
}

// storeOf returns the store of a resource.
func (r *Registry) storeOf(gr schema.GroupResource) *storage.Store {
	if other := r.o.Stores[gr]; other != nil {
		return other
	}
	return r.store
}

func (r *Registry) collectionConfig(res *api.Resource) storage.CollectionConfig {
	gr := res.GroupResource()
	cfg := storage.CollectionConfig{
		Prefix:     res.Storage.Prefix,
		Group:      gr.Group,
		Resource:   gr.Resource,
		Encode:     res.StoredEncoder(),
		Decode:     res.DecodeStored,
		CheckValue: res.CheckStored,
		Check:      checkOf(res),
		AsStored:   res.AsStored(),
		Fields:     res.Selectable,
		Index:      res.Indexed,

		StoredField: res.StoredField(),
	}
	if res.Storage.Expires {
		cfg.TTL = r.o.EventTTL
	}
	if r.o.Transformer != nil {
		cfg.Transformer = r.o.Transformer(gr)
	}
	return cfg
}

// ReplaceResource replaces the definition of a resource whose objects stay the same. publish
// has new requests use the current definition; if it fails, the former one stays. Watches
// end. Other requests continue, also requests that began with the former definition.
func (r *Registry) ReplaceResource(former, current *api.Resource, publish func() error) error {
	c := r.collection(current)
	// The collection comes first: requests with the current definition may store objects in a
	// version that the former one cannot decode.
	c.Reconfigure(r.collectionConfig(current))
	r.conversions.addResource(current, time.Now(), c.IsEmpty())
	if err := publish(); err != nil {
		c.Reconfigure(r.collectionConfig(former))
		return err
	}
	c.RestartWatches() // some may have begun meanwhile, with the former definition
	r.fields.dropResource(former)
	r.selectors.dropResource(former)
	r.conversions.dropResource(former)
	return nil
}

// RemoveResource removes a resource: its watches end, and its caches are freed. Its objects
// in etcd stay.
func (r *Registry) RemoveResource(res *api.Resource) {
	r.mu.Lock()
	c := r.collections[res.Storage.Prefix]
	delete(r.collections, res.Storage.Prefix)
	r.mu.Unlock()
	r.fields.dropResource(res)
	r.selectors.dropResource(res)
	r.conversions.dropResource(res)
	if c != nil {
		c.Close()
	}
}

// Target names the object or the collection of a request.
type Target struct {
	Resource *api.Resource
	Version  *api.Version
	// Namespace is empty for cluster-scoped resources, and for requests of all namespaces.
	Namespace string
	// Name is empty for a collection and for a creation.
	Name string
	// Status means the status subresource instead of the object. Sub is another
	// subresource, or nil.
	Status bool
	Sub    api.Subresource
}

// LookupResource returns a resource in its preferred version, or in the hub version if no
// version is served.
func (r *Registry) LookupResource(gr schema.GroupResource) (*api.Resource, *api.Version, error) {
	if g, ok := r.catalogue.Group(gr.Group); ok {
		for _, gv := range g.Versions {
			if res, v, ok := r.catalogue.Lookup(gv, gr.Resource); ok {
				return res, v, nil
			}
		}
	}
	// The server itself also uses resources that it does not serve.
	for _, res := range r.catalogue.Resources() {
		if v := &res.Versions[0]; res.Name == gr.Resource && v.Group == gr.Group {
			return res, v, nil
		}
	}
	return nil, nil, fmt.Errorf("there is no resource %s", gr)
}

// CheckName returns an error if t's name cannot be a segment of a path. As in kube-apiserver, this is
// found out when the object is looked for, after all faults of the request itself.
func (t Target) CheckName() error {
	if faults := content.IsPathSegmentName(t.Name); len(faults) > 0 {
		return apierrors.NewBadRequest(fmt.Sprintf("Name parameter invalid: %q: %s", t.Name, faults[0]))
	}
	return nil
}

// Outcome is the result of a write.
type Outcome struct {
	// Object is the state after the write; it must not be changed.
	Object api.Object
	// Item is the stored object with its encodings; nil for a dry run and for an object
	// that was removed without a last state, or is stored in another version.
	Item *storage.Item
	// Created means that the write created the object.
	Created bool
	// Deleted means that the object was removed, and not only marked as terminating.
	Deleted bool
	// Accepted means that the object is marked, and that the client asked to be told so.
	Accepted bool
}
