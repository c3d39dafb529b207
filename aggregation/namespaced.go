package aggregation

import (
	"cmp"
	"slices"

	"k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// RemoteResource is a namespaced resource of a remote server.
type RemoteResource struct {
	schema.GroupVersionResource
	Verbs []string
}

// NamespacedResources returns the namespaced resources of all remote servers, each in the
// version of the highest priority, and the group versions whose servers could not be asked
// what they serve.
func (s *Services) NamespacedResources() (resources []RemoteResource, stale []schema.GroupVersion) {
	if s == nil {
		return nil, nil
	}
	s.rlock()
	remotes := make([]*Remote, 0, len(s.remotes))
	for _, r := range s.remotes {
		remotes = append(remotes, r)
	}
	s.mu.RUnlock()
	slices.SortFunc(remotes, func(a, b *Remote) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(b.Priority.Version, a.Priority.Version), cmp.Compare(a.Version, b.Version))
	})
	seen := map[schema.GroupResource]bool{}
	for _, r := range remotes {
		doc := r.document.Load()
		if doc == nil || doc.Freshness == v2.DiscoveryFreshnessStale {
			stale = append(stale, r.GroupVersion)
			continue
		}
		for _, d := range doc.Resources {
			gvr := r.WithResource(d.Resource)
			if d.Scope != v2.ScopeNamespace || seen[gvr.GroupResource()] {
				continue
			}
			seen[gvr.GroupResource()] = true
			resources = append(resources, RemoteResource{gvr, d.Verbs})
		}
	}
	return resources, stale
}
