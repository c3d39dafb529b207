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

// isInScopes reports whether all scopes of a quota match an object.
func isInScopes(q *corev1.ResourceQuota, obj api.Object, x Exclusions) (bool, error) {
	for _, s := range scopesOf(&q.Spec) {
		if in, err := inScope(s, obj, x); err != nil || !in {
			return false, err
		}
	}
	return true, nil
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
	terminating := isTerminating(pod)
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

// isTerminating reports whether the scope Terminating matches a pod.
func isTerminating(pod *corev1.Pod) bool {
	return pod.Spec.ActiveDeadlineSeconds != nil && *pod.Spec.ActiveDeadlineSeconds >= 0
}

// claimInScope reports whether a scope selects one of the attributes classes of a claim.
func claimInScope(s corev1.ScopedResourceSelectorRequirement, c *corev1.PersistentVolumeClaim) (bool, error) {
	classes := attributesClasses(c)
	if len(classes) == 0 {
		return scopeSelects(s, "")
	}
	for _, class := range classes {
		if in, err := scopeSelects(s, class); in || err != nil {
			return in, err
		}
	}
	return false, nil
}

// attributesClasses returns the names of the attributes classes that a claim requests, has, and is being
// changed to.
func attributesClasses(c *corev1.PersistentVolumeClaim) []string {
	classes := []*string{c.Spec.VolumeAttributesClassName, c.Status.CurrentVolumeAttributesClassName}
	if m := c.Status.ModifyVolumeStatus; m != nil {
		classes = append(classes, &m.TargetVolumeAttributesClassName)
	}
	var named []string
	for _, class := range classes {
		if class != nil && *class != "" {
			named = append(named, *class)
		}
	}
	return named
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
