package batch

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

// jobSchedulingRules validates what the declarative rules of spec.scheduling cannot express.
func jobSchedulingRules(at *validation.Path, s *batchv1.JobSpec) {
	if s.Scheduling == nil {
		return
	}
	policy := s.Scheduling.SchedulingPolicy
	if policy != nil && policy.Gang != nil && policy.Gang.MinCount != nil {
		parallelism := int32(1)
		if s.Parallelism != nil {
			parallelism = *s.Parallelism
		}
		if n := *policy.Gang.MinCount; n > parallelism {
			at.Child("schedulingPolicy").Child("gang").Child("minCount").Invalid(n,
				fmt.Sprintf("must not be greater than parallelism (%d)", parallelism))
		}
	}
	// Without a policy, the pods are scheduled one by one.
	isBasic := policy == nil || policy.Basic != nil
	if mode := s.Scheduling.DisruptionMode; isBasic && mode != nil && mode.All != nil {
		at.Child("disruptionMode").Invalid("", "the disruptionMode `all` is not supported with the Basic scheduling policy")
	}
}

// jobSchedulingChange refuses to replace one kind of policy by another.
func jobSchedulingChange(at *validation.Path, s, old *batchv1.JobSchedulingConfiguration) {
	now, before := table.ValueOrZero(s).SchedulingPolicy, table.ValueOrZero(old).SchedulingPolicy
	if now != nil && before != nil && (now.Basic != nil) != (before.Basic != nil) {
		at.Child("schedulingPolicy").Invalid(nil, "the basic/gang policy variant is immutable after creation; only schedulingPolicy.gang.minCount may be updated")
	}
}
