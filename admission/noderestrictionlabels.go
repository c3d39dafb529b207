package admission

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

// node: a node changes itself only, and nothing by which pods could be drawn to
// it.
func (n restriction) node(_ context.Context, a *registry.Attributes, node string) error {
	name := a.Name
	if a.Verb == api.VerbCreate {
		name = a.Object.GetName()
	}
	if name != node {
		return forbid(a, "node %q is not allowed to modify node %q", node, name)
	}
	is, _ := a.Object.(*corev1.Node)
	switch a.Verb {
	case api.VerbCreate:
		if is.Spec.ConfigSource != nil {
			return forbid(a, "node %q is not allowed to create pods with a non-nil configSource", node)
		}
		if f := notAKubelets(changedLabels(is.Labels, nil)); len(f) > 0 {
			return forbid(a, "node %q is not allowed to set the following labels: %s", node, strings.Join(f, ", "))
		}
	case api.VerbUpdate:
		old := a.Old.(*corev1.Node)
		switch {
		case is.Spec.ConfigSource != nil && !equality.Semantic.DeepEqual(is.Spec.ConfigSource, old.Spec.ConfigSource):
			return forbid(a, "node %q is not allowed to update configSource to a new non-nil configSource", node)
		case !equality.Semantic.DeepEqual(is.Spec.Taints, old.Spec.Taints):
			return forbid(a, "node %q is not allowed to modify taints", node)
		case !equality.Semantic.DeepEqual(is.OwnerReferences, old.OwnerReferences):
			return forbid(a, "node %q is not allowed to modify ownerReferences", node)
		}
		if f := notAKubelets(changedLabels(is.Labels, old.Labels)); len(f) > 0 {
			return forbid(a, "is not allowed to modify labels: %s", strings.Join(f, ", "))
		}
	}
	return nil
}

// changedLabels are the keys that were added, changed or taken away, in order.
func changedLabels(is, was map[string]string) (keys []string) {
	for key, value := range is {
		if before, ok := was[key]; !ok || before != value {
			keys = append(keys, key)
		}
	}
	for key := range was {
		if _, ok := is[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// kubeletLabels are those of Kubernetes' own that kubelets set, kubeletDomains
// those in which they may set what they like.
var (
	kubeletLabels = []string{
		corev1.LabelHostname, corev1.LabelTopologyZone, corev1.LabelTopologyRegion,
		corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion,
		corev1.LabelInstanceType, corev1.LabelInstanceTypeStable, corev1.LabelOSStable, corev1.LabelArchStable,
		"beta.kubernetes.io/os", "beta.kubernetes.io/arch", corev1.LabelWindowsBuild,
	}
	kubeletDomains = []string{"kubelet.kubernetes.io", "node.kubernetes.io"}
)

// notAKubelets are those of keys that a kubelet may not set.
func notAKubelets(keys []string) []string {
	in := func(domain string, domains ...string) bool {
		return slices.ContainsFunc(domains, func(d string) bool { return domain == d || strings.HasSuffix(domain, "."+d) })
	}
	return slices.DeleteFunc(keys, func(key string) bool {
		domain, _, prefixed := strings.Cut(key, "/")
		if !prefixed {
			domain = ""
		}
		switch {
		case in(domain, corev1.LabelNamespaceNodeRestriction):
			return false
		case !in(domain, "kubernetes.io", "k8s.io"):
			return true
		}
		return slices.Contains(kubeletLabels, key) || in(domain, kubeletDomains...)
	})
}
