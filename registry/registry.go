// Package registry gives the verbs their meaning: what it is to get, list,
// watch, create, update and delete an object, whichever kind it has. It is the
// layer between handlers, which speak HTTP, and storage, which knows keys and
// revisions; the same code serves built-in kinds and those that arrive at run
// time, because all that is particular to a kind is in its api.Resource.
//
// The nouns: a Target says which objects a request is about; an Outcome is what
// a write led to. update.go holds the only compare-and-swap loop of the server.
package registry

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/ssa"
	"github.com/miniapiserver/miniapiserver/storage"
)

// Options are what a Registry needs besides storage and the catalogue. The zero
// value works.
type Options struct {
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// EventTTL is how long events live; 0 means for ever.
	EventTTL time.Duration
	// EtcdPrefix is where the keys are, for messages that show a key.
	EtcdPrefix string
	// Schemas are what field management goes by; nil turns it off.
	Schemas ssa.Schemas
	// Admission is asked before anything is stored; nil admits everything.
	Admission Admission
	// Access answers the access checks of kinds; nil turns them off.
	Access api.Access
	// Reviews returns the function that answers reviews, by the source that their
	// api.Virtual names; nil means that there are none.
	Reviews func(source string) (Review, bool)
	// Pools are what is handed out to objects that ask for it.
	Pools Pools
	// Virtual answers for resources that are computed, by the source that their
	// api.Virtual names. A resource whose source is missing is not served.
	Virtual map[string]Source
}

// Registry serves the verbs of every resource of a catalogue. It is safe for
// concurrent use.
type Registry struct {
	store     *storage.Store
	catalogue *api.Catalogue
	o         Options
	fields    fieldManagers
	selectors attributeSlots
	showables showables

	// removed stands for the collection of what was taken away.
	closedCollection *storage.Collection

	mu          sync.RWMutex
	collections map[string]*storage.Collection // by prefix
}

// New makes a Registry and gives every stored resource of the catalogue its
// collection. It is called before the store is started.
func New(store *storage.Store, catalogue *api.Catalogue, o Options) (*Registry, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Reviews == nil {
		o.Reviews = func(string) (Review, bool) { return nil, false }
	}
	if o.EtcdPrefix == "" {
		o.EtcdPrefix = "/registry"
	}
	r := &Registry{store: store, catalogue: catalogue, o: o, fields: fieldManagers{schemas: o.Schemas}, collections: map[string]*storage.Collection{}}
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

// AddResource gives a stored resource its collection. After the store was started it
// returns when the resource can be served. A watch of a resource that is new since
// a revision cannot start before that; since is 0 if it is not new.
func (r *Registry) AddResource(res *api.Resource, since int64) error {
	cfg := collectionConfig(res)
	cfg.Oldest = since
	c, err := r.store.Collection(cfg)
	if err != nil {
		return fmt.Errorf("collection of %s: %w", res.Name, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.collections[res.Storage.Prefix] = c
	return nil
}

func collectionConfig(res *api.Resource) storage.CollectionConfig {
	return storage.CollectionConfig{
		Prefix:   res.Storage.Prefix,
		Encode:   res.EncodeStored,
		Decode:   res.DecodeStored,
		Check:    checkOf(res),
		AsStored: res.AsStored(),
		Fields:   res.Fields.Selectable,
		Index:    res.Fields.Indexed,
	}
}

// ReplaceResource puts a resource in the place of what it was before, with the same
// objects. Watches end; all other requests go on, also those that began with the
// resource as it was.
func (r *Registry) ReplaceResource(was, is *api.Resource) {
	r.collection(is).Reconfigure(collectionConfig(is))
	r.fields.dropResource(was)
	r.selectors.dropResource(was)
}

// RemoveResource takes a resource away: its watches end, and nothing of it is kept. What
// is in etcd stays.
func (r *Registry) RemoveResource(res *api.Resource) {
	r.mu.Lock()
	c := r.collections[res.Storage.Prefix]
	delete(r.collections, res.Storage.Prefix)
	r.mu.Unlock()
	r.fields.dropResource(res)
	r.selectors.dropResource(res)
	if c != nil {
		c.Close()
	}
}

// collection is where the objects of a resource are. Of one that was taken away
// while a request was on its way, it is one where nothing is.
func (r *Registry) collection(res *api.Resource) *storage.Collection {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if c := r.collections[res.Storage.Prefix]; c != nil {
		return c
	}
	return r.closedCollection
}

// Target says which objects a request is about.
type Target struct {
	Resource *api.Resource
	Version  *api.Version
	// Namespace is empty for cluster-scoped resources and for all namespaces.
	Namespace string
	// Name is empty for a collection, and for a create.
	Name string
	// Status: the status subresource, and not the object itself. Sub: another
	// subresource.
	Status bool
	Sub    *api.Subresource
}

// lookupResource looks up a resource in whichever version is preferred, if any is served.
func (r *Registry) lookupResource(gr schema.GroupResource) (*api.Resource, *api.Version, error) {
	if g, ok := r.catalogue.Group(gr.Group); ok {
		for _, gv := range g.Versions {
			if res, v, ok := r.catalogue.Lookup(gv, gr.Resource); ok {
				return res, v, nil
			}
		}
	}
	// What clients are not offered is still there for the server itself.
	for _, res := range r.catalogue.Resources() {
		if v := &res.Versions[0]; res.Name == gr.Resource && v.Group == gr.Group {
			return res, v, nil
		}
	}
	return nil, nil, fmt.Errorf("there is no resource %s", gr)
}

// Key is the key of the object that t names, within its collection.
func (t Target) Key() string { return key(t.Namespace, t.Name) }

func key(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

func (t Target) prefix() string {
	if t.Namespace == "" {
		return ""
	}
	return t.Namespace + "/"
}

// Outcome is what a write led to.
type Outcome struct {
	// Object is the state after the write; it must not be changed.
	Object api.Object
	// Item is the object as stored, with its encodings; nil where nothing was
	// written (a dry run) or nothing is left.
	Item *storage.Item
	// Created is set when an update made a new object.
	Created bool
	// Deleted is set when the object is gone, and not only marked.
	Deleted bool
}
