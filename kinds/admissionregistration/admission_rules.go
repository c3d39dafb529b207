package admissionregistration

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

// Validation and defaults of the matching fields, which webhooks and admission policies
// share.

func operationRules(at *validation.Path, r *admissionv1.RuleWithOperations) {
	operations := at.Child("operations")
	if len(r.Operations) == 0 {
		operations.Required("")
	}
	if len(r.Operations) > 1 && validation.HasWildcard(r.Operations) {
		operations.Invalid(r.Operations, "if '*' is present, must not specify other operations")
	}
	for i, o := range r.Operations {
		validation.OneOf(operations.Index(i), o, admissionv1.OperationAll, admissionv1.Connect, admissionv1.Create,
			admissionv1.Delete, admissionv1.Update)
	}
	groups, versions := at.Child("apiGroups"), at.Child("apiVersions")
	if len(r.APIGroups) == 0 {
		groups.Required("")
	}
	validation.WildcardAlone(groups, r.APIGroups, "API groups")
	if len(r.APIVersions) == 0 {
		versions.Required("")
	}
	validation.WildcardAlone(versions, r.APIVersions, "API versions")
	for i, v := range r.APIVersions {
		validation.Required(versions.Index(i), v)
	}
	matchedResourceRules(at.Child("resources"), r.Resources)
	validation.OptionalEnum(at.Child("scope"), r.Scope, admissionv1.AllScopes, admissionv1.ClusterScope, admissionv1.NamespacedScope)
}

// matchedResourceRules refuses entries that other entries include. "*" matches all
// resources or all subresources, but not both.
func matchedResourceRules(at *validation.Path, resources []string) {
	if len(resources) == 0 {
		at.Required("")
	}
	var withAllSubs, subsOfAll validation.Unique[string]
	plain := false
	for i, r := range resources {
		if !validation.Required(at.Index(i), r) {
			continue
		}
		res, sub, ok := strings.Cut(r, "/")
		if !ok {
			plain = r != "*"
			continue
		}
		if withAllSubs.Has(res) {
			at.Index(i).Invalid(r, fmt.Sprintf("if '%s/*' is present, must not specify %s", res, r))
		}
		if subsOfAll.Has(sub) {
			at.Index(i).Invalid(r, fmt.Sprintf("if '*/%s' is present, must not specify %s", sub, r))
		}
		if sub == "*" {
			withAllSubs.Insert(res)
		}
		if res == "*" {
			subsOfAll.Insert(sub)
		}
	}
	if len(resources) > 1 && slices.Contains(resources, "*/*") {
		at.Invalid(resources, "if '*/*' is present, must not specify other resources")
	}
	if plain && validation.HasWildcard(resources) {
		at.Invalid(resources, "if '*' is present, must not specify other resources without subresources")
	}
}

// matchResourceRules validates the match constraints of a policy or a binding.
func matchResourceRules(at *validation.Path, m *admissionv1.MatchResources) {
	if m == nil {
		return
	}
	if m.MatchPolicy == nil {
		at.Child("matchPolicy").Required("")
	}
	webhookMatchRules(at.Child("matchPolicy"), m.MatchPolicy)
	if m.NamespaceSelector == nil {
		at.Child("namespaceSelector").Required("")
	}
	validation.SelectorRules(at.Child("namespaceSelector"), m.NamespaceSelector)
	if m.ObjectSelector == nil {
		at.Child("objectSelector").Required("")
	}
	validation.SelectorRules(at.Child("objectSelector"), m.ObjectSelector)
	validation.Each(at.Child("resourceRules"), m.ResourceRules, namedRuleRules)
	validation.Each(at.Child("excludeResourceRules"), m.ExcludeResourceRules, namedRuleRules)
}

func namedRuleRules(at *validation.Path, r *admissionv1.NamedRuleWithOperations) {
	var names validation.Unique[string]
	for i, name := range r.ResourceNames {
		validation.Format(at.Child("resourceNames").Index(i), name, validation.Segment)
		names.Add(at.Child("resourceNames").Index(i), name)
	}
	operationRules(at, &r.RuleWithOperations)
}

func matchConditionRules(at *validation.Path, list []admissionv1.MatchCondition, scope expression.Scope) {
	var c *expression.Compiler
	if len(list) > maxMatchConditions {
		at.TooMany(len(list), maxMatchConditions)
	}
	var names validation.Unique[string]
	validation.Each(at, list, func(at *validation.Path, m *admissionv1.MatchCondition) {
		if text := strings.TrimSpace(m.Expression); validation.Required(at.Child("expression"), text) {
			if c == nil {
				c = expression.NewCompiler(scope)
			}
			validation.CELRules(at.Child("expression"), text, c.Compile(text, expression.Bool()))
		}
		validation.RequiredFormat(at.Child("name"), m.Name, validation.QualifiedName)
		if m.Name != "" {
			names.Add(at.Child("name"), m.Name)
		}
	})
}

func defaultMatchResources(m *admissionv1.MatchResources) {
	if m == nil {
		return
	}
	api.SetDefault(&m.MatchPolicy, admissionv1.Equivalent)
	api.DefaultSelector(&m.NamespaceSelector)
	api.DefaultSelector(&m.ObjectSelector)
	for _, list := range [][]admissionv1.NamedRuleWithOperations{m.ResourceRules, m.ExcludeResourceRules} {
		for i := range list {
			api.SetDefault(&list[i].Scope, admissionv1.AllScopes)
		}
	}
}

func defaultMutatingWebhooks(obj *admissionv1.MutatingWebhookConfiguration) {
	list := obj.Webhooks
	for i := range list {
		w := &list[i]
		api.SetDefault(&w.ReinvocationPolicy, admissionv1.NeverReinvocationPolicy)
		defaultWebhook(&w.FailurePolicy, &w.MatchPolicy, &w.TimeoutSeconds, &w.NamespaceSelector, &w.ObjectSelector)
		defaultWebhookRules(w.Rules, &w.ClientConfig)
	}
}

func defaultValidatingWebhooks(obj *admissionv1.ValidatingWebhookConfiguration) {
	list := obj.Webhooks
	for i := range list {
		w := &list[i]
		defaultWebhook(&w.FailurePolicy, &w.MatchPolicy, &w.TimeoutSeconds, &w.NamespaceSelector, &w.ObjectSelector)
		defaultWebhookRules(w.Rules, &w.ClientConfig)
	}
}

// defaultWebhook sets the defaults that mutating and validating webhooks share.
func defaultWebhook(failure **admissionv1.FailurePolicyType, match **admissionv1.MatchPolicyType, timeout **int32,
	selectors ...**metav1.LabelSelector) {
	api.SetDefault(failure, admissionv1.Fail)
	api.SetDefault(match, admissionv1.Equivalent)
	api.SetDefault(timeout, 10)
	for _, s := range selectors {
		api.DefaultSelector(s)
	}
}

func defaultWebhookRules(rules []admissionv1.RuleWithOperations, client *admissionv1.WebhookClientConfig) {
	for i := range rules {
		api.SetDefault(&rules[i].Scope, admissionv1.AllScopes)
	}
	if client.Service != nil {
		api.SetDefault(&client.Service.Port, httpsPort)
	}
}
