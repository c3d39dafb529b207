package webhook

import (
	"fmt"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/admission/match"
	"github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/registry/hooks"
)

// hook is one webhook of a configuration, compiled. It is safe for concurrent
// use.
type hook struct {
	name, config string
	// id is its own among all hooks.
	id       string
	owner    match.Owner
	criteria *match.Criteria
	// conditions are compiled when they are first needed.
	conditions func() *match.Conditions
	endpoint   hooks.Endpoint
	// ignore is its failure policy.
	ignore bool
	// quiet: it may be asked about what is not to happen. Nil means that nobody
	// said so.
	quiet    *bool
	timeout  time.Duration // 0 means none of its own
	versions []string
	// again: it wants to be asked once more about what changed after it.
	again bool
}

// fields are what the two kinds of webhooks have alike.
type fields struct {
	name              string
	client            *admissionv1.WebhookClientConfig
	rules             []admissionv1.RuleWithOperations
	failure           *admissionv1.FailurePolicyType
	match             *admissionv1.MatchPolicyType
	namespace, object *metav1.LabelSelector
	sideEffects       *admissionv1.SideEffectClass
	timeout           *int32
	versions          []string
	conditions        []admissionv1.MatchCondition
}

func (w *fields) compile(config string, n int, kind string, m *match.Metrics) *hook {
	resources := &admissionv1.MatchResources{NamespaceSelector: w.namespace, ObjectSelector: w.object, MatchPolicy: w.match}
	for _, rule := range w.rules {
		resources.ResourceRules = append(resources.ResourceRules, admissionv1.NamedRuleWithOperations{RuleWithOperations: rule})
	}
	h := &hook{
		name: w.name, config: config, id: fmt.Sprintf("%s/%s/%d", config, w.name, n),
		owner:    match.Owner{Name: w.name, Kind: "webhook", Type: kind},
		criteria: match.NewCriteria(resources),
		endpoint: hooks.EndpointOf(w.client),
		ignore:   w.failure != nil && *w.failure == admissionv1.Ignore,
		versions: w.versions,
	}
	h.conditions = sync.OnceValue(func() *match.Conditions {
		return match.NewConditions(h.owner, expression.NewCompiler(expression.Scope{}), w.conditions, w.failure, m)
	})
	if s := w.sideEffects; s != nil {
		quiet := *s == admissionv1.SideEffectClassNone || *s == admissionv1.SideEffectClassNoneOnDryRun
		h.quiet = &quiet
	}
	if w.timeout != nil {
		h.timeout = time.Duration(*w.timeout) * time.Second
	}
	return h
}

// mutatingHooks and validatingHooks compile configurations. A webhook without
// rules is about nothing.
func mutatingHooks(c *admissionv1.MutatingWebhookConfiguration, m *match.Metrics) []*hook {
	var hooks []*hook
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		if len(w.Rules) == 0 {
			continue
		}
		f := &fields{w.Name, &w.ClientConfig, w.Rules, w.FailurePolicy, w.MatchPolicy, w.NamespaceSelector, w.ObjectSelector,
			w.SideEffects, w.TimeoutSeconds, w.AdmissionReviewVersions, w.MatchConditions}
		h := f.compile(c.Name, i, typeAdmit, m)
		h.again = w.ReinvocationPolicy != nil && *w.ReinvocationPolicy == admissionv1.IfNeededReinvocationPolicy
		hooks = append(hooks, h)
	}
	return hooks
}

func validatingHooks(c *admissionv1.ValidatingWebhookConfiguration, m *match.Metrics) []*hook {
	var hooks []*hook
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		if len(w.Rules) == 0 {
			continue
		}
		f := &fields{w.Name, &w.ClientConfig, w.Rules, w.FailurePolicy, w.MatchPolicy, w.NamespaceSelector, w.ObjectSelector,
			w.SideEffects, w.TimeoutSeconds, w.AdmissionReviewVersions, w.MatchConditions}
		hooks = append(hooks, f.compile(c.Name, i, typeValidate, m))
	}
	return hooks
}
