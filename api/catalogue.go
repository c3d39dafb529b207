package api

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Catalogue is an index of resources. Reading it is safe for concurrent use and
// takes no lock; Replace puts another set of resources in the place of the
// present one, at once for all readers.
type Catalogue struct {
	current atomic.Pointer[index]
}

// index is one state of a catalogue. It is never changed.
type index struct {
	replaced  chan struct{} // closed when another one is in its place
	resources []*Resource
	names     map[nameKey]entry
	kinds     map[nameKey]entry
	groups    []Group
	lists     map[schema.GroupVersion][]*Resource
}

// nameKey is a resource or a kind in a version.
type nameKey struct {
	schema.GroupVersion
	name string
}

type entry struct {
	resource *Resource
	version  *Version
}

// New makes a catalogue. It fails when two resources have the same name, kind
// or place in etcd, or when one lacks what every resource must have.
func New(resources ...*Resource) (*Catalogue, error) {
	c := &Catalogue{}
	if err := c.Replace(resources...); err != nil {
		return nil, err
	}
	return c, nil
}

// Replace makes resources all that the catalogue holds. On an error it stays
// as it was.
func (c *Catalogue) Replace(resources ...*Resource) error {
	i := &index{
		replaced:  make(chan struct{}),
		resources: slices.Clone(resources),
		names:     map[nameKey]entry{},
		kinds:     map[nameKey]entry{},
	}
	prefixes := map[string]*Resource{}
	for _, r := range i.resources {
		if err := r.complete(); err != nil {
			return fmt.Errorf("resource %q: %w", r.Name, err)
		}
		if other := prefixes[r.Prefix]; other != nil && r.Prefix != "" {
			return fmt.Errorf("resource %q: %q has the prefix %q already", r.Name, other.Name, r.Prefix)
		}
		prefixes[r.Prefix] = r
		if err := i.add(r); err != nil {
			return err
		}
	}
	i.groups, i.lists = arrange(i.resources)
	if was := c.current.Swap(i); was != nil {
		close(was.replaced)
	}
	return nil
}

func (i *index) add(r *Resource) error {
	if len(r.Forms) > 0 {
		for _, form := range r.Forms {
			if err := i.addVersions(form, 1); err != nil {
				return err
			}
		}
		return nil
	}
	return i.addVersions(r, len(r.Versions))
}

// addVersions adds the first versions of a resource.
func (i *index) addVersions(r *Resource, first int) error {
	for n := range first {
		v := &r.Versions[n]
		kind, name := nameKey{v.GroupVersion, r.Kind}, nameKey{v.GroupVersion, r.Name}
		if _, ok := i.kinds[kind]; ok {
			return fmt.Errorf("resource %q: kind %s is in %s already", r.Name, r.Kind, v.GroupVersion)
		}
		i.kinds[kind] = entry{r, v}
		if v.NotServed {
			continue
		}
		if _, ok := i.names[name]; ok {
			return fmt.Errorf("resource %q is in %s already", r.Name, v.GroupVersion)
		}
		i.names[name] = entry{r, v}
	}
	return nil
}

// complete tells what a resource lacks.
func (r *Resource) complete() error {
	switch {
	case r.Name == "" || r.Singular == "" || r.Kind == "":
		return errors.New("name, singular and kind are required")
	case len(r.Versions) == 0:
		return errors.New("at least one version is required")
	case r.New == nil:
		return errors.New("New is required")
	case r.Prefix == "" && r.Virtual == nil:
		return errors.New("a resource that is not virtual needs a prefix")
	}
	hub := r.Versions[0]
	if hub.New != nil || hub.ToHub != nil || hub.FromHub != nil {
		return errors.New("the first version is the hub and needs no conversion")
	}
	for _, v := range r.Versions[1:] {
		if (v.New == nil) != (v.ToHub == nil) || (v.New == nil) != (v.FromHub == nil) {
			return fmt.Errorf("version %s: New, ToHub and FromHub come together", v.GroupVersion)
		}
	}
	return nil
}

// Lookup finds a served resource by its name in paths.
func (c *Catalogue) Lookup(gv schema.GroupVersion, resource string) (*Resource, *Version, bool) {
	e, ok := c.current.Load().names[nameKey{gv, resource}]
	return e.resource, e.version, ok
}

// Kind finds a resource by the kind of its objects, also in versions that can
// only be read from etcd (Version.NotServed).
func (c *Catalogue) Kind(gv schema.GroupVersion, kind string) (*Resource, *Version, bool) {
	e, ok := c.current.Load().kinds[nameKey{gv, kind}]
	return e.resource, e.version, ok
}

// Resources are all that the catalogue holds, each once. The slice must not be
// changed.
func (c *Catalogue) Resources() []*Resource { return c.current.Load().resources }

// Follow returns all resources, as Resources does, and a channel that is closed
// when there are others.
func (c *Catalogue) Follow() ([]*Resource, <-chan struct{}) {
	i := c.current.Load()
	return i.resources, i.replaced
}

// State tells one set of resources from another: it is equal to what it was as
// long as nothing was replaced. It is what documents made from a catalogue are
// kept by.
func (c *Catalogue) State() any { return c.current.Load() }

// Groups are the served groups in the order of discovery, the core group (the
// one with no name) first. The slice must not be changed.
func (c *Catalogue) Groups() []Group { return c.current.Load().groups }

// Group finds a served group by its name.
func (c *Catalogue) Group(name string) (Group, bool) {
	for _, g := range c.current.Load().groups {
		if g.Name == name {
			return g, true
		}
	}
	return Group{}, false
}

// In lists the resources of one served version in the order of discovery. The
// slice must not be changed; it is empty when the version is not served.
func (c *Catalogue) In(gv schema.GroupVersion) []*Resource {
	return c.current.Load().lists[gv]
}
