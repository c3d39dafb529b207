package api

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Bounds of the policies of a job.
const (
	maxPolicyRules  = 20
	maxPolicyCodes  = 255
	maxConditions   = 20
	maxIndexesBytes = 64 * 1024
)

func failurePolicyRules(at *place, s *batchv1.JobSpec) {
	rules := s.PodFailurePolicy.Rules
	if len(rules) > maxPolicyRules {
		at.of("rules").tooMany(len(rules), maxPolicyRules)
	}
	for i := range rules {
		failureRule(at.of("rules").item(i), &rules[i], s)
	}
}

// listedEnum is enum for the fields whose message lists the valid values where
// there is none.
func listedEnum[T ~string](at *place, value T, valid ...T) bool {
	if value == "" {
		at.required(fmt.Sprintf("valid values: %q", valid))
		return false
	}
	return oneOf(at, value, valid...)
}

func failureRule(at *place, r *batchv1.PodFailurePolicyRule, s *batchv1.JobSpec) {
	if listedEnum(at.of("action"), r.Action, batchv1.PodFailurePolicyActionCount, batchv1.PodFailurePolicyActionFailIndex,
		batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionIgnore) &&
		r.Action == batchv1.PodFailurePolicyActionFailIndex && s.BackoffLimitPerIndex == nil {
		at.of("action").invalid(r.Action, "requires the backoffLimitPerIndex to be set")
	}
	if r.OnExitCodes != nil {
		exitCodeRules(at.of("onExitCodes"), r.OnExitCodes, &s.Template.Spec)
	}
	conditions := at.of("onPodConditions")
	if len(r.OnPodConditions) > maxConditions {
		conditions.tooMany(len(r.OnPodConditions), maxConditions)
	}
	for i, c := range r.OnPodConditions {
		format(conditions.item(i).of("type"), string(c.Type), qualifiedName)
		listedEnum(conditions.item(i).of("status"), c.Status, corev1.ConditionFalse, corev1.ConditionTrue, corev1.ConditionUnknown)
	}
	switch codes, some := r.OnExitCodes != nil, len(r.OnPodConditions) > 0; {
	case codes && some:
		at.invalid(field.OmitValueType{}, "specifying both OnExitCodes and OnPodConditions is not supported")
	case !codes && !some:
		at.invalid(field.OmitValueType{}, "specifying one of OnExitCodes and OnPodConditions is required")
	}
}

func exitCodeRules(at *place, r *batchv1.PodFailurePolicyOnExitCodesRequirement, pod *corev1.PodSpec) {
	listedEnum(at.of("operator"), r.Operator, batchv1.PodFailurePolicyOnExitCodesOpIn, batchv1.PodFailurePolicyOnExitCodesOpNotIn)
	if name := r.ContainerName; name != nil {
		named := func(c corev1.Container) bool { return c.Name == *name }
		if !slices.ContainsFunc(pod.Containers, named) && !slices.ContainsFunc(pod.InitContainers, named) {
			at.of("containerName").invalid(*name, "must be one of the container or initContainer names in the pod template")
		}
	}
	values := at.of("values")
	switch n := len(r.Values); {
	case n == 0:
		values.invalid(r.Values, "at least one value is required")
	case n > maxPolicyCodes:
		values.tooMany(n, maxPolicyCodes)
	}
	var seen unique[int32]
	for i, v := range r.Values {
		if r.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn && v == 0 {
			values.item(i).invalid(v, "must not be 0 for the In operator")
		}
		seen.add(values.item(i), v)
	}
	if !slices.IsSorted(r.Values) {
		values.invalid(r.Values, "must be ordered")
	}
}

// successPolicyRules let a numbered job be done before all its pods are.
func successPolicyRules(at *place, s *batchv1.JobSpec) {
	at = at.of("successPolicy")
	if !indexed(s) {
		at.invalid(s.SuccessPolicy, "requires indexed completion mode")
		return
	}
	rules := s.SuccessPolicy.Rules
	if len(rules) == 0 {
		at.of("rules").required("at least one rules must be specified when the successPolicy is specified")
	}
	if len(rules) > maxPolicyRules {
		at.of("rules").tooMany(len(rules), maxPolicyRules)
	}
	for i := range rules {
		successRule(at.of("rules").item(i), &rules[i], s.Completions)
	}
}

func successRule(at *place, r *batchv1.SuccessPolicyRule, completions *int32) {
	if r.SucceededCount == nil && r.SucceededIndexes == nil {
		at.required("at least one of succeededCount or succeededIndexes must be specified")
	}
	total := int32(0)
	if r.SucceededIndexes != nil && completions != nil {
		indexes := at.of("succeededIndexes")
		if len(*r.SucceededIndexes) > maxIndexesBytes {
			indexes.tooLong(maxIndexesBytes)
		}
		n, err := countIndexes(*r.SucceededIndexes, *completions)
		if err != nil {
			indexes.invalid(*r.SucceededIndexes, "error parsing succeededIndexes: "+err.Error())
		}
		total = n
	}
	if r.SucceededCount == nil {
		return
	}
	count := at.of("succeededCount")
	nonNegative(count, *r.SucceededCount)
	if completions != nil && *r.SucceededCount > *completions {
		count.invalid(*r.SucceededCount, fmt.Sprintf("must be less than or equal to %d (the number of specified completions)", *completions))
	}
	if r.SucceededIndexes != nil && *r.SucceededCount > total {
		count.invalid(*r.SucceededCount,
			fmt.Sprintf("must be less than or equal to %d (the number of indexes in the specified succeededIndexes field)", total))
	}
}

// countIndexes counts the indexes in a list such as "1,3-5", which must be in
// order and below completions.
func countIndexes(list string, completions int32) (int32, error) {
	if list == "" {
		return 0, nil
	}
	total, last := int32(0), int32(-1)
	for i, part := range strings.Split(list, ",") {
		x, y, err := parseInterval(part, completions)
		if err != nil {
			return 0, err
		}
		if i > 0 && last >= x {
			return 0, fmt.Errorf("non-increasing order, previous: %d, current: %d", last, x)
		}
		total += y - x + 1
		last = y
	}
	return total, nil
}

// parseInterval returns the first and the last index of "3" or "3-5".
func parseInterval(s string, completions int32) (first, last int32, err error) {
	limits := strings.Split(s, "-")
	if len(limits) > 2 {
		return 0, 0, fmt.Errorf("the fragment %q violates the requirement that an index interval can have at most two parts separated by '-'", s)
	}
	if first, err = parseIndex(limits[0], completions); err != nil || len(limits) == 1 {
		return first, first, err
	}
	if last, err = parseIndex(limits[1], completions); err != nil {
		return 0, 0, err
	}
	if first >= last {
		return 0, 0, fmt.Errorf("non-increasing order, previous: %d, current: %d", first, last)
	}
	return first, last, nil
}

func parseIndex(s string, completions int32) (int32, error) {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, fmt.Errorf("cannot convert string to integer for index: %q", s)
	}
	if n >= int(completions) {
		return 0, fmt.Errorf("too large index: %q", s)
	}
	return int32(n), nil
}
