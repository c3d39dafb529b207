package rbac

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/kinds/workload"
)

// Validation of the four RBAC kinds.

func roleRules(at *validation.Path, r *rbacv1.Role) {
	validation.Each(at.Child("rules"), r.Rules, func(at *validation.Path, rule *rbacv1.PolicyRule) { policyRules(at, rule, true) })
}

func clusterRoleRules(at *validation.Path, r *rbacv1.ClusterRole) {
	clusterRoleChanges(at, r, &rbacv1.ClusterRole{})
}

// clusterRoleChanges validates a role. The values of its selectors may be invalid if those of the old
// role are.
func clusterRoleChanges(at *validation.Path, r, old *rbacv1.ClusterRole) {
	validation.Each(at.Child("rules"), r.Rules, func(at *validation.Path, rule *rbacv1.PolicyRule) { policyRules(at, rule, false) })
	if r.AggregationRule == nil {
		return
	}
	selectors := at.Child("aggregationRule").Child("clusterRoleSelectors")
	if len(r.AggregationRule.ClusterRoleSelectors) == 0 {
		selectors.Required("at least one clusterRoleSelector required if aggregationRule is non-nil")
	}
	lenient := old.AggregationRule != nil && slices.ContainsFunc(old.AggregationRule.ClusterRoleSelectors,
		func(s metav1.LabelSelector) bool { return workload.HasInvalidSelectorValues(&s) })
	validation.Each(selectors, r.AggregationRule.ClusterRoleSelectors, func(at *validation.Path, s *metav1.LabelSelector) {
		validation.LenientSelectorRules(at, s, lenient)
		if _, err := metav1.LabelSelectorAsSelector(s); err != nil {
			at.Invalid(nil, "invalid label selector.")
		}
	})
}

// policyRules validates a rule, which is for resources or for paths. Rules in a namespace
// cannot have paths.
func policyRules(at *validation.Path, r *rbacv1.PolicyRule, namespaced bool) {
	if len(r.Verbs) == 0 {
		at.Child("verbs").Required("verbs must contain at least one value")
	}
	if len(r.NonResourceURLs) > 0 {
		paths := at.Child("nonResourceURLs")
		if namespaced {
			paths.Invalid(r.NonResourceURLs, "namespaced rules cannot apply to non-resource URLs")
		}
		if len(r.APIGroups)+len(r.Resources)+len(r.ResourceNames) > 0 {
			paths.Invalid(r.NonResourceURLs, "rules cannot apply to both regular resources and non-resource URLs")
		}
		return
	}
	if len(r.APIGroups) == 0 {
		at.Child("apiGroups").Required("resource rules must supply at least one api group")
	}
	if len(r.Resources) == 0 {
		at.Child("resources").Required("resource rules must supply at least one resource")
	}
}

func roleBindingRules(at *validation.Path, b *rbacv1.RoleBinding) {
	roleRefRules(at.Child("roleRef"), &b.RoleRef, "Role", "ClusterRole")
	validation.Each(at.Child("subjects"), b.Subjects, func(at *validation.Path, s *rbacv1.Subject) { subjectRules(at, s, true) })
}

func clusterRoleBindingRules(at *validation.Path, b *rbacv1.ClusterRoleBinding) {
	roleRefRules(at.Child("roleRef"), &b.RoleRef, "ClusterRole")
	validation.Each(at.Child("subjects"), b.Subjects, func(at *validation.Path, s *rbacv1.Subject) { subjectRules(at, s, false) })
}

func roleRefRules(at *validation.Path, ref *rbacv1.RoleRef, kinds ...string) {
	validation.OneOf(at.Child("apiGroup"), ref.APIGroup, rbacv1.GroupName)
	validation.OneOf(at.Child("kind"), ref.Kind, kinds...)
	validation.RequiredFormat(at.Child("name"), ref.Name, validation.Segment)
}

func subjectRules(at *validation.Path, s *rbacv1.Subject, namespaced bool) {
	validation.Required(at.Child("name"), s.Name)
	switch s.Kind {
	case rbacv1.ServiceAccountKind:
		validation.OptionalFormat(at.Child("name"), s.Name,
			func(name string) []string { return apivalidation.ValidateServiceAccountName(name, false) })
		validation.OneOf(at.Child("apiGroup"), s.APIGroup, "")
		if !namespaced {
			validation.Required(at.Child("namespace"), s.Namespace)
		}
	case rbacv1.UserKind, rbacv1.GroupKind:
		validation.OneOf(at.Child("apiGroup"), s.APIGroup, rbacv1.GroupName)
	default:
		validation.OneOf(at.Child("kind"), s.Kind, rbacv1.ServiceAccountKind, rbacv1.UserKind, rbacv1.GroupKind)
	}
}

func (g grant) setDefaults() {
	if g.role.APIGroup == "" {
		g.role.APIGroup = rbacv1.GroupName
	}
	for i := range g.subjects {
		s := &g.subjects[i]
		if s.APIGroup == "" && (s.Kind == rbacv1.UserKind || s.Kind == rbacv1.GroupKind) {
			s.APIGroup = rbacv1.GroupName
		}
	}
}
