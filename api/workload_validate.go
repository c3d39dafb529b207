package api

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
)

// Rules that the controllers of pods share.

// mismatch is said of a controller that would not find the pods that it makes.
const mismatch = "`selector` does not match template `labels`"

// podSelectorRules check the selector of a controller. empty is the message for
// one that selects everything.
func podSelectorRules(at *place, s *metav1.LabelSelector, empty string) {
	if s == nil {
		at.required("")
		return
	}
	selectorRules(at, s)
	if len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
		at.invalid(s, empty)
	}
}

// brokenSelector tells whether a stored selector has values that are no labels.
func brokenSelector(s *metav1.LabelSelector) bool {
	return s != nil && len(check(func(at *place) { selectorRules(at, s) })) > 0
}

// matchesTemplate: a controller finds the pods that it makes. It tells whether
// the selector can be used at all.
func matchesTemplate(at *place, s *metav1.LabelSelector, t *corev1.PodTemplateSpec) bool {
	parsed, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return false
	}
	// No selector selects nothing.
	if !parsed.Empty() && !parsed.Matches(labels.Set(t.Labels)) {
		at.of("metadata").of("labels").invalid(t.Labels, mismatch)
	}
	return true
}

// alwaysRestarted: pods that are replaced when they end are not left to end.
func alwaysRestarted(at *place, s *corev1.PodSpec) {
	if s.RestartPolicy != corev1.RestartPolicyAlways {
		oneOf(at.of("restartPolicy"), s.RestartPolicy, corev1.RestartPolicyAlways)
	}
}

// noDeadline: nor are they ended. kind is the controller's, as messages say it.
func noDeadline(at *place, s *corev1.PodSpec, kind string) {
	if s.ActiveDeadlineSeconds != nil {
		at.of("activeDeadlineSeconds").forbidden("activeDeadlineSeconds in " + kind + " is not Supported")
	}
}

// count is a number of pods in a status.
type count struct {
	name  string
	value int32
}

// countsWithin: no count is more than there is in all.
func countsWithin(at *place, all int32, message string, counts ...count) {
	for _, c := range counts {
		if c.value > all {
			at.of(c.name).invalid(c.value, message)
		}
	}
}

func countRules(at *place, counts ...count) {
	for _, c := range counts {
		nonNegative(at.of(c.name), c.value)
	}
}

// moreThanAll and moreThanReady are said of counts that cannot be.
const (
	moreThanAll   = "cannot be greater than status.replicas"
	moreThanReady = "cannot be greater than readyReplicas"
)

// notDecremented: collisions are counted, so that names are not used twice.
func notDecremented(at *place, is, was *int32) {
	var now int32
	if is != nil {
		now = *is
	}
	if was != nil && (is == nil || now < *was) {
		at.invalid(now, "cannot be decremented")
	}
}

// numberOrPercent is a number of pods, or a share of them.
func numberOrPercent(at *place, value intstr.IntOrString) {
	switch value.Type {
	case intstr.String:
		format(at, value.StrVal, utilvalidation.IsValidPercent)
	case intstr.Int:
		nonNegative(at, int(value.IntVal))
	default:
		at.invalid(value, "must be an integer or percentage (e.g '5%%')")
	}
}

// shareOf is the share in a value, if it is one.
func shareOf(value intstr.IntOrString) (int, bool) {
	if value.Type != intstr.String || len(utilvalidation.IsValidPercent(value.StrVal)) > 0 {
		return 0, false
	}
	n := 0
	for _, digit := range value.StrVal[:len(value.StrVal)-1] {
		n = min(n*10+int(digit-'0'), 1<<30)
	}
	return n, true
}

// atMostAll refuses a share of more than all.
func atMostAll(at *place, value intstr.IntOrString) {
	if n, ok := shareOf(value); ok && n > 100 {
		at.invalid(value, "must not be greater than 100%")
	}
}

// nothing tells of the number 0 and of a share of nothing.
func nothing(value *intstr.IntOrString) bool {
	if value == nil {
		return true
	}
	if n, ok := shareOf(*value); ok {
		return n == 0
	}
	return value.IntVal == 0
}
