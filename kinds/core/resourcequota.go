package core

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

// ResourceQuota describes the kind ResourceQuota, which limits the resources of a namespace.
func ResourceQuota() *api.Resource {
	return api.NewResource(api.Kind[*corev1.ResourceQuota]{
		Names: api.Names{
			Name: "resourcequotas", Singular: "resourcequota", Kind: "ResourceQuota",
			ShortNames: []string{"quota"},
			Namespaced: true,
		},
		Versions: api.Served(corev1.SchemeGroupVersion),
		Default: func(q *corev1.ResourceQuota) {
			validation.RoundToMillis(q.Spec.Hard)
			validation.RoundToMillis(q.Status.Hard)
			validation.RoundToMillis(q.Status.Used)
		},
		Storage: api.Storage{Prefix: "resourcequotas"},
		Checks: api.Checks(
			api.Metadata,
			api.Changes(resourceQuotaChanges),
			api.OnCreate(api.Rules(resourceQuotaRules)),
			api.Declared,
			api.OnCreate(api.Warn(resourceQuotaWarnings)),
		),
		Status: api.NewStatus(nil, api.Metadata, api.Changes(resourceQuotaStatusRules), api.Declared),
		Delete: api.Deletion{ReturnDeletedObject: true},
		Table:  api.Rows(resourceQuotaRow),
	})
}

func resourceQuotaRow(row *table.Row, q *corev1.ResourceQuota) {
	var requests, limits []string
	for _, name := range slices.Sorted(maps.Keys(q.Status.Hard)) {
		used, hard := q.Status.Used[name], q.Status.Hard[name]
		text := string(name) + ": " + used.String() + "/" + hard.String()
		if strings.HasPrefix(string(name), "limits.") {
			limits = append(limits, text)
		} else {
			requests = append(requests, text)
		}
	}
	row.Name(q.Name)
	row.Text("Request", "Request represents a minimum amount of cpu/memory that a container may consume.",
		strings.Join(requests, ", "))
	row.Text("Limit", "Limits control the maximum amount of cpu/memory that a container may use "+
		"independent of contention on the node.", strings.Join(limits, ", "))
	row.Age(q)
}

func resourceQuotaRules(at *validation.Path, q *corev1.ResourceQuota) {
	spec := at.Child("spec")
	quotaAmounts(spec.Child("hard"), q.Spec.Hard)
	if len(q.Spec.Scopes) > 0 {
		quotaScopeRules(spec.Child("scopes"), &q.Spec)
	}
	if q.Spec.ScopeSelector != nil {
		scopeSelectorRules(spec.Child("scopeSelector").Child("matchExpressions"), &q.Spec)
	}
}

// resourceQuotaChanges validates that the scopes of a quota don't change.
func resourceQuotaChanges(at *validation.Path, obj, old *corev1.ResourceQuota) {
	resourceQuotaRules(at, obj)
	same := func(a, b []corev1.ResourceQuotaScope) bool {
		return !slices.ContainsFunc(a, func(s corev1.ResourceQuotaScope) bool { return !slices.Contains(b, s) })
	}
	if !same(obj.Spec.Scopes, old.Spec.Scopes) || !same(old.Spec.Scopes, obj.Spec.Scopes) {
		at.Child("spec").Child("scopes").Invalid(obj.Spec.Scopes, apivalidation.FieldImmutableErrorMsg)
	}
}

func resourceQuotaStatusRules(at *validation.Path, q, _ *corev1.ResourceQuota) {
	quotaAmounts(at.Child("status").Child("hard"), q.Status.Hard)
	quotaAmounts(at.Child("status").Child("used"), q.Status.Used)
}

func quotaAmounts(at *validation.Path, list corev1.ResourceList) {
	for _, name := range validation.SortedKeys(list) {
		at := at.Key(string(name))
		validation.ResourceName(at, name)
		if validation.IsUnprefixed(name) && !validation.IsQuotaName(name) {
			at.Invalid(name, "must be a standard resource for quota")
		}
		validation.ResourceQuantity(at, name, list[name])
	}
}

func quotaScopeRules(at *validation.Path, s *corev1.ResourceQuotaSpec) {
	for _, scope := range s.Scopes {
		if !knownScope(scope) {
			at.Invalid(s.Scopes, "unsupported scope")
		}
		for _, name := range validation.SortedKeys(s.Hard) {
			if validation.IsQuotaName(name) && !scopeCounts(scope, name) {
				at.Invalid(s.Scopes, "unsupported scope applied to resource")
			}
		}
	}
	scopeConflictRules(at, s, s.Scopes)
}

func scopeConflictRules(at *validation.Path, s *corev1.ResourceQuotaSpec, scopes []corev1.ResourceQuotaScope) {
	for _, pair := range [][2]corev1.ResourceQuotaScope{
		{corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort},
		{corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating},
	} {
		if slices.Contains(scopes, pair[0]) && slices.Contains(scopes, pair[1]) {
			at.Invalid(s.Scopes, "conflicting scopes")
		}
	}
}

func scopeSelectorRules(at *validation.Path, s *corev1.ResourceQuotaSpec) {
	var scopes []corev1.ResourceQuotaScope
	for _, r := range s.ScopeSelector.MatchExpressions {
		if !knownScope(r.ScopeName) {
			at.Child("scopeName").Invalid(r.ScopeName, "unsupported scope")
		}
		for _, name := range validation.SortedKeys(s.Hard) {
			if validation.IsQuotaName(name) && !scopeCounts(r.ScopeName, name) {
				at.Invalid(s.ScopeSelector, "unsupported scope applied to resource")
			}
		}
		scopeOperatorRules(at, &r)
		scopes = append(scopes, r.ScopeName)
	}
	scopeConflictRules(at, s, scopes)
}

func scopeOperatorRules(at *validation.Path, r *corev1.ScopedResourceSelectorRequirement) {
	switch r.ScopeName {
	case corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort, corev1.ResourceQuotaScopeTerminating,
		corev1.ResourceQuotaScopeNotTerminating, corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		if r.Operator != corev1.ScopeSelectorOpExists {
			at.Child("operator").Invalid(r.Operator, "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "+
				"ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity")
		}
	}
	switch r.Operator {
	case corev1.ScopeSelectorOpIn, corev1.ScopeSelectorOpNotIn:
		if len(r.Values) == 0 {
			at.Child("values").Required("must be at least one value when `operator` is 'In' or 'NotIn' for scope selector")
		}
	case corev1.ScopeSelectorOpExists, corev1.ScopeSelectorOpDoesNotExist:
		if len(r.Values) > 0 {
			at.Child("values").Invalid(r.Values, "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector")
		}
	default:
		at.Child("operator").Invalid(r.Operator, "not a valid selector operator")
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

// scopeCounts reports whether a scope supports a resource.
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

// resourceQuotaWarnings warns about requests above limits.
func resourceQuotaWarnings(q *corev1.ResourceQuota) (warnings []string) {
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceStorage,
		corev1.ResourceEphemeralStorage} {
		requested, limited := "requests."+name, "limits."+name
		request, ok := q.Spec.Hard[requested]
		if !ok && (name == corev1.ResourceCPU || name == corev1.ResourceMemory) {
			requested = name
			request, ok = q.Spec.Hard[name]
		}
		if limit, hasLimit := q.Spec.Hard[limited]; ok && hasLimit && request.Cmp(limit) > 0 {
			warnings = append(warnings, fmt.Sprintf("ResourceQuota %s (%s) should be less than %s (%s)", requested, request.String(), limited, limit.String()))
		}
	}
	return warnings
}
