package aggregation

import (
	"cmp"
	"slices"

	"k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/coldsort"
)

// Generation returns a number that changes whenever a result of Merge may change.
func (s *Services) Generation() uint64 {
	if s == nil {
		return 0
	}
	s.rlock()
	defer s.mu.RUnlock()
	return s.changes
}

// Groups returns all groups in the order of discovery: those of the APIServices, and served
// custom kinds whose APIService was not created yet. The group of APIServices is included
// even without APIServices.
func (s *Services) Groups(served []api.Group) []api.Group {
	if s == nil {
		return served
	}
	return groupsInOrder(s.apiServices(served, func(string) bool { return true }))
}

// Group returns a group by name. served is this server's own group, used if there is no
// APIService.
func (s *Services) Group(name string, served api.Group, ok bool) (api.Group, bool) {
	if s == nil {
		return served, ok
	}
	var here []api.Group
	if ok {
		here = []api.Group{served}
	}
	if found := groupsInOrder(s.apiServices(here, func(group string) bool { return group == name })); len(found) > 0 {
		return found[0], true
	}
	return served, ok
}

// apiServices returns the APIServices of the groups for which inGroup returns true, with
// substitutes for APIServices that were not created yet.
func (s *Services) apiServices(served []api.Group, inGroup func(group string) bool) []*apiServiceEntry {
	s.rlock()
	defer s.mu.RUnlock()
	var all []*apiServiceEntry
	for _, e := range s.entries {
		if inGroup(e.Group) {
			all = append(all, e)
		}
	}
	for _, g := range served {
		for _, gv := range g.Versions {
			if name := gv.Version + "." + gv.Group; s.entries[name] == nil && (!g.Kubernetes() || g.Name == api.RegistrationGroup) {
				all = append(all, &apiServiceEntry{name, gv, api.PriorityOf(gv)})
			}
		}
	}
	return all
}

// groupsInOrder returns the groups of the APIServices in the order of discovery: groups by their
// highest priority and then by name, versions by their priority and age.
func groupsInOrder(all []*apiServiceEntry) []api.Group {
	slices.SortFunc(all, func(a, b *apiServiceEntry) int {
		return cmp.Or(cmp.Compare(b.priority.Group, a.priority.Group), cmp.Compare(a.name, b.name))
	})
	var out []api.Group
	at := map[string]int{}
	versions := map[schema.GroupVersion]int32{}
	for _, e := range all {
		i, ok := at[e.Group]
		if !ok {
			i = len(out)
			at[e.Group] = i
			out = append(out, api.Group{Name: e.Group})
		}
		out[i].Versions = append(out[i].Versions, e.GroupVersion)
		versions[e.GroupVersion] = e.priority.Version
	}
	for _, g := range out {
		coldsort.Func(g.Versions, func(a, b schema.GroupVersion) int {
			return cmp.Or(cmp.Compare(versions[b], versions[a]), version.CompareKubeAwareVersionStrings(b.Version, a.Version))
		})
	}
	return out
}

// NoRemotes reports whether there are no remote servers.
func (s *Services) NoRemotes() bool {
	if s == nil {
		return true
	}
	s.rlock()
	defer s.mu.RUnlock()
	return len(s.remotes) == 0
}

// Merge adds the discovery documents of remote servers to the groups that this server
// serves, and sorts all in the order of discovery.
func (s *Services) Merge(groups []v2.APIGroupDiscovery) []v2.APIGroupDiscovery {
	if s == nil {
		return groups
	}
	s.rlock()
	remotes := make([]*Remote, 0, len(s.remotes))
	for _, r := range s.remotes {
		remotes = append(remotes, r)
	}
	s.mu.RUnlock()
	if len(remotes) == 0 {
		return groups
	}
	at := map[string]int{}
	for i := range groups {
		at[groups[i].Name] = i
	}
	priorities := map[schema.GroupVersion]api.Priority{}
	for _, r := range remotes {
		doc := r.document.Load()
		if doc == nil || r.Group == "" {
			continue // not fetched yet
		}
		i, ok := at[r.Group]
		if !ok {
			i = len(groups)
			at[r.Group] = i
			groups = append(groups, v2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: r.Group}})
		}
		g := &groups[i]
		g.Versions = slices.DeleteFunc(g.Versions, func(v v2.APIVersionDiscovery) bool { return v.Version == r.Version })
		g.Versions = append(g.Versions, doc.APIVersionDiscovery)
		priorities[r.GroupVersion] = r.Priority
	}
	sortGroups(groups, func(gv schema.GroupVersion) api.Priority {
		if p, ok := priorities[gv]; ok {
			return p
		}
		return api.PriorityOf(gv)
	})
	return groups
}

// sortGroups sorts groups by the highest priority of their versions, and versions by their own
// priority.
func sortGroups(groups []v2.APIGroupDiscovery, priorityOf func(schema.GroupVersion) api.Priority) {
	highest := map[string]int32{}
	for _, g := range groups {
		for _, v := range g.Versions {
			highest[g.Name] = max(highest[g.Name], priorityOf(schema.GroupVersion{Group: g.Name, Version: v.Version}).Group)
		}
		coldsort.Func(g.Versions, func(a, b v2.APIVersionDiscovery) int {
			return cmp.Or(
				cmp.Compare(priorityOf(schema.GroupVersion{Group: g.Name, Version: b.Version}).Version,
					priorityOf(schema.GroupVersion{Group: g.Name, Version: a.Version}).Version),
				version.CompareKubeAwareVersionStrings(b.Version, a.Version))
		})
	}
	coldsort.Func(groups, func(a, b v2.APIGroupDiscovery) int {
		return cmp.Or(cmp.Compare(highest[b.Name], highest[a.Name]), cmp.Compare(a.Name, b.Name))
	})
}
