package flowcontrol

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	flowcontrolv1beta1 "k8s.io/api/flowcontrol/v1beta1"
	flowcontrolv1beta2 "k8s.io/api/flowcontrol/v1beta2"
	flowcontrolv1beta3 "k8s.io/api/flowcontrol/v1beta3"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/request"
)

// FlowSchema describes the kind FlowSchema, a rule that assigns requests to a priority level.
func FlowSchema() *api.Resource {
	return api.NewResource(api.Kind[*flowcontrolv1.FlowSchema]{
		Names: api.Names{Name: "flowschemas", Singular: "flowschema", Kind: "FlowSchema"},
		Versions: api.WithOlderVersions(api.Served(flowcontrolv1.SchemeGroupVersion),
			api.SameFields[flowcontrolv1.FlowSchema, flowcontrolv1beta3.FlowSchema](flowcontrolv1beta3.SchemeGroupVersion),
			api.SameFields[flowcontrolv1.FlowSchema, flowcontrolv1beta2.FlowSchema](flowcontrolv1beta2.SchemeGroupVersion),
			api.SameFields[flowcontrolv1.FlowSchema, flowcontrolv1beta1.FlowSchema](flowcontrolv1beta1.SchemeGroupVersion)),
		Default:       defaultFlowSchema,
		Storage:       api.Storage{Prefix: "flowschemas"},
		Checks:        api.Checks(api.Metadata, api.RevalidatedMetadata, api.Rules(flowSchemaRules), api.Declared),
		HasGeneration: true,
		Status: api.NewStatus(
			keepMetadata[*flowcontrolv1.FlowSchema],
			api.Changes(flowSchemaStatusRules), api.Declared,
		),
		Reset: map[string][]string{"status": {"metadata", "spec"}},
		Table: api.Table[*flowcontrolv1.FlowSchema]{Row: flowSchemaRow, Order: flowSchemaOrder},
	})
}

// keepMetadata restores all metadata but managedFields in a status update.
func keepMetadata[T metav1.ObjectMetaAccessor](obj, old T) {
	to, from := obj.GetObjectMeta().(*metav1.ObjectMeta), old.GetObjectMeta().(*metav1.ObjectMeta)
	managed := to.ManagedFields
	from.DeepCopyInto(to)
	to.ManagedFields = managed
}

func flowSchemaRow(row *table.Row, s *flowcontrolv1.FlowSchema) {
	method, dangling := table.CellNone, "?"
	if m := s.Spec.DistinguisherMethod; m != nil {
		method = string(m.Type)
	}
	for _, c := range s.Status.Conditions {
		if c.Type == flowcontrolv1.FlowSchemaConditionDangling {
			dangling = string(c.Status)
			break
		}
	}
	row.Name(s.Name)
	row.Text("PriorityLevel", ".spec.priorityLevelConfiguration.name", s.Spec.PriorityLevelConfiguration.Name)
	row.Text("MatchingPrecedence", ".spec.matchingPrecedence", int64(s.Spec.MatchingPrecedence))
	row.Text("DistinguisherMethod", ".spec.distinguisherMethod", method)
	row.Age(s)
	row.Text("MissingPL", "references a broken or non-existent PriorityLevelConfiguration", dangling)
}

// flowSchemaOrder compares flow schemas by precedence, the order in which requests are
// matched.
func flowSchemaOrder(one, other *flowcontrolv1.FlowSchema) int {
	return cmp.Or(cmp.Compare(one.Spec.MatchingPrecedence, other.Spec.MatchingPrecedence), cmp.Compare(one.Name, other.Name))
}

func flowSchemaRules(at *validation.Path, f *flowcontrolv1.FlowSchema) {
	spec := at.Child("spec")
	flowSchemaSpecRules(spec, f.Name, &f.Spec)
	if want := MandatoryFlowSchema(f.Name); want != nil && !equality.Semantic.DeepEqual(f.Spec, *want) {
		spec.Invalid(f.Spec, fmt.Sprintf("spec of '%s' must equal the fixed value", f.Name))
	}
	flowSchemaStatusRules(at, f, nil)
}

func flowSchemaSpecRules(at *validation.Path, name string, s *flowcontrolv1.FlowSchemaSpec) {
	precedence := at.Child("matchingPrecedence")
	switch p := s.MatchingPrecedence; {
	case p <= 0:
		precedence.Invalid(p, "must be a positive value")
	case p > flowcontrolv1.FlowSchemaMaxMatchingPrecedence:
		precedence.Invalid(p, fmt.Sprintf("must not be greater than %v", flowcontrolv1.FlowSchemaMaxMatchingPrecedence))
	case p == 1 && name != flowcontrolv1.FlowSchemaNameExempt:
		precedence.Invalid(p, "only the schema named 'exempt' may have matchingPrecedence 1")
	}
	if m := s.DistinguisherMethod; m != nil &&
		m.Type != flowcontrolv1.FlowDistinguisherMethodByNamespaceType && m.Type != flowcontrolv1.FlowDistinguisherMethodByUserType {
		validation.NotSupported(at.Child("distinguisherMethod").Child("type"), *m,
			flowcontrolv1.FlowDistinguisherMethodByNamespaceType, flowcontrolv1.FlowDistinguisherMethodByUserType)
	}
	level := at.Child("priorityLevelConfiguration").Child("name")
	if s.PriorityLevelConfiguration.Name == "" {
		level.Required("must reference a priority level")
	}
	validation.OptionalFormat(level, s.PriorityLevelConfiguration.Name, validation.DNSSubdomain)
	validation.Each(at.Child("rules"), s.Rules, flowRules)
}

func flowRules(at *validation.Path, r *flowcontrolv1.PolicyRulesWithSubjects) {
	if len(r.Subjects) == 0 {
		at.Child("subjects").Required("subjects must contain at least one value")
	}
	validation.Each(at.Child("subjects"), r.Subjects, flowSubjectRules)
	if len(r.ResourceRules)+len(r.NonResourceRules) == 0 {
		at.Required("at least one of resourceRules and nonResourceRules has to be non-empty")
	}
	validation.Each(at.Child("resourceRules"), r.ResourceRules, flowResourceRules)
	validation.Each(at.Child("nonResourceRules"), r.NonResourceRules, func(at *validation.Path, r *flowcontrolv1.NonResourcePolicyRule) {
		flowVerbs(at.Child("verbs"), r.Verbs)
		urls := at.Child("nonResourceURLs")
		if len(r.NonResourceURLs) == 0 {
			urls.Required("nonResourceURLs must contain at least one value")
		} else if validation.WildcardAlone(urls, r.NonResourceURLs, "non-resource URLs") && !validation.HasWildcard(r.NonResourceURLs) {
			for i, path := range r.NonResourceURLs {
				urlPattern(urls.Index(i), path)
			}
		}
	})
}

func flowResourceRules(at *validation.Path, r *flowcontrolv1.ResourcePolicyRule) {
	flowVerbs(at.Child("verbs"), r.Verbs)
	if len(r.APIGroups) == 0 {
		at.Child("apiGroups").Required("resource rules must supply at least one api group")
	}
	validation.WildcardAlone(at.Child("apiGroups"), r.APIGroups, "api groups")
	if len(r.Resources) == 0 {
		at.Child("resources").Required("resource rules must supply at least one resource")
	}
	validation.WildcardAlone(at.Child("resources"), r.Resources, "resources")
	namespaces := at.Child("namespaces")
	if len(r.Namespaces) == 0 && !r.ClusterScope {
		namespaces.Required("resource rules that are not cluster scoped must supply at least one namespace")
	}
	if !validation.WildcardAlone(namespaces, r.Namespaces, "namespaces") || validation.HasWildcard(r.Namespaces) {
		return
	}
	for i, ns := range r.Namespaces {
		for _, fault := range apivalidation.ValidateNamespaceName(ns, false) {
			namespaces.Index(i).Invalid(ns, "each member of this list must be '*' or a DNS-1123 label; "+fault)
		}
	}
}

func flowVerbs(at *validation.Path, verbs []string) {
	known := []string{"create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"}
	switch {
	case len(verbs) == 0:
		at.Required("verbs must contain at least one value")
	case validation.HasWildcard(verbs):
		validation.WildcardAlone(at, verbs, "verbs")
	case slices.ContainsFunc(verbs, func(v string) bool { return !slices.Contains(known, v) }):
		validation.NotSupported(at, verbs, known...)
	}
}

// urlPattern validates a URL path, or a prefix of paths that ends with /*.
func urlPattern(at *validation.Path, path string) {
	stars := strings.Count(path, "*")
	switch {
	case path == "/":
	case path == "":
		at.Invalid(path, "must not be empty")
	case !strings.HasPrefix(path, "/"):
		at.Invalid(path, "must start with slash")
	case strings.Contains(path, " "):
		at.Invalid(path, "must not contain white-space")
	case strings.Contains(path, "//"):
		at.Invalid(path, "must not contain double slash")
	case stars > 1 || stars == 1 && !strings.HasSuffix(path, "/*"):
		at.Invalid(path, "wildcard can only do suffix matching")
	}
}

func flowSubjectRules(at *validation.Path, s *flowcontrolv1.Subject) {
	user, group, account := at.Child("user"), at.Child("group"), at.Child("serviceAccount")
	switch s.Kind {
	case flowcontrolv1.SubjectKindServiceAccount:
		flowAccountRules(account, s.ServiceAccount)
	case flowcontrolv1.SubjectKindUser:
		if s.User == nil {
			user.Required("user is required when subject kind is 'User'")
		} else {
			validation.Required(user.Child("name"), s.User.Name)
		}
	case flowcontrolv1.SubjectKindGroup:
		if s.Group == nil {
			group.Required("group is required when subject kind is 'Group'")
		} else {
			validation.Required(group.Child("name"), s.Group.Name)
		}
	default:
		validation.OneOf(at.Child("kind"), s.Kind, flowcontrolv1.SubjectKindGroup, flowcontrolv1.SubjectKindServiceAccount,
			flowcontrolv1.SubjectKindUser)
		return
	}
	if s.ServiceAccount != nil && s.Kind != flowcontrolv1.SubjectKindServiceAccount {
		account.Forbidden("serviceAccount is forbidden when subject kind is not 'ServiceAccount'")
	}
	if s.User != nil && s.Kind != flowcontrolv1.SubjectKindUser {
		user.Forbidden("user is forbidden when subject kind is not 'User'")
	}
	if s.Group != nil && s.Kind != flowcontrolv1.SubjectKindGroup {
		group.Forbidden("group is forbidden when subject kind is not 'Group'")
	}
}

func flowAccountRules(at *validation.Path, a *flowcontrolv1.ServiceAccountSubject) {
	if a == nil {
		at.Required("serviceAccount is required when subject kind is 'ServiceAccount'")
		return
	}
	if a.Name != flowcontrolv1.NameAll {
		validation.RequiredFormat(at.Child("name"), a.Name,
			func(name string) []string { return apivalidation.ValidateServiceAccountName(name, false) })
	}
	if a.Namespace == "" {
		at.Child("namespace").Required("must specify namespace for service account")
	}
	validation.OptionalFormat(at.Child("namespace"), a.Namespace,
		func(name string) []string { return apivalidation.ValidateNamespaceName(name, false) })
}

func flowSchemaStatusRules(at *validation.Path, f, _ *flowcontrolv1.FlowSchema) {
	var types validation.Unique[flowcontrolv1.FlowSchemaConditionType]
	validation.Each(at.Child("status").Child("conditions"), f.Status.Conditions,
		func(at *validation.Path, c *flowcontrolv1.FlowSchemaCondition) {
			conditionType(at.Child("type"), c.Type, &types)
		})
}

// conditionType validates that the type of a condition is set and unique.
func conditionType[T ~string](at *validation.Path, t T, types *validation.Unique[T]) {
	types.Add(at, t)
	if t == "" {
		at.Required("")
	}
}

// MandatoryFlowSchema returns the required spec of a mandatory flow schema; nil for other
// names.
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
			Rules:                      everything(request.GroupMasters),
		}
	case flowcontrolv1.FlowSchemaNameCatchAll:
		return &flowcontrolv1.FlowSchemaSpec{
			PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: flowcontrolv1.PriorityLevelConfigurationNameCatchAll},
			MatchingPrecedence:         flowcontrolv1.FlowSchemaMaxMatchingPrecedence,
			DistinguisherMethod:        &flowcontrolv1.FlowDistinguisherMethod{Type: flowcontrolv1.FlowDistinguisherMethodByUserType},
			Rules:                      everything(request.GroupUnauthenticated, request.GroupAuthenticated),
		}
	}
	return nil
}

const defaultPrecedence = 1000

func defaultFlowSchema(obj *flowcontrolv1.FlowSchema) {
	if s := &obj.Spec; s.MatchingPrecedence == 0 {
		s.MatchingPrecedence = defaultPrecedence
	}
}
