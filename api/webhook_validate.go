package api

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
)

// Rules for the two kinds of webhook configurations. Some are newer than the
// kinds: they hold for objects that kept to them before, or are new.

const (
	maxMatchConditions = 64
	maxWebhookSeconds  = 30
	httpsPort          = 443
)

// reviewVersions are the versions of AdmissionReview that can be sent.
func reviewVersions() []string { return []string{"v1", "v1beta1"} }

// webhook is what webhooks of both kinds have.
type webhook struct {
	name           string
	client         *admissionv1.WebhookClientConfig
	rules          []admissionv1.RuleWithOperations
	failure        *admissionv1.FailurePolicyType
	match          *admissionv1.MatchPolicyType
	sideEffects    *admissionv1.SideEffectClass
	timeout        *int32
	versions       []string
	namespace      *metav1.LabelSelector
	object         *metav1.LabelSelector
	reinvocation   *admissionv1.ReinvocationPolicyType
	matchCondition []admissionv1.MatchCondition
}

// webhookLeniency tells which of the newer rules do not hold.
type webhookLeniency struct {
	names, versions, sideEffects, selectors, conditions bool
}

func mutatingWebhooks(c *admissionv1.MutatingWebhookConfiguration) []webhook {
	list := make([]webhook, len(c.Webhooks))
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		list[i] = webhook{w.Name, &w.ClientConfig, w.Rules, w.FailurePolicy, w.MatchPolicy, w.SideEffects, w.TimeoutSeconds,
			w.AdmissionReviewVersions, w.NamespaceSelector, w.ObjectSelector, w.ReinvocationPolicy, w.MatchConditions}
	}
	return list
}

func validatingWebhooks(c *admissionv1.ValidatingWebhookConfiguration) []webhook {
	list := make([]webhook, len(c.Webhooks))
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		list[i] = webhook{w.Name, &w.ClientConfig, w.Rules, w.FailurePolicy, w.MatchPolicy, w.SideEffects, w.TimeoutSeconds,
			w.AdmissionReviewVersions, w.NamespaceSelector, w.ObjectSelector, nil, w.MatchConditions}
	}
	return list
}

// lenientFor tells which rules an update from was to is need not keep to.
func lenientFor(is, was []webhook) webhookLeniency {
	l := webhookLeniency{conditions: len(is) == len(was)}
	var names unique[string]
	for i := range was {
		w := &was[i]
		l.names = l.names || !names.add(scratch(), w.name)
		l.versions = l.versions || len(w.versions) > 0 && !reviewable(w.versions)
		l.sideEffects = l.sideEffects || w.sideEffects == nil || !harmless(*w.sideEffects)
		at := scratch()
		selectorRules(at, w.namespace)
		selectorRules(at, w.object)
		l.selectors = l.selectors || !at.clean()
		l.conditions = l.conditions && slices.Equal(is[i].matchCondition, w.matchCondition)
	}
	return l
}

// scratch is a place for faults that nobody will see.
func scratch() *place {
	var at *place
	check(func(root *place) { at = root })
	return at
}

func reviewable(versions []string) bool {
	return slices.ContainsFunc(versions, func(v string) bool { return slices.Contains(reviewVersions(), v) })
}

func harmless(s admissionv1.SideEffectClass) bool {
	return s == admissionv1.SideEffectClassNone || s == admissionv1.SideEffectClassNoneOnDryRun
}

func webhookRules(at *place, list []webhook, lenient webhookLeniency) {
	var names unique[string]
	for i := range list {
		w, at := &list[i], at.item(i)
		webhookNameAndPolicyRules(at, w, lenient)
		if s := w.timeout; s != nil && (*s < 1 || *s > maxWebhookSeconds) {
			at.of("timeoutSeconds").invalid(*s, "the timeout value must be between 1 and 30 seconds")
		}
		lenientSelectorRules(at.of("namespaceSelector"), w.namespace, lenient.selectors)
		lenientSelectorRules(at.of("objectSelector"), w.object, lenient.selectors)
		optionalEnum(at.of("reinvocationPolicy"), w.reinvocation, admissionv1.IfNeededReinvocationPolicy, admissionv1.NeverReinvocationPolicy)
		webhookClientRules(at.of("clientConfig"), w.client)
		if !lenient.conditions {
			matchConditionRules(at.of("matchConditions"), w.matchCondition, false)
		}
		reviewVersionRules(at.of("admissionReviewVersions"), w.versions, lenient.versions, "must specify one of "+strings.Join(reviewVersions(), ", "))
		if !lenient.names && w.name != "" {
			names.add(at.of("name"), w.name)
		}
	}
}

func webhookNameAndPolicyRules(at *place, w *webhook, lenient webhookLeniency) {
	at.add(utilvalidation.IsFullyQualifiedName(at.of("name").path(), w.name)...)
	each(at.of("rules"), w.rules, operationRules)
	webhookFailureRules(at.of("failurePolicy"), w.failure)
	webhookMatchRules(at.of("matchPolicy"), w.match)
	allowed := []admissionv1.SideEffectClass{admissionv1.SideEffectClassNone, admissionv1.SideEffectClassNoneOnDryRun}
	if lenient.sideEffects {
		allowed = append(allowed, admissionv1.SideEffectClassSome, admissionv1.SideEffectClassUnknown)
	}
	if w.sideEffects == nil {
		names := make([]string, len(allowed))
		for i, s := range allowed {
			names[i] = string(s)
		}
		at.of("sideEffects").required("must specify one of " + strings.Join(names, ", "))
		return
	}
	oneOf(at.of("sideEffects"), *w.sideEffects, allowed...)
}

func webhookFailureRules(at *place, p *admissionv1.FailurePolicyType) {
	optionalEnum(at, p, admissionv1.Fail, admissionv1.Ignore)
}

func webhookMatchRules(at *place, p *admissionv1.MatchPolicyType) {
	optionalEnum(at, p, admissionv1.Equivalent, admissionv1.Exact)
}

// reviewVersionRules are about the versions of reviews that a webhook takes; missing
// is what is said when there are none.
func reviewVersionRules(at *place, versions []string, lenient bool, missing string) {
	if len(versions) == 0 {
		at.required(missing)
		return
	}
	var seen unique[string]
	for i, v := range versions {
		if seen.has(v) {
			at.item(i).invalid(v, "duplicate version")
			continue
		}
		seen.put(v)
		format(at.item(i), v, utilvalidation.IsDNS1035Label)
	}
	if !lenient && !reviewable(versions) {
		at.invalid(versions, "must include at least one of "+strings.Join(reviewVersions(), ", "))
	}
}

func webhookClientRules(at *place, c *admissionv1.WebhookClientConfig) {
	switch {
	case (c.URL == nil) == (c.Service == nil):
		at.required("exactly one of url or service is required")
	case c.URL != nil:
		webhookURL(at.of("url"), *c.URL)
	default:
		webhookService(at.of("service"), c.Service)
	}
}

func webhookURL(at *place, text string) {
	const form = "; desired format: https://host[/path]"
	u, err := url.Parse(text)
	if err != nil {
		at.required("url must be a valid URL: " + err.Error() + form)
		return
	}
	if u.Scheme != "https" {
		at.invalid(u.Scheme, "'https' is the only allowed URL scheme"+form)
	}
	if u.Host == "" {
		at.invalid(u.Host, "host must be specified"+form)
	}
	if u.User != nil {
		at.invalid(u.User.String(), "user information is not permitted in the URL")
	}
	if u.Fragment != "" {
		at.invalid(u.Fragment, "fragments are not permitted in the URL")
	}
	if u.RawQuery != "" {
		at.invalid(u.RawQuery, "query parameters are not permitted in the URL")
	}
}

// webhookService checks the service of a webhook. kube-apiserver swaps name and
// namespace here, so a missing name is reported at namespace, and the reverse.
func webhookService(at *place, s *admissionv1.ServiceReference) {
	required(at.of("name"), s.Namespace)
	required(at.of("namespace"), s.Name)
	if s.Port != nil {
		if faults := utilvalidation.IsValidPortNum(int(*s.Port)); len(faults) > 0 {
			at.of("port").invalid(*s.Port, "port is not valid: "+strings.Join(faults, ", "))
		}
	}
	if s.Path != nil {
		webhookPath(at.of("path"), *s.Path)
	}
}

func webhookPath(at *place, path string) {
	switch {
	case path == "/" || path == "":
		return
	case path == "//":
		at.invalid(path, "segment[0] may not be empty")
		return
	case !strings.HasPrefix(path, "/"):
		at.invalid(path, "must start with a '/'")
	}
	// The first character is not looked at, whatever it is.
	steps := strings.Split(strings.TrimSuffix(path[1:], "/"), "/")
	for i, step := range steps {
		if step == "" {
			at.invalid(path, fmt.Sprintf("segment[%d] may not be empty", i))
			continue
		}
		for _, fault := range dnsSubdomain(step) {
			at.invalid(path, fmt.Sprintf("segment[%d]: %v", i, fault))
		}
	}
}

func mutatingWebhookRules(at *place, c *admissionv1.MutatingWebhookConfiguration) {
	webhookRules(at.of("webhooks"), mutatingWebhooks(c), webhookLeniency{})
}

func mutatingWebhookChanges(at *place, is, was *admissionv1.MutatingWebhookConfiguration) {
	now := mutatingWebhooks(is)
	webhookRules(at.of("webhooks"), now, lenientFor(now, mutatingWebhooks(was)))
}

func validatingWebhookRules(at *place, c *admissionv1.ValidatingWebhookConfiguration) {
	webhookRules(at.of("webhooks"), validatingWebhooks(c), webhookLeniency{})
}

func validatingWebhookChanges(at *place, is, was *admissionv1.ValidatingWebhookConfiguration) {
	now := validatingWebhooks(is)
	webhookRules(at.of("webhooks"), now, lenientFor(now, validatingWebhooks(was)))
}
