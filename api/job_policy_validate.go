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
		return
	}
	for i := range rules {
		failureRule(at.of("rules").item(i), &rules[i], s)
	}
}

func failureRule(at *place, r *batchv1.PodFailurePolicyRule, s *batchv1.JobSpec) {
	if enum(at.of("action"), r.Action, batchv1.PodFailurePolicyActionCount, batchv1.PodFailurePolicyActionFailIndex,
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
		needs(conditions.item(i).of("type"), string(c.Type), qualifiedName)
		enum(conditions.item(i).of("status"), c.Status, corev1.ConditionFalse, corev1.ConditionTrue, corev1.ConditionUnknown)
	}
	switch codes, some := r.OnExitCodes != nil, len(r.OnPodConditions) > 0; {
	case codes && some:
		at.invalid(field.OmitValueType{}, "specifying both OnExitCodes and OnPodConditions is not supported")
	case !codes && !some:
		at.invalid(field.OmitValueType{}, "specifying one of OnExitCodes and OnPodConditions is required")
	}
}

func exitCodeRules(at *place, r *batchv1.PodFailurePolicyOnExitCodesRequirement, pod *corev1.PodSpec) {
	enum(at.of("operator"), r.Operator, batchv1.PodFailurePolicyOnExitCodesOpIn, batchv1.PodFailurePolicyOnExitCodesOpNotIn)
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
		at.invalid(unnamed(s.SuccessPolicy), "requires indexed completion mode")
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
	total := int32(-1)
	if r.SucceededIndexes != nil && completions != nil {
		indexes := at.of("succeededIndexes")
		if len(*r.SucceededIndexes) > maxIndexesBytes {
			indexes.tooLong(maxIndexesBytes)
		}
		n, err := countIndexes(*r.SucceededIndexes, *completions)
		if err != nil {
			indexes.invalid(*r.SucceededIndexes, "error parsing succeededIndexes: "+err.Error())
		} else {
			total = n
		}
	}
	if r.SucceededCount == nil {
		return
	}
	count := at.of("succeededCount")
	nonNegative(count, *r.SucceededCount)
	if completions != nil && *r.SucceededCount > *completions {
		count.invalid(*r.SucceededCount, fmt.Sprintf("must be less than or equal to %d (the number of specified completions)", *completions))
	}
	if total >= 0 && *r.SucceededCount > total {
		count.invalid(*r.SucceededCount,
			fmt.Sprintf("must be less than or equal to %d (the number of indexes in the specified succeededIndexes field)", total))
	}
}

// countIndexes counts what a list such as "1,3-5" names, which must be in order.
func countIndexes(list string, completions int32) (int32, error) {
	if list == "" {
		return 0, nil
	}
	total, last := int32(0), int32(-1)
	for _, part := range strings.Split(list, ",") {
		from, to, isRange := strings.Cut(part, "-")
		x, err := parseIndex(from, completions)
		if err != nil {
			return 0, err
		}
		y := x
		if isRange {
			if y, err = parseIndex(to, completions); err != nil {
				return 0, err
			}
			if x >= y {
				return 0, fmt.Errorf("non-increasing order, previous: %d, current: %d", x, y)
			}
		}
		if last >= x {
			return 0, fmt.Errorf("non-increasing order, previous: %d, current: %d", last, x)
		}
		total += y - x + 1
		last = y
	}
	return total, nil
}

func parseIndex(s string, completions int32) (int32, error) {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("cannot convert string to integer for index: %q", s)
	}
	if int32(n) >= completions {
		return 0, fmt.Errorf("too large index: %q", s)
	}
	return int32(n), nil
}

func jobStatusChanges(at *place, is, _ *batchv1.Job) {
	status, s := at.of("status"), &is.Status
	countRules(status, count{"active", s.Active}, count{"succeeded", s.Succeeded}, count{"failed", s.Failed})
	optionalNonNegative(status.of("ready"), s.Ready)
	optionalNonNegative(status.of("terminating"), s.Terminating)
	jobEndRules(status, s)
	if u := s.UncountedTerminatedPods; u != nil {
		at := status.of("uncountedTerminatedPods")
		var seen unique[string]
		for i, uid := range u.Succeeded {
			if required(at.of("succeeded").item(i), uid) {
				seen.add(at.of("succeeded").item(i), string(uid))
			}
		}
		for i, uid := range u.Failed {
			if required(at.of("failed").item(i), uid) {
				seen.add(at.of("failed").item(i), string(uid))
			}
		}
	}
}

// jobEndRules: a job ends once, in one way, and has a time for it.
func jobEndRules(at *place, s *batchv1.JobStatus) {
	is := func(t batchv1.JobConditionType) bool {
		return slices.ContainsFunc(s.Conditions, func(c batchv1.JobCondition) bool { return c.Type == t && c.Status == corev1.ConditionTrue })
	}
	complete, failed := is(batchv1.JobComplete), is(batchv1.JobFailed)
	if complete && failed {
		at.of("conditions").invalid(field.OmitValueType{}, "cannot set Complete=True and Failed=true conditions")
	}
	if complete && s.CompletionTime == nil {
		at.of("completionTime").required("completionTime is required for Complete jobs")
	}
	if !complete && s.CompletionTime != nil {
		at.of("completionTime").invalid(s.CompletionTime, "cannot set completionTime when there is no Complete=True condition")
	}
	if (complete || failed) && s.Active > 0 {
		at.of("active").invalid(s.Active, "active>0 is invalid for finished job")
	}
}
