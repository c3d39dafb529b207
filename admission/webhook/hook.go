package webhook

import (
	"fmt"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/miniapiserver/miniapiserver/admission/match"
	"github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/internal/hooks"
)

// hook is one webhook of a configuration, compiled. It is safe for concurrent use.
type hook struct {
	name, config string
	// id is unique among all hooks.
	id       string
	owner    match.Owner
	criteria *match.Criteria
	// conditions compiles the match conditions on first use.
	conditions func() *match.Conditions
	endpoint   hooks.Endpoint
	// ignore is the failure policy Ignore.
	ignore bool
	// noSideEffects reports that the hook may be called for dry runs; nil if sideEffects is not
	// set.
	noSideEffects *bool
	timeout       time.Duration // 0 means no limit besides the request's
	versions      []string
	// reinvoke is the reinvocation policy IfNeeded.
	reinvoke bool
}

// compileHooks compiles webhooks and skips those without rules, which match nothing.
func compileHooks(config string, webhooks []admissionv1.MutatingWebhook, kind string, m *match.Metrics) []*hook {
	var hooks []*hook
	for i := range webhooks {
		if len(webhooks[i].Rules) > 0 {
			hooks = append(hooks, newHook(config, i, &webhooks[i], kind, m))
		}
	}
	return hooks
}

func newHook(config string, n int, w *admissionv1.MutatingWebhook, kind string, m *match.Metrics) *hook {
	resources := &admissionv1.MatchResources{NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector,
		MatchPolicy: w.MatchPolicy}
	for _, rule := range w.Rules {
		resources.ResourceRules = append(resources.ResourceRules, admissionv1.NamedRuleWithOperations{RuleWithOperations: rule})
	}
	h := &hook{
		name: w.Name, config: config, id: fmt.Sprintf("%s/%s/%d", config, w.Name, n),
		owner:    match.Owner{Name: w.Name, Kind: "webhook", Type: kind},
		criteria: match.NewCriteria(resources),
		endpoint: hooks.ParseEndpoint(&w.ClientConfig),
		ignore:   w.FailurePolicy != nil && *w.FailurePolicy == admissionv1.Ignore,
		versions: w.AdmissionReviewVersions,
		reinvoke: w.ReinvocationPolicy != nil && *w.ReinvocationPolicy == admissionv1.IfNeededReinvocationPolicy,
	}
	h.conditions = sync.OnceValue(func() *match.Conditions {
		return match.NewConditions(h.owner, expression.NewCompiler(expression.Scope{}), w.MatchConditions, w.FailurePolicy, m)
	})
	if s := w.SideEffects; s != nil {
		noSideEffects := *s == admissionv1.SideEffectClassNone || *s == admissionv1.SideEffectClassNoneOnDryRun
		h.noSideEffects = &noSideEffects
	}
	if w.TimeoutSeconds != nil {
		h.timeout = time.Duration(*w.TimeoutSeconds) * time.Second
	}
	return h
}

func mutatingHooks(c *admissionv1.MutatingWebhookConfiguration, m *match.Metrics) []*hook {
	return compileHooks(c.Name, c.Webhooks, typeAdmit, m)
}

// validatingHooks converts validating webhooks to mutating ones, which have all their fields.
func validatingHooks(c *admissionv1.ValidatingWebhookConfiguration, m *match.Metrics) []*hook {
	converted := make([]admissionv1.MutatingWebhook, len(c.Webhooks))
	for i, w := range c.Webhooks {
		converted[i] = admissionv1.MutatingWebhook{
			Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, FailurePolicy: w.FailurePolicy, MatchPolicy: w.MatchPolicy,
			NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector, SideEffects: w.SideEffects,
			TimeoutSeconds: w.TimeoutSeconds, AdmissionReviewVersions: w.AdmissionReviewVersions, MatchConditions: w.MatchConditions,
		}
	}
	return compileHooks(c.Name, converted, typeValidate, m)
}
