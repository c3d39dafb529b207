package api

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tidwall/btree"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Catalogue is an index of resources. Reading it is safe for concurrent use and
// takes no lock. Change takes resources out and puts others in, at once for all
// readers, and costs what the groups of these cost: thousands of kinds may be in
// others.
type Catalogue struct {
	mu      sync.Mutex // held by who changes it
	working index      // what changes are made to; its trees are not the published ones
	current atomic.Pointer[index]
}

// index is one state of a catalogue. It is never changed.
type index struct {
	groups btree.Map[string, *group]
	// first are the resources that the catalogue was made of, in their order; more
	// those that came later, by what tells them apart.
	first []*Resource
	more  btree.Map[string, *Resource]
	// prefixes tell who has which place in etcd.
	prefixes btree.Map[string, *Resource]

	state   *state
	all     atomic.Pointer[[]*Resource] // of first and more, made when it is asked for
	ordered atomic.Pointer[[]Group]     // groups in the order of discovery, likewise

	// replaced is closed when next is in its place, by taking resources out and
	// putting others in.
	replaced chan struct{}
	next     *index
	out, in  []*Resource
}

// state is what others tell an index by. They do not hold the index itself, which
// leads to all that come after it.
type state struct{ _ byte }

// New makes a catalogue. It fails when two resources have the same name, kind
// or place in etcd, or when one lacks what every resource must have.
func New(resources ...*Resource) (*Catalogue, error) {
	c := &Catalogue{}
	c.current.Store(&index{replaced: make(chan struct{})})
	if err := c.Replace(resources...); err != nil {
		return nil, err
	}
	return c, nil
}

// Replace makes resources all that the catalogue holds. On an error it stays
// as it was.
func (c *Catalogue) Replace(resources ...*Resource) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.Resources()
	next := &index{first: slices.Clone(resources)}
	if err := next.put(resources); err != nil {
		return err
	}
	c.publish(next, slices.Clone(before), next.first)
	return nil
}

// Change takes resources out and puts others in. A resource may be both: discovery
// then looks at it again. On an error the catalogue stays as it was.
func (c *Catalogue) Change(out, in []*Resource) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := c.working.copy()
	next.take(out)
	if err := next.put(in); err != nil {
		return err
	}
	for _, r := range in {
		next.more.Set(r.id(), r)
	}
	c.publish(next, slices.Clone(out), slices.Clone(in))
	return nil
}

// publish puts a state in the place of the one before; c.mu is held.
func (c *Catalogue) publish(next *index, out, in []*Resource) {
	// What readers have shares nothing with what is changed next, but nodes of
	// trees that are copied before.
	c.working = index{groups: *next.groups.Copy(), first: next.first, more: *next.more.Copy(), prefixes: *next.prefixes.Copy()}
	next.replaced, next.state = make(chan struct{}), new(state)
	before := c.current.Swap(next)
	before.next, before.out, before.in = next, out, in
	close(before.replaced)
}

// copy is a state that can be changed without i being changed.
func (i *index) copy() *index {
	return &index{groups: *i.groups.Copy(), first: i.first, more: *i.more.Copy(), prefixes: *i.prefixes.Copy()}
}

// id tells resources apart that are in a catalogue.
func (r *Resource) id() string {
	return r.Versions[0].Group + "/" + r.Name
}

// take takes resources out.
func (i *index) take(out []*Resource) {
	for _, r := range out {
		i.prefixes.Delete(r.Storage.Prefix)
		if is, ok := i.more.Get(r.id()); ok && is == r {
			i.more.Delete(r.id())
			continue
		}
		i.first = slices.DeleteFunc(slices.Clone(i.first), func(is *Resource) bool { return is == r })
	}
	for name, of := range byGroup(out) {
		g, ok := i.groups.Get(name)
		if !ok {
			continue
		}
		left := slices.DeleteFunc(slices.Clone(g.resources), func(r *Resource) bool { return slices.Contains(of, r) })
		if len(left) == 0 {
			i.groups.Delete(name)
			continue
		}
		g, _ = newGroup(name, left) // which are fewer than were all right before
		i.groups.Set(name, g)
	}
}

// put puts resources in, all but into first and more.
func (i *index) put(in []*Resource) error {
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
	for name, of := range byGroup(in) {
		if g, ok := i.groups.Get(name); ok {
			of = slices.Concat(g.resources, of)
		}
		g, err := newGroup(name, of)
		if err != nil {
			return err
		}
		i.groups.Set(name, g)
	}
	return nil
}

// Lookup finds a served resource by its name in paths.
func (c *Catalogue) Lookup(gv schema.GroupVersion, resource string) (*Resource, *Version, bool) {
	g, ok := c.current.Load().groups.Get(gv.Group)
	if !ok {
		return nil, nil, false
	}
	e, ok := g.names[versioned{gv.Version, resource}]
	return e.resource, e.version, ok
}

// Kind finds a resource by the kind of its objects, also in versions that can
// only be read from etcd (Version.NotServed).
func (c *Catalogue) Kind(gv schema.GroupVersion, kind string) (*Resource, *Version, bool) {
	g, ok := c.current.Load().groups.Get(gv.Group)
	if !ok {
		return nil, nil, false
	}
	e, ok := g.kinds[versioned{gv.Version, kind}]
	return e.resource, e.version, ok
}

// Resources are all that the catalogue holds, each once. The slice must not be
// changed.
func (c *Catalogue) Resources() []*Resource { return c.current.Load().resources() }

func (i *index) resources() []*Resource {
	if all := i.all.Load(); all != nil {
		return *all
	}
	all := slices.Concat(i.first, i.more.Values())
	i.all.Store(&all)
	return all
}

// State tells one set of resources from another: it is equal to what it was as
// long as nothing was changed. It is what documents made from a catalogue are
// kept by.
func (c *Catalogue) State() any { return c.current.Load().state }

// Groups are the served groups in the order of discovery, the core group (the
// one with no name) first. The slice must not be changed.
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

// Group finds a served group by its name.
func (c *Catalogue) Group(name string) (Group, bool) {
	if g, ok := c.current.Load().groups.Get(name); ok && len(g.Versions) > 0 {
		return g.Group, true
	}
	return Group{}, false
}

// In lists the resources of one served version in the order of discovery. The
// slice must not be changed; it is empty when the version is not served.
func (c *Catalogue) In(gv schema.GroupVersion) []*Resource {
	if g, ok := c.current.Load().groups.Get(gv.Group); ok {
		return g.lists[gv.Version]
	}
	return nil
}

// Follower tells what changes in a catalogue. It is for one goroutine.
type Follower struct {
	from *Catalogue
	seen *index
}

// Follow makes a Follower that has seen nothing yet.
func (c *Catalogue) Follow() *Follower { return &Follower{from: c} }

// Changed is closed when there is something for Next to tell, which was called
// before.
func (f *Follower) Changed() <-chan struct{} { return f.seen.replaced }

// Next returns which resources went out and came in since the last call: at the
// first, all that there are came in.
func (f *Follower) Next() (out, in []*Resource) {
	if f.seen == nil {
		f.seen = f.from.current.Load()
		return nil, f.seen.resources()
	}
	var gone, come resourceSet
	for {
		select {
		case <-f.seen.replaced:
		default:
			return gone.list, come.list
		}
		for _, r := range f.seen.out {
			if !come.remove(r) {
				gone.add(r)
			}
		}
		for _, r := range f.seen.in {
			if !gone.remove(r) {
				come.add(r)
			}
		}
		f.seen = f.seen.next
	}
}

// resourceSet is a set in the order in which things came.
type resourceSet struct{ list []*Resource }

func (s *resourceSet) add(r *Resource) { s.list = append(s.list, r) }

func (s *resourceSet) remove(r *Resource) bool {
	n := slices.Index(s.list, r)
	if n >= 0 {
		s.list = slices.Delete(s.list, n, n+1)
	}
	return n >= 0
}
