package quota

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/miniapiserver/miniapiserver/api"
)

// scopesOf returns the scopes of a quota as selector requirements.
func scopesOf(spec *corev1.ResourceQuotaSpec) []corev1.ScopedResourceSelectorRequirement {
	var out []corev1.ScopedResourceSelectorRequirement
	for _, s := range spec.Scopes {
		out = append(out, corev1.ScopedResourceSelectorRequirement{ScopeName: s, Operator: corev1.ScopeSelectorOpExists})
	}
	if spec.ScopeSelector != nil {
		out = append(out, spec.ScopeSelector.MatchExpressions...)
	}
	return out
}

// inScope reports whether a scope matches an object. Scopes of other kinds do not match.
func inScope(s corev1.ScopedResourceSelectorRequirement, obj api.Object, x Exclusions) (bool, error) {
	switch o := obj.(type) {
	case *corev1.Pod:
		return podInScope(s, o)
	case *corev1.PersistentVolumeClaim:
		if s.ScopeName == corev1.ResourceQuotaScopeVolumeAttributesClass && !x.AttributesClasses {
			return claimInScope(s, o)
		}
	}
	return false, nil
}

func podInScope(s corev1.ScopedResourceSelectorRequirement, pod *corev1.Pod) (bool, error) {
	terminating := pod.Spec.ActiveDeadlineSeconds != nil && *pod.Spec.ActiveDeadlineSeconds >= 0
	bestEffort := pod.Status.QOSClass == corev1.PodQOSBestEffort
	switch s.ScopeName {
	case corev1.ResourceQuotaScopeTerminating:
		return terminating, nil
	case corev1.ResourceQuotaScopeNotTerminating:
		return !terminating, nil
	case corev1.ResourceQuotaScopeBestEffort:
		return bestEffort, nil
	case corev1.ResourceQuotaScopeNotBestEffort:
		return !bestEffort, nil
	case corev1.ResourceQuotaScopePriorityClass:
		return scopeSelects(s, pod.Spec.PriorityClassName)
	case corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		return hasCrossNamespaceAffinity(pod.Spec.Affinity), nil
	}
	return false, nil
}

// claimInScope matches the attributes classes that a claim requests, has, and is being changed to.
func claimInScope(s corev1.ScopedResourceSelectorRequirement, c *corev1.PersistentVolumeClaim) (bool, error) {
	classes := []*string{c.Spec.VolumeAttributesClassName, c.Status.CurrentVolumeAttributesClassName}
	if m := c.Status.ModifyVolumeStatus; m != nil {
		classes = append(classes, &m.TargetVolumeAttributesClassName)
	}
	named := false
	for _, class := range classes {
		if class == nil || *class == "" {
			continue
		}
		named = true
		if in, err := scopeSelects(s, *class); in || err != nil {
			return in, err
		}
	}
	if named {
		return false, nil
	}
	return scopeSelects(s, "")
}

// scopeSelects reports whether a scope selects a name. An empty name is like a missing label.
func scopeSelects(s corev1.ScopedResourceSelectorRequirement, name string) (bool, error) {
	operators := map[corev1.ScopeSelectorOperator]selection.Operator{
		corev1.ScopeSelectorOpIn: selection.In, corev1.ScopeSelectorOpNotIn: selection.NotIn,
		corev1.ScopeSelectorOpExists: selection.Exists, corev1.ScopeSelectorOpDoesNotExist: selection.DoesNotExist,
	}
	op, ok := operators[s.Operator]
	if !ok {
		return false, fmt.Errorf("%q is not a valid scope selector operator", s.Operator)
	}
	r, err := labels.NewRequirement(string(s.ScopeName), op, s.Values)
	if err != nil {
		return false, err
	}
	set := labels.Set{}
	if name != "" {
		set[string(s.ScopeName)] = name
	}
	return r.Matches(set), nil
}

// hasCrossNamespaceAffinity reports whether a pod's affinity selects pods in other namespaces.
func hasCrossNamespaceAffinity(a *corev1.Affinity) bool {
	if a == nil {
		return false
	}
	var required []corev1.PodAffinityTerm
	var preferred []corev1.WeightedPodAffinityTerm
	if p := a.PodAffinity; p != nil {
		required = append(required, p.RequiredDuringSchedulingIgnoredDuringExecution...)
		preferred = append(preferred, p.PreferredDuringSchedulingIgnoredDuringExecution...)
	}
	if p := a.PodAntiAffinity; p != nil {
		required = append(required, p.RequiredDuringSchedulingIgnoredDuringExecution...)
		preferred = append(preferred, p.PreferredDuringSchedulingIgnoredDuringExecution...)
	}
	for _, w := range preferred {
		required = append(required, w.PodAffinityTerm)
	}
	return slices.ContainsFunc(required, func(t corev1.PodAffinityTerm) bool {
		return len(t.Namespaces) > 0 || t.NamespaceSelector != nil
	})
}
