package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"time"

	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api/validation"
)

// Limits of the times of a responder.
const (
	heartbeatDeadline     = 20 * time.Minute
	allowedSkew           = 30 * time.Second
	maxExpectedCompletion = 10 * 365 * 24 * time.Hour
)

// maxResponders is the maximum number of responders; a marker of the Go type states it.
const maxResponders = 11

// evictionUpdate is an update of the status of an Eviction.
type evictionUpdate struct {
	status, old *lifecyclev1alpha1.EvictionStatus
	now         time.Time
	// hasEnded: the eviction succeeded or failed.
	hasEnded bool
}

// evictionStatusRules validates an update of status. Responders become active one after the
// other, and only the active one may change its own status.
func evictionStatusRules(at *validation.Path, status, old *lifecyclev1alpha1.EvictionStatus, now time.Time) {
	u := evictionUpdate{status: status, old: old, now: now}
	conditions := at.Child("conditions")
	validation.ConditionRules(conditions, status.Conditions)
	for _, kind := range endConditions() {
		u.hasEnded = u.hasEnded || meta.IsStatusConditionTrue(status.Conditions, kind)
	}
	for i := range old.Conditions {
		c := &old.Conditions[i]
		if c.Status != metav1.ConditionTrue || !slices.Contains(endConditions(), c.Type) {
			continue
		}
		u.hasEnded = true
		if !equality.Semantic.DeepEqual(meta.FindStatusCondition(status.Conditions, c.Type), c) {
			conditions.Invalid(status.Conditions, c.Type+" condition status cannot be reverted")
		}
	}
	u.targetRules(at.Child("targetResponders"))
	u.responderRules(at.Child("responders"))
}

// endConditions returns the types of conditions that end an eviction.
func endConditions() []string {
	return []string{string(lifecyclev1alpha1.EvictionConditionTargetEvicted), string(lifecyclev1alpha1.EvictionConditionFailed)}
}

func nameOfTarget(r lifecyclev1alpha1.TargetResponder) string    { return r.Name }
func nameOfResponder(r lifecyclev1alpha1.ResponderStatus) string { return r.Name }

// namesOf returns the names of a list; ok is false if markers refuse the list, so that no further
// rules apply.
func namesOf[T any](list []T, name func(T) string) (names []string, ok bool) {
	for _, r := range list {
		names = append(names, name(r))
	}
	distinct := slices.Compact(slices.Sorted(slices.Values(names)))
	return names, len(list) <= maxResponders && len(distinct) == len(names)
}

func (u evictionUpdate) targetRules(at *validation.Path) {
	targets := u.status.TargetResponders
	names, ok := namesOf(targets, nameOfTarget)
	if stored, _ := namesOf(u.old.TargetResponders, nameOfTarget); len(stored) > 0 && !slices.Equal(names, stored) {
		message := "must preserve the same keys in the same order"
		if len(names) != len(stored) {
			message = "must preserve the same length and the same keys in the same order"
		}
		at.Invalid(targets, message)
		return
	}
	if !ok {
		return
	}
	for i := range targets {
		u.targetRule(at.Index(i), i)
	}
}

// targetRule validates the state of a responder.
func (u evictionUpdate) targetRule(at *validation.Path, i int) {
	target, list := u.status.TargetResponders[i], u.status.Responders
	if i >= len(list) || list[i].Name != target.Name {
		at.Invalid(target, fmt.Sprintf("%q has to be tracked in status.responders first", target.Name))
		return
	}
	states, reason := u.expectedStates(i)
	if !slices.Contains(states, target.State) {
		var allowed []string
		for _, s := range states {
			allowed = append(allowed, string(s))
		}
		at.Child("state").Invalid(target.State, fmt.Sprintf("must be one of: %s, because %s", strings.Join(allowed, ", "), reason))
	}
	responder := &list[i]
	if u.hasEnded || slices.Contains(states, lifecyclev1alpha1.ResponderStateActive) || responder.StartTime == nil || responder.CompletionTime != nil {
		return
	}
	heartbeat := responder.StartTime
	if responder.HeartbeatTime != nil {
		heartbeat = responder.HeartbeatTime
	}
	if u.now.Before(heartbeat.Add(heartbeatDeadline - allowedSkew)) {
		at.Child("state").Forbidden("must stay Active because the responder is in progress and it should report status.responders.heartbeatTime or status.responders.completionTime")
	}
}

// expectedStates returns the states that a responder may have, and why.
func (u evictionUpdate) expectedStates(i int) (states []lifecyclev1alpha1.ResponderStateType, reason string) {
	final := []lifecyclev1alpha1.ResponderStateType{
		lifecyclev1alpha1.ResponderStateCanceled, lifecyclev1alpha1.ResponderStateCompleted, lifecyclev1alpha1.ResponderStateInterrupted,
	}
	const active, inactive = lifecyclev1alpha1.ResponderStateActive, lifecyclev1alpha1.ResponderStateInactive
	one := func(s lifecyclev1alpha1.ResponderStateType, reason string) ([]lifecyclev1alpha1.ResponderStateType, string) {
		return []lifecyclev1alpha1.ResponderStateType{s}, reason
	}
	old := u.old.TargetResponders
	last := slices.IndexFunc(old, func(r lifecyclev1alpha1.TargetResponder) bool { return r.State == active })
	hasChanged := last >= 0 && u.status.TargetResponders[last].State != active
	switch {
	case i < last, len(old) > 0 && last < 0 && u.hasEnded:
		return one(old[i].State, "final state is immutable")
	case i == last && hasChanged:
		return final, "this responder must reach a final state"
	case i == last && u.hasEnded:
		return final, "the eviction request has finished processing"
	case i == last:
		return one(active, "the eviction request stays active")
	case i == 0 && len(old) == 0, hasChanged && i == last+1:
		if u.hasEnded {
			return one(inactive, "the eviction request has finished processing")
		}
		return one(active, "this responder is next in line")
	}
	return one(inactive, "the previously active has not finished processing")
}

func (u evictionUpdate) responderRules(at *validation.Path) {
	list := u.status.Responders
	names, ok := namesOf(list, nameOfResponder)
	if targets, _ := namesOf(u.status.TargetResponders, nameOfTarget); !slices.Equal(names, targets) {
		message := "must contain the same keys in the same order as status.targetResponders"
		if len(names) != len(targets) {
			message = "must be the same length as status.targetResponders and contain the same keys in the same order"
		}
		at.Invalid(list, message)
		return
	}
	if !ok {
		return
	}
	for i := range list {
		before, isActive := lifecyclev1alpha1.ResponderStatus{}, u.status.TargetResponders[i].State == lifecyclev1alpha1.ResponderStateActive
		if i < len(u.old.Responders) {
			before = u.old.Responders[i]
			if !isActive && !equality.Semantic.DeepEqual(list[i], before) {
				at.Index(i).InvalidOrigin("immutable", list[i], "field is immutable")
				continue
			}
		}
		responderTimes{&list[i], &before, u.now}.validate(at.Index(i), isActive)
	}
}

// responderTimes are the times of a responder, which are set while it is active.
type responderTimes struct {
	status, old *lifecyclev1alpha1.ResponderStatus
	now         time.Time
}

func (r responderTimes) validate(at *validation.Path, isActive bool) {
	s, old := r.status, r.old
	switch start := at.Child("startTime"); {
	case old.StartTime != nil: // markers make it immutable
	case s.StartTime == nil && isActive:
		start.Required("is required for an active responder")
	case s.StartTime != nil && !r.isPresent(s.StartTime):
		start.Invalid(s.StartTime, "must be set to the present time")
	}
	heartbeat := at.Child("heartbeatTime")
	if old.HeartbeatTime != nil && s.HeartbeatTime == nil {
		heartbeat.Required("is required once set")
	}
	if s.HeartbeatTime != nil && !s.HeartbeatTime.Equal(old.HeartbeatTime) {
		if s.StartTime != nil && s.HeartbeatTime.Before(old.HeartbeatTime) {
			heartbeat.Invalid(s.HeartbeatTime, "cannot be decreased")
		} else if r.followsStart(at, heartbeat, s.HeartbeatTime) && !r.isPresent(s.HeartbeatTime) {
			heartbeat.Invalid(s.HeartbeatTime, "must be set to the present time")
		}
	}
	r.completion(at)
}

func (r responderTimes) completion(at *validation.Path) {
	s, old := r.status, r.old
	expected := at.Child("expectedCompletionTime")
	if t := s.ExpectedCompletionTime; t != nil && !t.Equal(old.ExpectedCompletionTime) && r.followsStart(at, expected, t) {
		switch {
		case t.Time.Before(r.now.Add(-allowedSkew)):
			expected.Invalid(t, "cannot be set to the past time")
		case t.After(r.now.Add(maxExpectedCompletion)):
			expected.Invalid(t, "must complete within 10 years")
		}
	}
	t, completion := s.CompletionTime, at.Child("completionTime")
	if t == nil || old.CompletionTime != nil && !old.CompletionTime.Equal(t) { // markers make it immutable
		return
	}
	if r.followsStart(at, completion, t) && !t.Equal(old.CompletionTime) && !r.isPresent(t) {
		completion.Invalid(t, "must be set to the present time")
	}
}

// isPresent reports whether a time is the current time, or nearly so.
func (r responderTimes) isPresent(t *metav1.Time) bool {
	return t.After(r.now.Add(-allowedSkew)) && t.Time.Before(r.now.Add(allowedSkew))
}

// followsStart refuses a time before the start of the responder.
func (r responderTimes) followsStart(responder, at *validation.Path, t *metav1.Time) bool {
	start := responder.Child("startTime").ToField()
	switch {
	case r.status.StartTime == nil:
		at.Invalid(t, fmt.Sprintf("cannot be set before %s is set", start))
	case t.Before(r.status.StartTime):
		at.Invalid(t, fmt.Sprintf("must occur after %s", start))
	default:
		return true
	}
	return false
}
