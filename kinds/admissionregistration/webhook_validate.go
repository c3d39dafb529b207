package admissionregistration

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

// Validation of the two kinds of webhook configurations. Some rules are newer than the
// kinds: an update may violate them if the old object does.

const (
	maxMatchConditions = 64
	maxWebhookSeconds  = 30
	httpsPort          = 443
)

// reviewVersions returns the supported versions of AdmissionReview.
func reviewVersions() []string { return []string{"v1", "v1beta1"} }

// webhookFields has the fields that mutating and validating webhooks share.
type webhookFields struct {
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

// webhookLeniency has the newer rules that an update may violate.
type webhookLeniency struct {
	names, versions, sideEffects, selectors, conditions bool
}

func mutatingWebhooks(c *admissionv1.MutatingWebhookConfiguration) []webhookFields {
	if c == nil {
		return nil
	}
	list := make([]webhookFields, len(c.Webhooks))
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		list[i] = webhookFields{w.Name, &w.ClientConfig, w.Rules, w.FailurePolicy, w.MatchPolicy, w.SideEffects, w.TimeoutSeconds,
			w.AdmissionReviewVersions, w.NamespaceSelector, w.ObjectSelector, w.ReinvocationPolicy, w.MatchConditions}
	}
	return list
}

func validatingWebhooks(c *admissionv1.ValidatingWebhookConfiguration) []webhookFields {
	if c == nil {
		return nil
	}
	list := make([]webhookFields, len(c.Webhooks))
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		list[i] = webhookFields{w.Name, &w.ClientConfig, w.Rules, w.FailurePolicy, w.MatchPolicy, w.SideEffects, w.TimeoutSeconds,
			w.AdmissionReviewVersions, w.NamespaceSelector, w.ObjectSelector, nil, w.MatchConditions}
	}
	return list
}

// lenientWebhooks returns the newer rules that the old webhooks violate, which an update may
// violate too. Match conditions are lenient if they are unchanged. A new object has no old webhooks.
func lenientWebhooks(list, old []webhookFields) webhookLeniency {
	l := webhookLeniency{conditions: len(list) == len(old)}
	var names validation.Unique[string]
	for i := range old {
		w := &old[i]
		l.names = l.names || !names.Add(discardingPath(), w.name)
		l.versions = l.versions || len(w.versions) > 0 && !Reviewable(w.versions)
		l.sideEffects = l.sideEffects || w.sideEffects == nil || !hasNoSideEffects(*w.sideEffects)
		at := discardingPath()
		validation.SelectorRules(at, w.namespace)
		validation.SelectorRules(at, w.object)
		l.selectors = l.selectors || !at.IsValid()
		l.conditions = l.conditions && slices.Equal(list[i].matchCondition, w.matchCondition)
	}
	return l
}

// discardingPath returns a path whose errors are discarded.
func discardingPath() *validation.Path {
	var at *validation.Path
	validation.Check(func(root *validation.Path) { at = root })
	return at
}

// Reviewable reports whether versions contains a supported review version.
func Reviewable(versions []string) bool {
	return slices.ContainsFunc(versions, func(v string) bool { return slices.Contains(reviewVersions(), v) })
}

// hasNoSideEffects reports whether a dry run may call a webhook with these side effects.
func hasNoSideEffects(s admissionv1.SideEffectClass) bool {
	return s == admissionv1.SideEffectClassNone || s == admissionv1.SideEffectClassNoneOnDryRun
}

func webhookRules(at *validation.Path, list []webhookFields, lenient webhookLeniency, functions expression.Writer) {
	var names validation.Unique[string]
	for i := range list {
		w, at := &list[i], at.Index(i)
		webhookNameAndPolicyRules(at, w, lenient)
		if s := w.timeout; s != nil && (*s < 1 || *s > maxWebhookSeconds) {
			at.Child("timeoutSeconds").Invalid(*s, "the timeout value must be between 1 and 30 seconds")
		}
		validation.LenientSelectorRules(at.Child("namespaceSelector"), w.namespace, lenient.selectors)
		validation.LenientSelectorRules(at.Child("objectSelector"), w.object, lenient.selectors)
		validation.OptionalEnum(at.Child("reinvocationPolicy"), w.reinvocation, admissionv1.IfNeededReinvocationPolicy,
			admissionv1.NeverReinvocationPolicy)
		webhookClientRules(at.Child("clientConfig"), w.client)
		if !lenient.conditions {
			matchConditionRules(at.Child("matchConditions"), w.matchCondition, expression.Scope{Functions: functions})
		}
		ReviewVersionRules(at.Child("admissionReviewVersions"), w.versions, lenient.versions,
			"must specify one of "+strings.Join(reviewVersions(), ", "))
		if !lenient.names && w.name != "" {
			names.Add(at.Child("name"), w.name)
		}
	}
}

func webhookNameAndPolicyRules(at *validation.Path, w *webhookFields, lenient webhookLeniency) {
	at.Add(utilvalidation.IsFullyQualifiedName(at.Child("name").ToField(), w.name)...)
	validation.Each(at.Child("rules"), w.rules, operationRules)
	webhookFailureRules(at.Child("failurePolicy"), w.failure)
	webhookMatchRules(at.Child("matchPolicy"), w.match)
	allowed := []admissionv1.SideEffectClass{admissionv1.SideEffectClassNone, admissionv1.SideEffectClassNoneOnDryRun}
	if lenient.sideEffects {
		allowed = append(allowed, admissionv1.SideEffectClassSome, admissionv1.SideEffectClassUnknown)
	}
	if w.sideEffects == nil {
		names := make([]string, len(allowed))
		for i, s := range allowed {
			names[i] = string(s)
		}
		at.Child("sideEffects").Required("must specify one of " + strings.Join(names, ", "))
		return
	}
	validation.OneOf(at.Child("sideEffects"), *w.sideEffects, allowed...)
}

func webhookFailureRules(at *validation.Path, p *admissionv1.FailurePolicyType) {
	validation.OptionalEnum(at, p, admissionv1.Fail, admissionv1.Ignore)
}

func webhookMatchRules(at *validation.Path, p *admissionv1.MatchPolicyType) {
	validation.OptionalEnum(at, p, admissionv1.Equivalent, admissionv1.Exact)
}

// ReviewVersionRules validates the review versions that a webhook accepts; missing is the
// detail of the error for an empty list.
func ReviewVersionRules(at *validation.Path, versions []string, lenient bool, missing string) {
	if len(versions) == 0 {
		at.Required(missing)
		return
	}
	var seen validation.Unique[string]
	for i, v := range versions {
		if seen.Has(v) {
			at.Index(i).Invalid(v, "duplicate version")
			continue
		}
		seen.Insert(v)
		validation.Format(at.Index(i), v, utilvalidation.IsDNS1035Label)
	}
	if !lenient && !Reviewable(versions) {
		at.Invalid(versions, "must include at least one of "+strings.Join(reviewVersions(), ", "))
	}
}

func webhookClientRules(at *validation.Path, c *admissionv1.WebhookClientConfig) {
	switch {
	case (c.URL == nil) == (c.Service == nil):
		at.Required("exactly one of url or service is required")
	case c.URL != nil:
		WebhookURL(at.Child("url"), *c.URL)
	default:
		WebhookService(at.Child("service"), c.Service)
	}
}

// WebhookURL validates the URL of a webhook.
func WebhookURL(at *validation.Path, text string) {
	const form = "; desired format: https://host[/path]"
	u, err := url.Parse(text)
	if err != nil {
		at.Required("url must be a valid URL: " + err.Error() + form)
		return
	}
	if u.Scheme != "https" {
		at.Invalid(u.Scheme, "'https' is the only allowed URL scheme"+form)
	}
	if u.Host == "" {
		at.Invalid(u.Host, "host must be specified"+form)
	}
	if u.User != nil {
		at.Invalid(u.User.String(), "user information is not permitted in the URL")
	}
	if u.Fragment != "" {
		at.Invalid(u.Fragment, "fragments are not permitted in the URL")
	}
	if u.RawQuery != "" {
		at.Invalid(u.RawQuery, "query parameters are not permitted in the URL")
	}
}

// WebhookService validates the service of a webhook. kube-apiserver swaps name and
// namespace here, so a missing name is reported at namespace, and the reverse.
func WebhookService(at *validation.Path, s *admissionv1.ServiceReference) {
	validation.Required(at.Child("name"), s.Namespace)
	validation.Required(at.Child("namespace"), s.Name)
	if s.Port != nil {
		if faults := utilvalidation.IsValidPortNum(int(*s.Port)); len(faults) > 0 {
			at.Child("port").Invalid(*s.Port, "port is not valid: "+strings.Join(faults, ", "))
		}
	}
	if s.Path != nil {
		webhookPath(at.Child("path"), *s.Path)
	}
}

func webhookPath(at *validation.Path, path string) {
	switch {
	case path == "/" || path == "":
		return
	case path == "//":
		at.Invalid(path, "segment[0] may not be empty")
		return
	case !strings.HasPrefix(path, "/"):
		at.Invalid(path, "must start with a '/'")
	}
	// Like kube-apiserver, this skips the first character even if it is no slash.
	steps := strings.Split(strings.TrimSuffix(path[1:], "/"), "/")
	for i, step := range steps {
		if step == "" {
			at.Invalid(path, fmt.Sprintf("segment[%d] may not be empty", i))
			continue
		}
		for _, fault := range validation.DNSSubdomain(step) {
			at.Invalid(path, fmt.Sprintf("segment[%d]: %v", i, fault))
		}
	}
}

// storedConditions permits all functions in match conditions of the old webhooks.
func storedConditions(functions expression.Library, old []webhookFields) expression.Writer {
	return expression.Writer{New: functions, Stored: func(text string) bool {
		return slices.ContainsFunc(old, func(w webhookFields) bool { return hasCondition(w.matchCondition, text) })
	}}
}
