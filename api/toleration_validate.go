package api

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
)

// tolerationRules check a list of tolerations. comparisons reports whether they
// may compare numbers.
func tolerationRules(at *place, list []corev1.Toleration, comparisons bool) {
	each(at, list, func(at *place, t *corev1.Toleration) {
		if t.Key != "" {
			format(at.of("key"), t.Key, qualifiedName)
		} else if t.Operator != corev1.TolerationOpExists {
			at.of("operator").invalid(t.Operator, "operator must be Exists when `key` is empty, which means \"match all values and all keys\"")
		}
		if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
			at.of("effect").invalid(t.Effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
		}
		tolerationValueRules(at, t, comparisons)
		if t.Effect != "" {
			oneOf(at.of("effect"), t.Effect, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)
		}
	})
}

// tolerationValueRules list faults of the value with the operator.
func tolerationValueRules(at *place, t *corev1.Toleration, comparisons bool) {
	switch t.Operator {
	case corev1.TolerationOpEqual, "":
		if faults := labelValue(t.Value); len(faults) > 0 {
			at.of("operator").invalid(t.Value, strings.Join(faults, ";"))
		}
	case corev1.TolerationOpExists:
		if t.Value != "" {
			at.of("operator").invalid(t.Value, "value must be empty when `operator` is 'Exists'")
		}
	case corev1.TolerationOpLt, corev1.TolerationOpGt:
		if !comparisons {
			notSupported(at.of("operator"), t.Operator, corev1.TolerationOpEqual, corev1.TolerationOpExists, corev1.TolerationOpLt, corev1.TolerationOpGt)
			return
		}
		format(at.of("value"), t.Value, content.IsDecimalInteger)
		if _, err := strconv.ParseInt(t.Value, 10, 64); err != nil {
			at.of("value").invalid(t.Value, err.Error())
		}
	default:
		oneOf(at.of("operator"), t.Operator, corev1.TolerationOpEqual, corev1.TolerationOpExists)
	}
}

// compares reports whether an operator compares numbers.
func compares(o corev1.TolerationOperator) bool {
	return o == corev1.TolerationOpLt || o == corev1.TolerationOpGt
}

// taintEffect is the effect of a taint, which must be said.
func taintEffect(at *place, effect corev1.TaintEffect) bool {
	return enum(at, effect, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)
}

// canonicalInt32 tells whether a string is a number as it would be written.
func canonicalInt32(s string) bool {
	n, err := strconv.ParseInt(s, 10, 32)
	return err == nil && strconv.FormatInt(n, 10) == s
}
