package batch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api/validation"
)

// Limits of the policies of a job.
const (
	maxPolicyRules  = 20
	maxPolicyCodes  = 255
	maxConditions   = 20
	maxIndexesBytes = 64 * 1024
)

func failurePolicyRules(at *validation.Path, s *batchv1.JobSpec) {
	rules := s.PodFailurePolicy.Rules
	if len(rules) > maxPolicyRules {
		at.Child("rules").TooMany(len(rules), maxPolicyRules)
	}
	for i := range rules {
		failureRule(at.Child("rules").Index(i), &rules[i], s)
	}
}

// listingEnum is like validation.Enum, but the error for a missing value lists the valid
// values.
func listingEnum[T ~string](at *validation.Path, value T, valid ...T) bool {
	if value == "" {
		at.Required(fmt.Sprintf("valid values: %q", valid))
		return false
	}
	return validation.OneOf(at, value, valid...)
}

func failureRule(at *validation.Path, r *batchv1.PodFailurePolicyRule, s *batchv1.JobSpec) {
	if listingEnum(at.Child("action"), r.Action, batchv1.PodFailurePolicyActionCount, batchv1.PodFailurePolicyActionFailIndex,
		batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionIgnore) &&
		r.Action == batchv1.PodFailurePolicyActionFailIndex && s.BackoffLimitPerIndex == nil {
		at.Child("action").Invalid(r.Action, "requires the backoffLimitPerIndex to be set")
	}
	if r.OnExitCodes != nil {
		exitCodeRules(at.Child("onExitCodes"), r.OnExitCodes, &s.Template.Spec)
	}
	conditions := at.Child("onPodConditions")
	if len(r.OnPodConditions) > maxConditions {
		conditions.TooMany(len(r.OnPodConditions), maxConditions)
	}
	for i, c := range r.OnPodConditions {
		validation.Format(conditions.Index(i).Child("type"), string(c.Type), validation.QualifiedName)
		listingEnum(conditions.Index(i).Child("status"), c.Status, corev1.ConditionFalse, corev1.ConditionTrue, corev1.ConditionUnknown)
	}
	switch codes, some := r.OnExitCodes != nil, len(r.OnPodConditions) > 0; {
	case codes && some:
		at.Invalid(field.OmitValueType{}, "specifying both OnExitCodes and OnPodConditions is not supported")
	case !codes && !some:
		at.Invalid(field.OmitValueType{}, "specifying one of OnExitCodes and OnPodConditions is required")
	}
}

func exitCodeRules(at *validation.Path, r *batchv1.PodFailurePolicyOnExitCodesRequirement, pod *corev1.PodSpec) {
	listingEnum(at.Child("operator"), r.Operator, batchv1.PodFailurePolicyOnExitCodesOpIn, batchv1.PodFailurePolicyOnExitCodesOpNotIn)
	if name := r.ContainerName; name != nil {
		named := func(c corev1.Container) bool { return c.Name == *name }
		if !slices.ContainsFunc(pod.Containers, named) && !slices.ContainsFunc(pod.InitContainers, named) {
			at.Child("containerName").Invalid(*name, "must be one of the container or initContainer names in the pod template")
		}
	}
	values := at.Child("values")
	switch n := len(r.Values); {
	case n == 0:
		values.Invalid(r.Values, "at least one value is required")
	case n > maxPolicyCodes:
		values.TooMany(n, maxPolicyCodes)
	}
	var seen validation.Unique[int32]
	for i, v := range r.Values {
		if r.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn && v == 0 {
			values.Index(i).Invalid(v, "must not be 0 for the In operator")
		}
		seen.Add(values.Index(i), v)
	}
	if !slices.IsSorted(r.Values) {
		values.Invalid(r.Values, "must be ordered")
	}
}

// successPolicyRules validates the policy by which an indexed job succeeds before all its
// pods do.
func successPolicyRules(at *validation.Path, s *batchv1.JobSpec) {
	at = at.Child("successPolicy")
	if !isIndexed(s) {
		at.Invalid(s.SuccessPolicy, "requires indexed completion mode")
		return
	}
	rules := s.SuccessPolicy.Rules
	if len(rules) == 0 {
		at.Child("rules").Required("at least one rules must be specified when the successPolicy is specified")
	}
	if len(rules) > maxPolicyRules {
		at.Child("rules").TooMany(len(rules), maxPolicyRules)
	}
	for i := range rules {
		successRule(at.Child("rules").Index(i), &rules[i], s.Completions)
	}
}

func successRule(at *validation.Path, r *batchv1.SuccessPolicyRule, completions *int32) {
	if r.SucceededCount == nil && r.SucceededIndexes == nil {
		at.Required("at least one of succeededCount or succeededIndexes must be specified")
	}
	total := int32(0)
	if r.SucceededIndexes != nil && completions != nil {
		indexes := at.Child("succeededIndexes")
		if len(*r.SucceededIndexes) > maxIndexesBytes {
			indexes.TooLong(maxIndexesBytes)
		}
		n, err := countIndexes(*r.SucceededIndexes, *completions)
		if err != nil {
			indexes.Invalid(*r.SucceededIndexes, "error parsing succeededIndexes: "+err.Error())
		}
		total = n
	}
	if r.SucceededCount == nil {
		return
	}
	count := at.Child("succeededCount")
	validation.NonNegative(count, *r.SucceededCount)
	if completions != nil && *r.SucceededCount > *completions {
		count.Invalid(*r.SucceededCount, fmt.Sprintf("must be less than or equal to %d (the number of specified completions)", *completions))
	}
	if r.SucceededIndexes != nil && *r.SucceededCount > total {
		count.Invalid(*r.SucceededCount,
			fmt.Sprintf("must be less than or equal to %d (the number of indexes in the specified succeededIndexes field)", total))
	}
}

// countIndexes returns the number of indexes in a list such as "1,3-5", which must be
// sorted and below completions.
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
