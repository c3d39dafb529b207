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

// KubernetesGroup tells whether a group is one of Kubernetes itself.
func KubernetesGroup(name string) bool { return groupRank(name) < groupRank("\x00") }

// groupRank is the place of a group in discovery: built-in groups in the order
// that kube-apiserver gives them by their priorities, all others behind them.
func groupRank(name string) int {
	order := [...]string{
		"",
		"apiregistration.k8s.io",
		"apps",
		"events.k8s.io",
		"authentication.k8s.io",
		"authorization.k8s.io",
		"autoscaling",
		"batch",
		"certificates.k8s.io",
		"networking.k8s.io",
		"policy",
		"rbac.authorization.k8s.io",
		"storage.k8s.io",
		"admissionregistration.k8s.io",
		"apiextensions.k8s.io",
		"scheduling.k8s.io",
		"coordination.k8s.io",
		"node.k8s.io",
		"discovery.k8s.io",
		"resource.k8s.io",
		"flowcontrol.apiserver.k8s.io",
	}
	if i := slices.Index(order[:], name); i >= 0 {
		return i
	}
	return len(order)
}

// arrange sorts what is served for discovery: groups by rank and name, versions
// with the newest stable one first, resources by name.
func arrange(resources []*Resource) ([]Group, map[schema.GroupVersion][]*Resource) {
	lists := map[schema.GroupVersion][]*Resource{}
	for _, r := range resources {
		for _, v := range r.Versions {
			if !v.NotServed {
				lists[v.GroupVersion] = append(lists[v.GroupVersion], r)
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
			return version.CompareKubeAwareVersionStrings(b.Version, a.Version)
		})
		groups = append(groups, Group{Name: name, Versions: versions})
	}
	slices.SortFunc(groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(groupRank(a.Name), groupRank(b.Name)), cmp.Compare(a.Name, b.Name))
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
