package pod

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/miniapiserver/miniapiserver/api/validation"
)

// TolerationRules validates a list of tolerations. comparisons: they may compare numbers.
func TolerationRules(at *validation.Path, list []corev1.Toleration, comparisons bool) {
	validation.Each(at, list, func(at *validation.Path, t *corev1.Toleration) {
		if t.Key != "" {
			validation.Format(at.Child("key"), t.Key, validation.QualifiedName)
		} else if t.Operator != corev1.TolerationOpExists {
			at.Child("operator").Invalid(t.Operator, "operator must be Exists when `key` is empty, which means \"match all values and all keys\"")
		}
		if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
			at.Child("effect").Invalid(t.Effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
		}
		tolerationValueRules(at, t, comparisons)
		if t.Effect != "" {
			validation.OneOf(at.Child("effect"), t.Effect, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule,
				corev1.TaintEffectNoExecute)
		}
	})
}

// tolerationValueRules validates the value of a toleration. Errors have the path of the
// operator.
func tolerationValueRules(at *validation.Path, t *corev1.Toleration, comparisons bool) {
	switch t.Operator {
	case corev1.TolerationOpEqual, "":
		if faults := validation.LabelValue(t.Value); len(faults) > 0 {
			at.Child("operator").Invalid(t.Value, strings.Join(faults, ";"))
		}
	case corev1.TolerationOpExists:
		if t.Value != "" {
			at.Child("operator").Invalid(t.Value, "value must be empty when `operator` is 'Exists'")
		}
	case corev1.TolerationOpLt, corev1.TolerationOpGt:
		if !comparisons {
			validation.NotSupported(at.Child("operator"), t.Operator, corev1.TolerationOpEqual, corev1.TolerationOpExists,
				corev1.TolerationOpLt, corev1.TolerationOpGt)
			return
		}
		validation.Format(at.Child("value"), t.Value, content.IsDecimalInteger)
		if _, err := strconv.ParseInt(t.Value, 10, 64); err != nil {
			at.Child("value").Invalid(t.Value, err.Error())
		}
	default:
		validation.OneOf(at.Child("operator"), t.Operator, corev1.TolerationOpEqual, corev1.TolerationOpExists)
	}
}

// comparesNumbers reports whether an operator compares numbers.
func comparesNumbers(o corev1.TolerationOperator) bool {
	return o == corev1.TolerationOpLt || o == corev1.TolerationOpGt
}

// TaintEffect validates the effect of a taint, which is required.
func TaintEffect(at *validation.Path, effect corev1.TaintEffect) bool {
	return validation.Enum(at, effect, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)
}

// canonicalInt32 reports whether s is a 32-bit integer in canonical form.
func canonicalInt32(s string) bool {
	n, err := strconv.ParseInt(s, 10, 32)
	return err == nil && strconv.FormatInt(n, 10) == s
}
