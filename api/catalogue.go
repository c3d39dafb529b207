package api

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tidwall/btree"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/openapi"
)

// Catalogue is an index of resources. Readers take no lock and see a change as a whole or not
// at all. The cost of a change depends on the size of the changed groups, because a catalogue
// may contain thousands of custom kinds in other groups.
type Catalogue struct {
	mu      sync.Mutex // held during a change
	working index      // the index that the next change starts from; readers never see it
	current atomic.Pointer[index]
}

// index is one state of a catalogue. It is immutable once it is published.
type index struct {
	groups btree.Map[string, *group]
	// first has the resources of New or Replace, in their order. more has the resources that
	// Change added, by Resource.id.
	first []*Resource
	more  btree.Map[string, *Resource]
	// prefixes has the resources by etcd prefix, which are unique.
	prefixes btree.Map[string, *Resource]

	state   *state
	all     atomic.Pointer[[]*Resource] // first and more; computed at the first call of resources
	ordered atomic.Pointer[[]Group]     // groups in the order of discovery; computed at the first call of served

	// replaced is closed when next has replaced this index. out and in are the resources that
	// the replacement removed and added.
	replaced chan struct{}
	next     *index
	out, in  []*Resource
}

// state identifies an index. Callers keep it in place of the index, which would keep all later
// indexes reachable.
type state struct{ _ byte }

// New returns a catalogue of resources. It fails if two resources have the same name, kind or
// etcd prefix, or if a resource lacks a required field.
func New(resources ...*Resource) (*Catalogue, error) {
	c := &Catalogue{}
	c.current.Store(&index{replaced: make(chan struct{})})
	if err := c.Replace(resources...); err != nil {
		return nil, err
	}
	return c, nil
}

// Reductions returns what the definitions of all kinds lose because the server emulates an older
// release; nil if nothing.
func (c *Catalogue) Reductions() openapi.Reductions {
	var all openapi.Reductions
	for _, r := range c.Resources() {
		if r.Reductions != nil && all == nil {
			all = openapi.Reductions{}
		}
		maps.Copy(all, r.Reductions)
	}
	return all
}

// Replace replaces all resources of the catalogue. The catalogue is unchanged after an error.
func (c *Catalogue) Replace(resources ...*Resource) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.Resources()
	next := &index{first: slices.Clone(resources)}
	if err := next.add(resources); err != nil {
		return err
	}
	c.publish(next, slices.Clone(before), next.first)
	return nil
}

// Change removes the resources out and adds the resources in. A resource may be in both;
// discovery then computes its documents again. The catalogue is unchanged after an error.
func (c *Catalogue) Change(out, in []*Resource) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := c.working.copy()
	next.remove(out)
	if err := next.add(in); err != nil {
		return err
	}
	for _, r := range in {
		next.more.Set(r.id(), r)
	}
	c.publish(next, slices.Clone(out), slices.Clone(in))
	return nil
}

// publish replaces the current index by next. The caller holds c.mu.
func (c *Catalogue) publish(next *index, out, in []*Resource) {
	// Copied trees share their nodes, which are copied before a change, so readers of next
	// don't see the next change.
	c.working = index{groups: *next.groups.Copy(), first: next.first, more: *next.more.Copy(), prefixes: *next.prefixes.Copy()}
	next.replaced, next.state = make(chan struct{}), new(state)
	before := c.current.Swap(next)
	before.next, before.out, before.in = next, out, in
	close(before.replaced)
}

// copy returns a copy of i that can be changed.
func (i *index) copy() *index {
	return &index{groups: *i.groups.Copy(), first: i.first, more: *i.more.Copy(), prefixes: *i.prefixes.Copy()}
}

// id returns the name of a resource that is unique in a catalogue.
func (r *Resource) id() string {
	return r.Versions[0].Group + "/" + r.Name
}

// remove removes resources.
func (i *index) remove(out []*Resource) {
	for _, r := range out {
		i.prefixes.Delete(r.Storage.Prefix)
		if current, ok := i.more.Get(r.id()); ok && current == r {
			i.more.Delete(r.id())
			continue
		}
		i.first = slices.DeleteFunc(slices.Clone(i.first), func(other *Resource) bool { return other == r })
	}
	for name, removed := range byGroup(out) {
		g, ok := i.groups.Get(name)
		if !ok {
			continue
		}
		left := slices.DeleteFunc(slices.Clone(g.resources), func(r *Resource) bool { return slices.Contains(removed, r) })
		if len(left) == 0 {
			i.groups.Delete(name)
			continue
		}
		g, _ = newGroup(name, left) // no error: a part of a valid group is valid
		i.groups.Set(name, g)
	}
}

// add adds resources to the groups and prefixes, not to first or more.
func (i *index) add(in []*Resource) error {
	for _, r := range in {
		if err := r.complete(); err != nil {
			return fmt.Errorf("resource %q: %w", r.Name, err)
		}
		if r.Storage.Prefix == "" {
			continue
		}
		if other, ok := i.prefixes.Get(r.Storage.Prefix); ok {
			return fmt.Errorf("resource %q: %q has the prefix %q already", r.Name, other.Name, r.Storage.Prefix)
		}
		i.prefixes.Set(r.Storage.Prefix, r)
	}
	for name, members := range byGroup(in) {
		if g, ok := i.groups.Get(name); ok {
			members = slices.Concat(g.resources, members)
		}
		g, err := newGroup(name, members)
		if err != nil {
			return err
		}
		i.groups.Set(name, g)
	}
	return nil
}

// Lookup returns the served resource with a name, and its version gv.
func (c *Catalogue) Lookup(gv schema.GroupVersion, resource string) (*Resource, *Version, bool) {
	g, ok := c.current.Load().groups.Get(gv.Group)
	if !ok {
		return nil, nil, false
	}
	e, ok := g.names[versioned{gv.Version, resource}]
	return e.resource, e.version, ok
}

// Kind returns the resource of a kind, and its version gv, which need not be served
// (Version.NotServed).
func (c *Catalogue) Kind(gv schema.GroupVersion, kind string) (*Resource, *Version, bool) {
	g, ok := c.current.Load().groups.Get(gv.Group)
	if !ok {
		return nil, nil, false
	}
	e, ok := g.kinds[versioned{gv.Version, kind}]
	return e.resource, e.version, ok
}

// Resources returns all resources, each once. The slice must not be changed.
func (c *Catalogue) Resources() []*Resource { return c.current.Load().resources() }

func (i *index) resources() []*Resource {
	if all := i.all.Load(); all != nil {
		return *all
	}
	all := slices.Concat(i.first, i.more.Values())
	i.all.Store(&all)
	return all
}

// State returns a value that is equal as long as the catalogue does not change: a cache key
// for documents about all resources.
func (c *Catalogue) State() any { return c.current.Load().state }

// Groups returns the served groups in the order of discovery, the core group first. The slice
// must not be changed.
func (c *Catalogue) Groups() []Group { return c.current.Load().served() }

func (i *index) served() []Group {
	if ordered := i.ordered.Load(); ordered != nil {
		return *ordered
	}
	var all []Group
	i.groups.Scan(func(_ string, g *group) bool {
		if len(g.Versions) > 0 {
			all = append(all, g.Group)
		}
		return true
	})
	slices.SortFunc(all, compareGroups)
	i.ordered.Store(&all)
	return all
}

// Group returns the served group with a name.
func (c *Catalogue) Group(name string) (Group, bool) {
	if g, ok := c.current.Load().groups.Get(name); ok && len(g.Versions) > 0 {
		return g.Group, true
	}
	return Group{}, false
}

// In returns the resources of a version in the order of discovery; none if the version is not
// served. The slice must not be changed.
func (c *Catalogue) In(gv schema.GroupVersion) []*Resource {
	if g, ok := c.current.Load().groups.Get(gv.Group); ok {
		return g.lists[gv.Version]
	}
	return nil
}

// Follower iterates over the changes of a catalogue. Only one goroutine may use it.
type Follower struct {
	from *Catalogue
	seen *index
}

// Follow returns a Follower for which all resources are new.
func (c *Catalogue) Follow() *Follower { return &Follower{from: c} }

// Changed returns a channel that is closed when the catalogue has changed since the last call
// of Next. Call Next first.
func (f *Follower) Changed() <-chan struct{} { return f.seen.replaced }

// Next returns the resources that were removed and added since the last call. The first call
// returns all resources as added.
func (f *Follower) Next() (out, in []*Resource) {
	if f.seen == nil {
		f.seen = f.from.current.Load()
		return nil, f.seen.resources()
	}
	var removed, added resourceSet
	for {
		select {
		case <-f.seen.replaced:
		default:
			return removed.list, added.list
		}
		for _, r := range f.seen.out {
			if !added.remove(r) {
				removed.add(r)
			}
		}
		for _, r := range f.seen.in {
			if !removed.remove(r) {
				added.add(r)
			}
		}
		f.seen = f.seen.next
	}
}

// resourceSet is a set that keeps the order of insertion.
type resourceSet struct{ list []*Resource }

func (s *resourceSet) add(r *Resource) { s.list = append(s.list, r) }

func (s *resourceSet) remove(r *Resource) bool {
	n := slices.Index(s.list, r)
	if n >= 0 {
		s.list = slices.Delete(s.list, n, n+1)
	}
	return n >= 0
}
