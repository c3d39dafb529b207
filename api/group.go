package api

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/miniapiserver/miniapiserver/internal/coldsort"
)

// Group is one API group in discovery.
type Group struct {
	// Name is empty for the core group.
	Name string
	// Versions are the served versions, the preferred one first.
	Versions []schema.GroupVersion

	members *group
}

// Kubernetes reports whether the group is built in, not one of custom kinds.
func (g Group) Kubernetes() bool { return KubernetesGroup(g.Name) }

// State returns a value that is equal as long as the resources of the group don't change.
func (g Group) State() any { return g.members }

// In returns the resources of a version of the group in the order of discovery. The slice must
// not be changed.
func (g Group) In(version string) []*Resource {
	if g.members == nil {
		return nil
	}
	return g.members.lists[version]
}

// compareGroups defines the order of discovery: by priority, then by name. The core group,
// which has a discovery document of its own, comes first.
func compareGroups(a, b Group) int {
	if a.Name == "" || b.Name == "" {
		return cmp.Compare(a.Name, b.Name)
	}
	return cmp.Or(cmp.Compare(groupPriority(b.Name), groupPriority(a.Name)), cmp.Compare(a.Name, b.Name))
}

// group is the part of an index for one API group. It is immutable.
type group struct {
	Group     // without versions if none is served
	resources []*Resource
	names     map[versioned]entry
	kinds     map[versioned]entry
	lists     map[string][]*Resource
}

// versioned is the name of a resource or a kind, and its version.
type versioned struct{ version, name string }

type entry struct {
	resource *Resource
	version  *Version
}

// byGroup groups resources by the API groups of their versions.
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

// newGroup returns the group of a name; resources are all those with a version in it.
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
	g.members = g
	return g, nil
}

func (g *group) add(r *Resource) error {
	if len(r.Forms()) > 0 {
		for _, form := range r.Forms() {
			if err := g.addVersions(form, 1); err != nil {
				return err
			}
		}
		return nil
	}
	return g.addVersions(r, len(r.Versions))
}

// addVersions adds the first versions of a resource, as many as first says, as far as they
// belong to the group.
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

// arrange sorts the served versions and resources for discovery: versions by priority, then
// stable and newer ones first; resources by name. As in kube-apiserver, discovery does not list a custom
// kind in a version of built-in ones, although it is served.
func (g *group) arrange() {
	for name, list := range g.lists {
		if slices.ContainsFunc(list, func(r *Resource) bool { return !r.IsCustom() }) {
			list = slices.DeleteFunc(list, func(r *Resource) bool { return r.IsCustom() })
			g.lists[name] = list
		}
		slices.SortFunc(list, func(a, b *Resource) int { return cmp.Compare(a.Name, b.Name) })
		g.Versions = append(g.Versions, schema.GroupVersion{Group: g.Name, Version: name})
	}
	coldsort.Func(g.Versions, func(a, b schema.GroupVersion) int {
		return cmp.Or(cmp.Compare(PriorityOf(b).Version, PriorityOf(a).Version), version.CompareKubeAwareVersionStrings(b.Version, a.Version))
	})
}

// complete returns an error if a required field of the resource is missing.
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
	if r.Verbs == nil {
		r.Verbs = AllVerbs
	}
	for i := range r.Versions {
		if v := &r.Versions[i]; v.Deprecated == nil && r.Deprecated != "" {
			v.Deprecated = &Deprecation{Warning: r.Deprecated}
		}
	}
	return nil
}
