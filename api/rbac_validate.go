package api

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Rules of the four kinds of role-based access control.

func roleRules(at *place, r *rbacv1.Role) {
	each(at.of("rules"), r.Rules, func(at *place, rule *rbacv1.PolicyRule) { policyRules(at, rule, true) })
}

func clusterRoleRules(at *place, r *rbacv1.ClusterRole) {
	each(at.of("rules"), r.Rules, func(at *place, rule *rbacv1.PolicyRule) { policyRules(at, rule, false) })
	if r.AggregationRule == nil {
		return
	}
	selectors := at.of("aggregationRule").of("clusterRoleSelectors")
	if len(r.AggregationRule.ClusterRoleSelectors) == 0 {
		selectors.required("at least one clusterRoleSelector required if aggregationRule is non-nil")
	}
	each(selectors, r.AggregationRule.ClusterRoleSelectors, func(at *place, s *metav1.LabelSelector) {
		selectorRules(at, s)
		if _, err := metav1.LabelSelectorAsSelector(s); err != nil {
			at.invalid(nil, "invalid label selector.")
		}
	})
}

// policyRules: a rule is about resources or about paths, and paths have no
// namespace.
func policyRules(at *place, r *rbacv1.PolicyRule, namespaced bool) {
	if len(r.Verbs) == 0 {
		at.of("verbs").required("verbs must contain at least one value")
	}
	if len(r.NonResourceURLs) > 0 {
		paths := at.of("nonResourceURLs")
		if namespaced {
			paths.invalid(r.NonResourceURLs, "namespaced rules cannot apply to non-resource URLs")
		}
		if len(r.APIGroups)+len(r.Resources)+len(r.ResourceNames) > 0 {
			paths.invalid(r.NonResourceURLs, "rules cannot apply to both regular resources and non-resource URLs")
		}
		return
	}
	if len(r.APIGroups) == 0 {
		at.of("apiGroups").required("resource rules must supply at least one api group")
	}
	if len(r.Resources) == 0 {
		at.of("resources").required("resource rules must supply at least one resource")
	}
}

func roleBindingRules(at *place, b *rbacv1.RoleBinding) {
	roleRefRules(at.of("roleRef"), &b.RoleRef, "Role", "ClusterRole")
	each(at.of("subjects"), b.Subjects, func(at *place, s *rbacv1.Subject) { subjectRules(at, s, true) })
}

func clusterRoleBindingRules(at *place, b *rbacv1.ClusterRoleBinding) {
	roleRefRules(at.of("roleRef"), &b.RoleRef, "ClusterRole")
	each(at.of("subjects"), b.Subjects, func(at *place, s *rbacv1.Subject) { subjectRules(at, s, false) })
}

// sameRole: what a binding grants cannot change, only to whom.
func sameRole(at *place, is, was rbacv1.RoleRef) {
	if is != was {
		at.of("roleRef").invalid(is, "cannot change roleRef")
	}
}

func roleRefRules(at *place, ref *rbacv1.RoleRef, kinds ...string) {
	oneOf(at.of("apiGroup"), ref.APIGroup, rbacv1.GroupName)
	oneOf(at.of("kind"), ref.Kind, kinds...)
	needs(at.of("name"), ref.Name, segment)
}

func subjectRules(at *place, s *rbacv1.Subject, namespaced bool) {
	required(at.of("name"), s.Name)
	switch s.Kind {
	case rbacv1.ServiceAccountKind:
		optional(at.of("name"), s.Name, func(name string) []string { return validation.ValidateServiceAccountName(name, false) })
		oneOf(at.of("apiGroup"), s.APIGroup, "")
		if !namespaced {
			required(at.of("namespace"), s.Namespace)
		}
	case rbacv1.UserKind, rbacv1.GroupKind:
		oneOf(at.of("apiGroup"), s.APIGroup, rbacv1.GroupName)
	default:
		oneOf(at.of("kind"), s.Kind, rbacv1.ServiceAccountKind, rbacv1.UserKind, rbacv1.GroupKind)
	}
}

func defaultRoleRef(ref *rbacv1.RoleRef, subjects []rbacv1.Subject) {
	if ref.APIGroup == "" {
		ref.APIGroup = rbacv1.GroupName
	}
	for i := range subjects {
		s := &subjects[i]
		if s.APIGroup == "" && (s.Kind == rbacv1.UserKind || s.Kind == rbacv1.GroupKind) {
			s.APIGroup = rbacv1.GroupName
		}
	}
}
