package api

import (
	"fmt"
	"slices"
	"strings"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validation"
)

func flowSchemaRules(at *place, f *flowcontrolv1.FlowSchema) {
	spec := at.of("spec")
	flowSchemaSpecRules(spec, f.Name, &f.Spec)
	if want := MandatoryFlowSchema(f.Name); want != nil && !equality.Semantic.DeepEqual(f.Spec, *want) {
		spec.invalid(f.Spec, fmt.Sprintf("spec of '%s' must equal the fixed value", f.Name))
	}
	flowSchemaStatusRules(at, f, nil)
}

func flowSchemaSpecRules(at *place, name string, s *flowcontrolv1.FlowSchemaSpec) {
	precedence := at.of("matchingPrecedence")
	switch p := s.MatchingPrecedence; {
	case p <= 0:
		precedence.invalid(p, "must be a positive value")
	case p > flowcontrolv1.FlowSchemaMaxMatchingPrecedence:
		precedence.invalid(p, fmt.Sprintf("must not be greater than %v", flowcontrolv1.FlowSchemaMaxMatchingPrecedence))
	case p == 1 && name != flowcontrolv1.FlowSchemaNameExempt:
		precedence.invalid(p, "only the schema named 'exempt' may have matchingPrecedence 1")
	}
	if m := s.DistinguisherMethod; m != nil &&
		m.Type != flowcontrolv1.FlowDistinguisherMethodByNamespaceType && m.Type != flowcontrolv1.FlowDistinguisherMethodByUserType {
		notSupported(at.of("distinguisherMethod").of("type"), *m,
			flowcontrolv1.FlowDistinguisherMethodByNamespaceType, flowcontrolv1.FlowDistinguisherMethodByUserType)
	}
	level := at.of("priorityLevelConfiguration").of("name")
	if s.PriorityLevelConfiguration.Name == "" {
		level.required("must reference a priority level")
	}
	optional(level, s.PriorityLevelConfiguration.Name, dnsSubdomain)
	each(at.of("rules"), s.Rules, flowRules)
}

func flowRules(at *place, r *flowcontrolv1.PolicyRulesWithSubjects) {
	if len(r.Subjects) == 0 {
		at.of("subjects").required("subjects must contain at least one value")
	}
	each(at.of("subjects"), r.Subjects, flowSubjectRules)
	if len(r.ResourceRules)+len(r.NonResourceRules) == 0 {
		at.required("at least one of resourceRules and nonResourceRules has to be non-empty")
	}
	each(at.of("resourceRules"), r.ResourceRules, flowResourceRules)
	each(at.of("nonResourceRules"), r.NonResourceRules, func(at *place, r *flowcontrolv1.NonResourcePolicyRule) {
		flowVerbs(at.of("verbs"), r.Verbs)
		urls := at.of("nonResourceURLs")
		if len(r.NonResourceURLs) == 0 {
			urls.required("nonResourceURLs must contain at least one value")
		} else if notBoth(urls, r.NonResourceURLs, "non-resource URLs") && !hasStar(r.NonResourceURLs) {
			for i, path := range r.NonResourceURLs {
				urlPattern(urls.item(i), path)
			}
		}
	})
}

func flowResourceRules(at *place, r *flowcontrolv1.ResourcePolicyRule) {
	flowVerbs(at.of("verbs"), r.Verbs)
	if len(r.APIGroups) == 0 {
		at.of("apiGroups").required("resource rules must supply at least one api group")
	}
	notBoth(at.of("apiGroups"), r.APIGroups, "api groups")
	if len(r.Resources) == 0 {
		at.of("resources").required("resource rules must supply at least one resource")
	}
	notBoth(at.of("resources"), r.Resources, "resources")
	namespaces := at.of("namespaces")
	if len(r.Namespaces) == 0 && !r.ClusterScope {
		namespaces.required("resource rules that are not cluster scoped must supply at least one namespace")
	}
	if !notBoth(namespaces, r.Namespaces, "namespaces") || hasStar(r.Namespaces) {
		return
	}
	for i, ns := range r.Namespaces {
		for _, fault := range validation.ValidateNamespaceName(ns, false) {
			namespaces.item(i).invalid(ns, "each member of this list must be '*' or a DNS-1123 label; "+fault)
		}
	}
}

func flowVerbs(at *place, verbs []string) {
	known := []string{"create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"}
	switch {
	case len(verbs) == 0:
		at.required("verbs must contain at least one value")
	case hasStar(verbs):
		notBoth(at, verbs, "verbs")
	case slices.ContainsFunc(verbs, func(v string) bool { return !slices.Contains(known, v) }):
		notSupported(at, verbs, known...)
	}
}

// urlPattern is a path, or the beginning of paths with a star for the rest.
func urlPattern(at *place, path string) {
	stars := strings.Count(path, "*")
	switch {
	case path == "/":
	case path == "":
		at.invalid(path, "must not be empty")
	case !strings.HasPrefix(path, "/"):
		at.invalid(path, "must start with slash")
	case strings.Contains(path, " "):
		at.invalid(path, "must not contain white-space")
	case strings.Contains(path, "//"):
		at.invalid(path, "must not contain double slash")
	case stars > 1 || stars == 1 && !strings.HasSuffix(path, "/*"):
		at.invalid(path, "wildcard can only do suffix matching")
	}
}

func flowSubjectRules(at *place, s *flowcontrolv1.Subject) {
	user, group, account := at.of("user"), at.of("group"), at.of("serviceAccount")
	switch s.Kind {
	case flowcontrolv1.SubjectKindServiceAccount:
		flowAccountRules(account, s.ServiceAccount)
	case flowcontrolv1.SubjectKindUser:
		if s.User == nil {
			user.required("user is required when subject kind is 'User'")
		} else {
			required(user.of("name"), s.User.Name)
		}
	case flowcontrolv1.SubjectKindGroup:
		if s.Group == nil {
			group.required("group is required when subject kind is 'Group'")
		} else {
			required(group.of("name"), s.Group.Name)
		}
	default:
		oneOf(at.of("kind"), s.Kind, flowcontrolv1.SubjectKindGroup, flowcontrolv1.SubjectKindServiceAccount, flowcontrolv1.SubjectKindUser)
		return
	}
	if s.ServiceAccount != nil && s.Kind != flowcontrolv1.SubjectKindServiceAccount {
		account.forbidden("serviceAccount is forbidden when subject kind is not 'ServiceAccount'")
	}
	if s.User != nil && s.Kind != flowcontrolv1.SubjectKindUser {
		user.forbidden("user is forbidden when subject kind is not 'User'")
	}
	if s.Group != nil && s.Kind != flowcontrolv1.SubjectKindGroup {
		group.forbidden("group is forbidden when subject kind is not 'Group'")
	}
}

func flowAccountRules(at *place, a *flowcontrolv1.ServiceAccountSubject) {
	if a == nil {
		at.required("serviceAccount is required when subject kind is 'ServiceAccount'")
		return
	}
	if a.Name != flowcontrolv1.NameAll {
		needs(at.of("name"), a.Name, func(name string) []string { return validation.ValidateServiceAccountName(name, false) })
	}
	if a.Namespace == "" {
		at.of("namespace").required("must specify namespace for service account")
	}
	optional(at.of("namespace"), a.Namespace, func(name string) []string { return validation.ValidateNamespaceName(name, false) })
}

func flowSchemaStatusRules(at *place, f, _ *flowcontrolv1.FlowSchema) {
	var types unique[flowcontrolv1.FlowSchemaConditionType]
	each(at.of("status").of("conditions"), f.Status.Conditions, func(at *place, c *flowcontrolv1.FlowSchemaCondition) {
		conditionType(at.of("type"), c.Type, &types)
	})
}

// conditionType is given, and once.
func conditionType[T ~string](at *place, t T, types *unique[T]) {
	types.add(at, t)
	if t == "" {
		at.required("")
	}
}

// MandatoryFlowSchema is the one form of the two flow schemas that no server can
// do without; nil for any other name.
func MandatoryFlowSchema(name string) *flowcontrolv1.FlowSchemaSpec {
	everything := func(groups ...string) []flowcontrolv1.PolicyRulesWithSubjects {
		all := []string{"*"}
		r := flowcontrolv1.PolicyRulesWithSubjects{
			ResourceRules: []flowcontrolv1.ResourcePolicyRule{{
				Verbs: all, APIGroups: all, Resources: all, ClusterScope: true, Namespaces: all}},
			NonResourceRules: []flowcontrolv1.NonResourcePolicyRule{{Verbs: all, NonResourceURLs: all}},
		}
		for _, group := range groups {
			r.Subjects = append(r.Subjects, flowcontrolv1.Subject{
				Kind: flowcontrolv1.SubjectKindGroup, Group: &flowcontrolv1.GroupSubject{Name: group}})
		}
		return []flowcontrolv1.PolicyRulesWithSubjects{r}
	}
	switch name {
	case flowcontrolv1.FlowSchemaNameExempt:
		return &flowcontrolv1.FlowSchemaSpec{
			PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: flowcontrolv1.PriorityLevelConfigurationNameExempt},
			MatchingPrecedence:         1,
			Rules:                      everything("system:masters"),
		}
	case flowcontrolv1.FlowSchemaNameCatchAll:
		return &flowcontrolv1.FlowSchemaSpec{
			PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: flowcontrolv1.PriorityLevelConfigurationNameCatchAll},
			MatchingPrecedence:         flowcontrolv1.FlowSchemaMaxMatchingPrecedence,
			DistinguisherMethod:        &flowcontrolv1.FlowDistinguisherMethod{Type: flowcontrolv1.FlowDistinguisherMethodByUserType},
			Rules:                      everything("system:unauthenticated", "system:authenticated"),
		}
	}
	return nil
}

const defaultPrecedence = 1000

func defaultFlowSchema(obj Object) {
	if s := &obj.(*flowcontrolv1.FlowSchema).Spec; s.MatchingPrecedence == 0 {
		s.MatchingPrecedence = defaultPrecedence
	}
}
