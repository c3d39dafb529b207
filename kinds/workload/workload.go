package workload

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/miniapiserver/miniapiserver/api/validation"
)

// SelectorMismatch is the message for a selector that does not match the labels of the pod
// template.
const SelectorMismatch = "`selector` does not match template `labels`"

// PodSelectorRules validates the pod selector of a workload. empty is the message for a
// selector that selects everything.
func PodSelectorRules(at *validation.Path, s *metav1.LabelSelector, empty string) {
	if s == nil {
		at.Required("")
		return
	}
	validation.SelectorRules(at, s)
	if len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
		at.Invalid(s, empty)
	}
}

// HasInvalidSelectorValues reports whether a stored selector is invalid by the current rules.
func HasInvalidSelectorValues(s *metav1.LabelSelector) bool {
	return s != nil && len(validation.Check(func(at *validation.Path) { validation.SelectorRules(at, s) })) > 0
}

// SelectorMatchesTemplate validates that a selector matches the labels of the pod template.
// It returns false if the selector cannot be parsed.
func SelectorMatchesTemplate(at *validation.Path, s *metav1.LabelSelector, t *corev1.PodTemplateSpec) bool {
	parsed, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return false
	}
	// A nil selector selects nothing, but Required reports it already.
	if !parsed.Empty() && !parsed.Matches(labels.Set(t.Labels)) {
		at.Child("metadata").Child("labels").Invalid(t.Labels, SelectorMismatch)
	}
	return true
}

// RequireRestartAlways validates that the restart policy of a pod template is Always.
func RequireRestartAlways(at *validation.Path, s *corev1.PodSpec) {
	if s.RestartPolicy != corev1.RestartPolicyAlways {
		validation.OneOf(at.Child("restartPolicy"), s.RestartPolicy, corev1.RestartPolicyAlways)
	}
}

// ForbidActiveDeadline validates that a pod template has no activeDeadlineSeconds. kind is the
// kind of the workload in the message.
func ForbidActiveDeadline(at *validation.Path, s *corev1.PodSpec, kind string) {
	if s.ActiveDeadlineSeconds != nil {
		at.Child("activeDeadlineSeconds").Forbidden("activeDeadlineSeconds in " + kind + " is not Supported")
	}
}

// PodCount is a count of pods in a status field.
type PodCount struct {
	Name  string
	Value int32
}

// CountsAtMost validates that no count is greater than all.
func CountsAtMost(at *validation.Path, all int32, message string, counts ...PodCount) {
	for _, c := range counts {
		if c.Value > all {
			at.Child(c.Name).Invalid(c.Value, message)
		}
	}
}

// NonNegativeCounts validates that no count is negative.
func NonNegativeCounts(at *validation.Path, counts ...PodCount) {
	for _, c := range counts {
		validation.NonNegative(at.Child(c.Name), c.Value)
	}
}

// Messages of CountsAtMost.
const (
	MoreThanAll   = "cannot be greater than status.replicas"
	MoreThanReady = "cannot be greater than readyReplicas"
)

// CollisionCountUpdate validates that the collision count, from which controllers derive
// names, does not decrease.
func CollisionCountUpdate(at *validation.Path, value, old *int32) {
	var now int32
	if value != nil {
		now = *value
	}
	if old != nil && (value == nil || now < *old) {
		at.Invalid(now, "cannot be decremented")
	}
}

// NumberOrPercent validates a number or percentage of pods.
func NumberOrPercent(at *validation.Path, value intstr.IntOrString) {
	switch value.Type {
	case intstr.String:
		validation.Format(at, value.StrVal, utilvalidation.IsValidPercent)
	case intstr.Int:
		validation.NonNegative(at, int(value.IntVal))
	default:
		at.Invalid(value, "must be an integer or percentage (e.g '5%%')")
	}
}

// percentValue returns the number of a percentage; ok is false for other values.
func percentValue(value intstr.IntOrString) (int, bool) {
	if value.Type != intstr.String || len(utilvalidation.IsValidPercent(value.StrVal)) > 0 {
		return 0, false
	}
	n := 0
	for _, digit := range value.StrVal[:len(value.StrVal)-1] {
		n = min(n*10+int(digit-'0'), 1<<30)
	}
	return n, true
}

// PercentAtMost100 validates that a percentage is at most 100%.
func PercentAtMost100(at *validation.Path, value intstr.IntOrString) {
	if n, ok := percentValue(value); ok && n > 100 {
		at.Invalid(value, "must not be greater than 100%")
	}
}

// IsZeroOrZeroPercent reports whether a value is nil, 0 or 0%.
func IsZeroOrZeroPercent(value *intstr.IntOrString) bool {
	if value == nil {
		return true
	}
	if n, ok := percentValue(*value); ok {
		return n == 0
	}
	return value.IntVal == 0
}
