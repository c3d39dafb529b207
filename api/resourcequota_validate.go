package api

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
)

func resourceQuotaRules(at *place, q *corev1.ResourceQuota) {
	spec := at.of("spec")
	quotaAmounts(spec.of("hard"), q.Spec.Hard)
	if len(q.Spec.Scopes) > 0 {
		quotaScopeRules(spec.of("scopes"), &q.Spec)
	}
	if q.Spec.ScopeSelector != nil {
		scopeSelectorRules(spec.of("scopeSelector").of("matchExpressions"), &q.Spec)
	}
}

// resourceQuotaChanges: what a quota counts stays what it was.
func resourceQuotaChanges(at *place, is, was *corev1.ResourceQuota) {
	resourceQuotaRules(at, is)
	same := func(a, b []corev1.ResourceQuotaScope) bool {
		return !slices.ContainsFunc(a, func(s corev1.ResourceQuotaScope) bool { return !slices.Contains(b, s) })
	}
	if !same(is.Spec.Scopes, was.Spec.Scopes) || !same(was.Spec.Scopes, is.Spec.Scopes) {
		at.of("spec").of("scopes").invalid(is.Spec.Scopes, validation.FieldImmutableErrorMsg)
	}
}

func resourceQuotaStatusRules(at *place, q, _ *corev1.ResourceQuota) {
	quotaAmounts(at.of("status").of("hard"), q.Status.Hard)
	quotaAmounts(at.of("status").of("used"), q.Status.Used)
}

func quotaAmounts(at *place, list corev1.ResourceList) {
	for _, name := range sortedKeys(list) {
		at := at.key(string(name))
		resourceName(at, name)
		if bare(name) && !quotaName(name) {
			at.invalid(name, "must be a standard resource for quota")
		}
		amount(at, name, list[name])
	}
}

func quotaScopeRules(at *place, s *corev1.ResourceQuotaSpec) {
	for _, scope := range s.Scopes {
		if !knownScope(scope) {
			at.invalid(s.Scopes, "unsupported scope")
		}
		for _, name := range sortedKeys(s.Hard) {
			if quotaName(name) && !scopeCounts(scope, name) {
				at.invalid(s.Scopes, "unsupported scope applied to resource")
			}
		}
	}
	scopeConflictRules(at, s, s.Scopes)
}

func scopeConflictRules(at *place, s *corev1.ResourceQuotaSpec, scopes []corev1.ResourceQuotaScope) {
	for _, pair := range [][2]corev1.ResourceQuotaScope{
		{corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort},
		{corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating},
	} {
		if slices.Contains(scopes, pair[0]) && slices.Contains(scopes, pair[1]) {
			at.invalid(s.Scopes, "conflicting scopes")
		}
	}
}

func scopeSelectorRules(at *place, s *corev1.ResourceQuotaSpec) {
	var scopes []corev1.ResourceQuotaScope
	for _, r := range s.ScopeSelector.MatchExpressions {
		if !knownScope(r.ScopeName) {
			at.of("scopeName").invalid(r.ScopeName, "unsupported scope")
		}
		for _, name := range sortedKeys(s.Hard) {
			if quotaName(name) && !scopeCounts(r.ScopeName, name) {
				at.invalid(s.ScopeSelector, "unsupported scope applied to resource")
			}
		}
		scopeOperatorRules(at, &r)
		scopes = append(scopes, r.ScopeName)
	}
	scopeConflictRules(at, s, scopes)
}

func scopeOperatorRules(at *place, r *corev1.ScopedResourceSelectorRequirement) {
	switch r.ScopeName {
	case corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort, corev1.ResourceQuotaScopeTerminating,
		corev1.ResourceQuotaScopeNotTerminating, corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		if r.Operator != corev1.ScopeSelectorOpExists {
			at.of("operator").invalid(r.Operator, "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "+
				"ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity")
		}
	}
	switch r.Operator {
	case corev1.ScopeSelectorOpIn, corev1.ScopeSelectorOpNotIn:
		if len(r.Values) == 0 {
			at.of("values").required("must be at least one value when `operator` is 'In' or 'NotIn' for scope selector")
		}
	case corev1.ScopeSelectorOpExists, corev1.ScopeSelectorOpDoesNotExist:
		if len(r.Values) > 0 {
			at.of("values").invalid(r.Values, "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector")
		}
	default:
		at.of("operator").invalid(r.Operator, "not a valid selector operator")
	}
}

func knownScope(s corev1.ResourceQuotaScope) bool {
	switch s {
	case corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating, corev1.ResourceQuotaScopeBestEffort,
		corev1.ResourceQuotaScopeNotBestEffort, corev1.ResourceQuotaScopePriorityClass,
		corev1.ResourceQuotaScopeCrossNamespacePodAffinity, corev1.ResourceQuotaScopeVolumeAttributesClass:
		return true
	}
	return false
}

// scopeCounts tells whether objects of a scope can be counted by a resource.
func scopeCounts(s corev1.ResourceQuotaScope, name corev1.ResourceName) bool {
	switch s {
	case corev1.ResourceQuotaScopeBestEffort:
		return name == corev1.ResourcePods
	case corev1.ResourceQuotaScopeVolumeAttributesClass:
		return name == corev1.ResourcePersistentVolumeClaims || name == corev1.ResourceRequestsStorage
	case corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating, corev1.ResourceQuotaScopeNotBestEffort,
		corev1.ResourceQuotaScopePriorityClass, corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		switch name {
		case corev1.ResourcePods, corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceRequestsCPU,
			corev1.ResourceRequestsMemory, corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory:
			return true
		}
		return false
	}
	return true
}
