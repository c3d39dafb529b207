package api

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
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
}

// Preferred is the version that clients with no opinion should use.
func (g Group) Preferred() schema.GroupVersion { return g.Versions[0] }

// Kubernetes tells a group of Kubernetes itself from one that arrived at run
// time.
func (g Group) Kubernetes() bool { return KubernetesGroup(g.Name) }

// arrange sorts what is served for discovery: groups and versions by priority,
// then groups by name and versions with the newest stable one first, and
// resources by name. The core group, which has a document of its own, is the
// first.
func arrange(resources []*Resource) ([]Group, map[schema.GroupVersion][]*Resource) {
	lists := map[schema.GroupVersion][]*Resource{}
	for _, r := range resources {
		for i := range r.Versions {
			if v := &r.Versions[i]; !v.NotServed {
				lists[v.GroupVersion] = append(lists[v.GroupVersion], r.form(v))
			}
		}
	}
	byGroup := map[string][]schema.GroupVersion{}
	for gv, list := range lists {
		slices.SortFunc(list, func(a, b *Resource) int { return cmp.Compare(a.Name, b.Name) })
		byGroup[gv.Group] = append(byGroup[gv.Group], gv)
	}
	var groups []Group
	for name, versions := range byGroup {
		slices.SortFunc(versions, func(a, b schema.GroupVersion) int {
			return cmp.Or(cmp.Compare(PriorityOf(b).Version, PriorityOf(a).Version), version.CompareKubeAwareVersionStrings(b.Version, a.Version))
		})
		groups = append(groups, Group{Name: name, Versions: versions})
	}
	slices.SortFunc(groups, func(a, b Group) int {
		if a.Name == "" || b.Name == "" {
			return cmp.Compare(a.Name, b.Name)
		}
		return cmp.Or(cmp.Compare(groupPriority(b.Name), groupPriority(a.Name)), cmp.Compare(a.Name, b.Name))
	})
	return groups, lists
}

// StorageVersionHash tells clients which version is stored, without telling
// them its name. It is empty for resources that are not stored.
func StorageVersionHash(r *Resource) string {
	if r.Virtual != nil {
		return ""
	}
	// The hash is over the version whose form the value has, which is what
	// kube-apiserver calls the resource's encoding version.
	gv := r.StoredVersion()
	sum := sha256.Sum256([]byte(gv.Group + "/" + gv.Version + "/" + r.Kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}
