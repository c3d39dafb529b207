package api

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api/expression"
)

// Rules and defaults that webhooks and admission policies have in common: what
// they apply to.

func operationRules(at *place, r *admissionv1.RuleWithOperations) {
	operations := at.of("operations")
	if len(r.Operations) == 0 {
		operations.required("")
	}
	if len(r.Operations) > 1 && hasStar(r.Operations) {
		operations.invalid(r.Operations, "if '*' is present, must not specify other operations")
	}
	for i, o := range r.Operations {
		oneOf(operations.item(i), o, admissionv1.OperationAll, admissionv1.Connect, admissionv1.Create, admissionv1.Delete, admissionv1.Update)
	}
	groups, versions := at.of("apiGroups"), at.of("apiVersions")
	if len(r.APIGroups) == 0 {
		groups.required("")
	}
	notBoth(groups, r.APIGroups, "API groups")
	if len(r.APIVersions) == 0 {
		versions.required("")
	}
	notBoth(versions, r.APIVersions, "API versions")
	for i, v := range r.APIVersions {
		required(versions.item(i), v)
	}
	matchedResourceRules(at.of("resources"), r.Resources)
	optionalEnum(at.of("scope"), r.Scope, admissionv1.AllScopes, admissionv1.ClusterScope, admissionv1.NamespacedScope)
}

// matchedResourceRules refuse what others of the list cover. A star stands for
// all resources, or for all subresources, and not for both.
func matchedResourceRules(at *place, resources []string) {
	if len(resources) == 0 {
		at.required("")
	}
	var withAllSubs, subsOfAll unique[string]
	plain := false
	for i, r := range resources {
		if !required(at.item(i), r) {
			continue
		}
		res, sub, ok := strings.Cut(r, "/")
		if !ok {
			plain = r != "*"
			continue
		}
		if withAllSubs.has(res) {
			at.item(i).invalid(r, fmt.Sprintf("if '%s/*' is present, must not specify %s", res, r))
		}
		if subsOfAll.has(sub) {
			at.item(i).invalid(r, fmt.Sprintf("if '*/%s' is present, must not specify %s", sub, r))
		}
		if sub == "*" {
			withAllSubs.put(res)
		}
		if res == "*" {
			subsOfAll.put(sub)
		}
	}
	if len(resources) > 1 && slices.Contains(resources, "*/*") {
		at.invalid(resources, "if '*/*' is present, must not specify other resources")
	}
	if plain && hasStar(resources) {
		at.invalid(resources, "if '*' is present, must not specify other resources without subresources")
	}
}

// matchResourceRules are for what a policy or a binding applies to.
func matchResourceRules(at *place, m *admissionv1.MatchResources) {
	if m == nil {
		return
	}
	if m.MatchPolicy == nil {
		at.of("matchPolicy").required("")
	}
	webhookMatchRules(at.of("matchPolicy"), m.MatchPolicy)
	if m.NamespaceSelector == nil {
		at.of("namespaceSelector").required("")
	}
	selectorRules(at.of("namespaceSelector"), m.NamespaceSelector)
	if m.ObjectSelector == nil {
		at.of("objectSelector").required("")
	}
	selectorRules(at.of("objectSelector"), m.ObjectSelector)
	each(at.of("resourceRules"), m.ResourceRules, namedRuleRules)
	each(at.of("excludeResourceRules"), m.ExcludeResourceRules, namedRuleRules)
}

func namedRuleRules(at *place, r *admissionv1.NamedRuleWithOperations) {
	var names unique[string]
	for i, name := range r.ResourceNames {
		format(at.of("resourceNames").item(i), name, segment)
		names.add(at.of("resourceNames").item(i), name)
	}
	operationRules(at, &r.RuleWithOperations)
}

func matchConditionRules(at *place, list []admissionv1.MatchCondition, params bool) {
	var c *expression.Compiler
	if len(list) > maxMatchConditions {
		at.tooMany(len(list), maxMatchConditions)
	}
	var names unique[string]
	each(at, list, func(at *place, m *admissionv1.MatchCondition) {
		if text := strings.TrimSpace(m.Expression); required(at.of("expression"), text) {
			if c == nil {
				c = expression.NewCompiler(expression.Scope{Params: params})
			}
			celRules(at.of("expression"), text, c.Compile(text, expression.Bool()))
		}
		needs(at.of("name"), m.Name, qualifiedName)
		if m.Name != "" {
			names.add(at.of("name"), m.Name)
		}
	})
}

func defaultMatchResources(m *admissionv1.MatchResources) {
	if m == nil {
		return
	}
	setDefault(&m.MatchPolicy, admissionv1.Equivalent)
	defaultSelector(&m.NamespaceSelector)
	defaultSelector(&m.ObjectSelector)
	for _, list := range [][]admissionv1.NamedRuleWithOperations{m.ResourceRules, m.ExcludeResourceRules} {
		for i := range list {
			setDefault(&list[i].Scope, admissionv1.AllScopes)
		}
	}
}

func defaultMutatingWebhooks(obj Object) {
	list := obj.(*admissionv1.MutatingWebhookConfiguration).Webhooks
	for i := range list {
		w := &list[i]
		setDefault(&w.ReinvocationPolicy, admissionv1.NeverReinvocationPolicy)
		defaultWebhook(&w.FailurePolicy, &w.MatchPolicy, &w.TimeoutSeconds, &w.NamespaceSelector, &w.ObjectSelector)
		defaultWebhookRules(w.Rules, &w.ClientConfig)
	}
}

func defaultValidatingWebhooks(obj Object) {
	list := obj.(*admissionv1.ValidatingWebhookConfiguration).Webhooks
	for i := range list {
		w := &list[i]
		defaultWebhook(&w.FailurePolicy, &w.MatchPolicy, &w.TimeoutSeconds, &w.NamespaceSelector, &w.ObjectSelector)
		defaultWebhookRules(w.Rules, &w.ClientConfig)
	}
}

// defaultWebhook is for what webhooks of both kinds have.
func defaultWebhook(failure **admissionv1.FailurePolicyType, match **admissionv1.MatchPolicyType, timeout **int32, selectors ...**metav1.LabelSelector) {
	setDefault(failure, admissionv1.Fail)
	setDefault(match, admissionv1.Equivalent)
	setDefault(timeout, 10)
	for _, s := range selectors {
		defaultSelector(s)
	}
}

func defaultWebhookRules(rules []admissionv1.RuleWithOperations, client *admissionv1.WebhookClientConfig) {
	for i := range rules {
		setDefault(&rules[i].Scope, admissionv1.AllScopes)
	}
	if client.Service != nil {
		setDefault(&client.Service.Port, httpsPort)
	}
}
