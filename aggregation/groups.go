package aggregation

import (
	"cmp"
	"slices"

	"k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/miniapiserver/miniapiserver/api"
)

// State tells one result of Merge from another.
func (s *Services) State() uint64 {
	if s == nil {
		return 0
	}
	s.rlock()
	defer s.mu.RUnlock()
	return s.changes
}

// Groups are those that there are, in the order of discovery: those of APIServices,
// with the group of APIServices itself before them. Custom kinds are there as soon
// as they are served, and not only when their APIService is.
func (s *Services) Groups(served []api.Group) []api.Group {
	if s == nil {
		return served
	}
	return arrange(s.all(served, func(string) bool { return true }))
}

// Group finds a group by its name. What has no APIService is as it is served.
func (s *Services) Group(name string, served api.Group, ok bool) (api.Group, bool) {
	if s == nil {
		return served, ok
	}
	var here []api.Group
	if ok {
		here = []api.Group{served}
	}
	if found := arrange(s.all(here, func(group string) bool { return group == name })); len(found) > 0 {
		return found[0], true
	}
	return served, ok
}

// all are the APIServices of some groups, and what is as good as one.
func (s *Services) all(served []api.Group, of func(group string) bool) []*entry {
	s.rlock()
	defer s.mu.RUnlock()
	var all []*entry
	for _, e := range s.entries {
		if of(e.Group) {
			all = append(all, e)
		}
	}
	for _, g := range served {
		for _, gv := range g.Versions {
			if name := gv.Version + "." + gv.Group; s.entries[name] == nil && (!g.Kubernetes() || g.Name == api.RegistrationGroup) {
				all = append(all, &entry{name, gv, api.PriorityOf(gv)})
			}
		}
	}
	return all
}

// arrange puts APIServices in the order of discovery: groups where the one of the
// highest priority is, or that whose name comes first, and versions by theirs.
func arrange(all []*entry) []api.Group {
	slices.SortFunc(all, func(a, b *entry) int {
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
		slices.SortFunc(g.Versions, func(a, b schema.GroupVersion) int {
			return cmp.Or(cmp.Compare(versions[b], versions[a]), version.CompareKubeAwareVersionStrings(b.Version, a.Version))
		})
	}
	return out
}

// Alone tells that there are no other servers, and so nothing to merge.
func (s *Services) Alone() bool {
	if s == nil {
		return true
	}
	s.rlock()
	defer s.mu.RUnlock()
	return len(s.remotes) == 0
}

// Merge adds what remote servers serve to the groups that this one serves, and
// puts all in the order of discovery.
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
			continue // nobody has asked it yet
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
	order(groups, func(gv schema.GroupVersion) api.Priority {
		if p, ok := priorities[gv]; ok {
			return p
		}
		return api.PriorityOf(gv)
	})
	return groups
}

// order sorts groups by the highest priority of their versions, and versions by
// theirs.
func order(groups []v2.APIGroupDiscovery, of func(schema.GroupVersion) api.Priority) {
	highest := map[string]int32{}
	for _, g := range groups {
		for _, v := range g.Versions {
			highest[g.Name] = max(highest[g.Name], of(schema.GroupVersion{Group: g.Name, Version: v.Version}).Group)
		}
		slices.SortStableFunc(g.Versions, func(a, b v2.APIVersionDiscovery) int {
			return cmp.Or(
				cmp.Compare(of(schema.GroupVersion{Group: g.Name, Version: b.Version}).Version, of(schema.GroupVersion{Group: g.Name, Version: a.Version}).Version),
				version.CompareKubeAwareVersionStrings(b.Version, a.Version))
		})
	}
	slices.SortStableFunc(groups, func(a, b v2.APIGroupDiscovery) int {
		return cmp.Or(cmp.Compare(highest[b.Name], highest[a.Name]), cmp.Compare(a.Name, b.Name))
	})
}
