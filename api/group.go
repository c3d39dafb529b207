package api

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// Group is one API group as discovery shows it.
type Group struct {
	// Name is empty for the core group.
	Name string
	// Versions that are served, the preferred one first.
	Versions []schema.GroupVersion

	of *group
}

// Preferred is the version that clients with no opinion should use.
func (g Group) Preferred() schema.GroupVersion { return g.Versions[0] }

// Kubernetes tells a group of Kubernetes itself from one that arrived at run
// time.
func (g Group) Kubernetes() bool { return KubernetesGroup(g.Name) }

// State tells one set of resources of a group from another, as Catalogue.State does
// for all.
func (g Group) State() any { return g.of }

// In lists the resources of a version of the group in the order of discovery. The
// slice must not be changed.
func (g Group) In(version string) []*Resource {
	if g.of == nil {
		return nil
	}
	return g.of.lists[version]
}

// compareGroups is the order of discovery: groups by priority, then by name. The
// core group, which has a document of its own, is the first.
func compareGroups(a, b Group) int {
	if a.Name == "" || b.Name == "" {
		return cmp.Compare(a.Name, b.Name)
	}
	return cmp.Or(cmp.Compare(groupPriority(b.Name), groupPriority(a.Name)), cmp.Compare(a.Name, b.Name))
}

// group is the part of an index that is about one group. It is never changed.
type group struct {
	Group     // has no versions when none is served
	resources []*Resource
	names     map[versioned]entry
	kinds     map[versioned]entry
	lists     map[string][]*Resource
}

// versioned is the name of a resource or a kind in a version.
type versioned struct{ version, name string }

type entry struct {
	resource *Resource
	version  *Version
}

// byGroup sorts resources by the groups that they have versions in.
func byGroup(resources []*Resource) map[string][]*Resource {
	out := map[string][]*Resource{}
	for _, r := range resources {
		for i := range r.Versions {
			name := r.Versions[i].Group
			if list := out[name]; len(list) == 0 || list[len(list)-1] != r {
				out[name] = append(list, r)
			}
		}
	}
	return out
}

// newGroup makes what there is to know of a group whose resources are all those
// that have versions in it.
func newGroup(name string, resources []*Resource) (*group, error) {
	g := &group{
		Group: Group{Name: name}, resources: resources,
		names: make(map[versioned]entry, len(resources)), kinds: make(map[versioned]entry, len(resources)),
		lists: map[string][]*Resource{},
	}
	for _, r := range resources {
		if err := g.add(r); err != nil {
			return nil, err
		}
	}
	g.arrange()
	g.of = g
	return g, nil
}

func (g *group) add(r *Resource) error {
	if len(r.Forms) > 0 {
		for _, form := range r.Forms {
			if err := g.addVersions(form, 1); err != nil {
				return err
			}
		}
		return nil
	}
	return g.addVersions(r, len(r.Versions))
}

// addVersions adds those of the first versions of a resource that are of the group.
func (g *group) addVersions(r *Resource, first int) error {
	for n := range first {
		v := &r.Versions[n]
		if v.Group != g.Name {
			continue
		}
		kind, name := versioned{v.Version, r.Kind}, versioned{v.Version, r.Name}
		if _, ok := g.kinds[kind]; ok {
			return fmt.Errorf("resource %q: kind %s is in %s already", r.Name, r.Kind, v.GroupVersion)
		}
		g.kinds[kind] = entry{r, v}
		if v.NotServed {
			continue
		}
		if _, ok := g.names[name]; ok {
			return fmt.Errorf("resource %q is in %s already", r.Name, v.GroupVersion)
		}
		g.names[name] = entry{r, v}
		g.lists[v.Version] = append(g.lists[v.Version], r)
	}
	return nil
}

// arrange sorts what is served for discovery: versions by priority, then with the
// newest stable one first, and resources by name.
func (g *group) arrange() {
	for name, list := range g.lists {
		slices.SortFunc(list, func(a, b *Resource) int { return cmp.Compare(a.Name, b.Name) })
		g.Versions = append(g.Versions, schema.GroupVersion{Group: g.Name, Version: name})
	}
	slices.SortFunc(g.Versions, func(a, b schema.GroupVersion) int {
		return cmp.Or(cmp.Compare(PriorityOf(b).Version, PriorityOf(a).Version), version.CompareKubeAwareVersionStrings(b.Version, a.Version))
	})
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
	case r.Storage.Prefix == "" && r.Virtual == nil:
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
