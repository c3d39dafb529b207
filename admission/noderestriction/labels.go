package noderestriction

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

// node allows a node to change only its own Node, and no field that attracts pods to it.
func (n nodeRestrictionPlugin) node(_ context.Context, a *registry.Attributes, node string) error {
	name := a.Name
	if a.Verb == api.VerbCreate {
		name = a.Object.GetName()
	}
	if name != node {
		return admission.Forbiddenf(a, "node %q is not allowed to modify node %q", node, name)
	}
	current, _ := a.Object.(*corev1.Node)
	switch a.Verb {
	case api.VerbCreate:
		if current.Spec.ConfigSource != nil {
			return admission.Forbiddenf(a, "node %q is not allowed to create pods with a non-nil configSource", node)
		}
		if f := forbiddenLabels(changedLabels(current.Labels, nil)); len(f) > 0 {
			return admission.Forbiddenf(a, "node %q is not allowed to set the following labels: %s", node, strings.Join(f, ", "))
		}
	case api.VerbUpdate:
		old := a.Old.(*corev1.Node)
		switch {
		case current.Spec.ConfigSource != nil && !equality.Semantic.DeepEqual(current.Spec.ConfigSource, old.Spec.ConfigSource):
			return admission.Forbiddenf(a, "node %q is not allowed to update configSource to a new non-nil configSource", node)
		case !equality.Semantic.DeepEqual(current.Spec.Taints, old.Spec.Taints):
			return admission.Forbiddenf(a, "node %q is not allowed to modify taints", node)
		case !equality.Semantic.DeepEqual(current.OwnerReferences, old.OwnerReferences):
			return admission.Forbiddenf(a, "node %q is not allowed to modify ownerReferences", node)
		}
		if f := forbiddenLabels(changedLabels(current.Labels, old.Labels)); len(f) > 0 {
			return admission.Forbiddenf(a, "is not allowed to modify labels: %s", strings.Join(f, ", "))
		}
	}
	return nil
}

// changedLabels returns the sorted keys of added, changed and removed labels.
func changedLabels(current, old map[string]string) (keys []string) {
	for key, value := range current {
		if before, ok := old[key]; !ok || before != value {
			keys = append(keys, key)
		}
	}
	for key := range old {
		if _, ok := current[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// kubeletLabels are the Kubernetes labels that kubelets may set. In kubeletDomains they may set any
// label.
var (
	kubeletLabels = []string{
		corev1.LabelHostname, corev1.LabelTopologyZone, corev1.LabelTopologyRegion,
		corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion,
		corev1.LabelInstanceType, corev1.LabelInstanceTypeStable, corev1.LabelOSStable, corev1.LabelArchStable,
		"beta.kubernetes.io/os", "beta.kubernetes.io/arch", corev1.LabelWindowsBuild,
	}
	kubeletDomains = []string{"kubelet.kubernetes.io", "node.kubernetes.io"}
)

// forbiddenLabels returns the keys that a kubelet may not set.
func forbiddenLabels(keys []string) []string {
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
