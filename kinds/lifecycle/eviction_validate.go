package lifecycle

import (
	"cmp"
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
		if n := meta.FindStatusCondition(status.Conditions, c.Type); n == nil || n.Status == metav1.ConditionFalse || n.Reason != c.Reason {
			u.hasEnded = true
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

// finalStates returns the states of responders that have done their part.
func finalStates() []lifecyclev1alpha1.ResponderStateType {
	return []lifecyclev1alpha1.ResponderStateType{
		lifecyclev1alpha1.ResponderStateCanceled, lifecyclev1alpha1.ResponderStateCompleted, lifecyclev1alpha1.ResponderStateInterrupted,
	}
}

func nameOfTarget(r lifecyclev1alpha1.TargetResponder) string    { return r.Name }
func nameOfResponder(r lifecyclev1alpha1.ResponderStatus) string { return r.Name }

// byName returns the elements of a list by their names; ok is false if markers refuse the list, so that no
// further rules apply.
func byName[T any](list []T, name func(T) string) (elements map[string]*T, ok bool) {
	elements = map[string]*T{}
	for i := range list {
		elements[name(list[i])] = &list[i]
	}
	return elements, len(list) <= maxResponders && len(elements) == len(list)
}

// sameKeys requires that a list has as many elements as another one, and the names of all its elements.
func sameKeys[T, U any](at *validation.Path, list []T, names map[string]*T, others map[string]*U, n int, length, keys string) bool {
	if len(list) != n {
		at.Invalid(list, length)
		return false
	}
	for name := range others {
		if names[name] == nil {
			at.Invalid(list, keys)
			return false
		}
	}
	return true
}

func (u evictionUpdate) targetRules(at *validation.Path) {
	targets, old := u.status.TargetResponders, u.old.TargetResponders
	names, ok := byName(targets, nameOfTarget)
	stored, _ := byName(old, nameOfTarget)
	if len(old) > 0 && !sameKeys(at, targets, names, stored, len(old),
		"must preserve the same length and the same keys", "must preserve the same keys") || !ok {
		return
	}
	indices := map[string]int{}
	for i := range targets {
		indices[targets[i].Name] = i
	}
	statuses, _ := byName(u.status.Responders, nameOfResponder)
	order := newResponderOrder(targets, old, u.hasEnded)
	for i := range order.targets {
		target := &order.targets[i]
		states, reason := order.expectedStates(i)
		u.targetRule(at.Index(indices[target.Name]), target, statuses[target.Name], states, reason)
	}
}

// Priorities of responders. Those below minPriority are for responders of Kubernetes.
const (
	minPriority        = 1000
	imperativePriority = 100
)

// targetRule validates the priority and the state of a responder, which may have some states for a reason.
func (u evictionUpdate) targetRule(
	at *validation.Path, target *lifecyclev1alpha1.TargetResponder, responder *lifecyclev1alpha1.ResponderStatus,
	states []lifecyclev1alpha1.ResponderStateType, reason string,
) {
	if responder == nil {
		at.Invalid(*target, fmt.Sprintf("%q has to be tracked in status.responders first", target.Name))
		return
	}
	if p := target.Priority; p != nil && *p >= 0 {
		switch priority := at.Child("priority"); {
		case target.Name == lifecyclev1alpha1.EvictionResponderImperativeEviction:
			if *p != imperativePriority {
				priority.Invalid(*p, fmt.Sprintf("core k8s responder is expected to have priority: %d", imperativePriority))
			}
		case *p < minPriority:
			priority.Invalid(*p, "priorities 0-999 are reserved for responders with *.k8s.io suffix")
		}
	}
	state := at.Child("state")
	if !slices.Contains(states, target.State) {
		var allowed []string
		for _, s := range states {
			allowed = append(allowed, string(s))
		}
		state.Invalid(target.State, fmt.Sprintf("must be one of: %s, because %s", strings.Join(allowed, ", "), reason))
		return
	}
	if !u.hasEnded && target.State != lifecyclev1alpha1.ResponderStateActive && u.isInProgress(responder) {
		state.Forbidden("must stay Active because the responder is in progress and it should report status.responders.heartbeatTime or status.responders.completionTime")
	}
	if target.State == lifecyclev1alpha1.ResponderStateCompleted && responder.CompletionTime == nil {
		state.Invalid(target.State, "cannot become Completed because the responder didn't report status.responders.completionTime")
	}
}

// isInProgress reports whether a responder has not completed, and was seen within the deadline.
func (u evictionUpdate) isInProgress(r *lifecyclev1alpha1.ResponderStatus) bool {
	if r.StartTime == nil || r.CompletionTime != nil {
		return false
	}
	seen := r.StartTime
	if r.HeartbeatTime != nil {
		seen = r.HeartbeatTime
	}
	return u.now.Before(seen.Add(heartbeatDeadline - allowedSkew))
}

// responderOrder has the responders in the order in which they become active, and as they were.
type responderOrder struct {
	targets, old []lifecyclev1alpha1.TargetResponder
	// last is the index of the responder that was active, or -1.
	last     int
	hasEnded bool
}

func newResponderOrder(targets, old []lifecyclev1alpha1.TargetResponder, hasEnded bool) responderOrder {
	o := responderOrder{slices.Clone(targets), slices.Clone(old), -1, hasEnded}
	slices.SortFunc(o.targets, compareResponders)
	slices.SortFunc(o.old, compareResponders)
	o.last = slices.IndexFunc(o.old, func(r lifecyclev1alpha1.TargetResponder) bool {
		return r.State == lifecyclev1alpha1.ResponderStateActive
	})
	return o
}

// compareResponders orders responders by descending priority, those without one last. Equal priorities are ordered
// by the labels of the domain, the last one first, and then by the name.
func compareResponders(a, b lifecyclev1alpha1.TargetResponder) int {
	switch {
	case a.Priority == nil && b.Priority != nil:
		return 1
	case a.Priority != nil && b.Priority == nil:
		return -1
	case a.Priority != nil && *a.Priority != *b.Priority:
		return cmp.Compare(*b.Priority, *a.Priority)
	}
	labels := func(domain string) []string {
		l := strings.Split(domain, ".")
		slices.Reverse(l)
		return l
	}
	aDomain, aName, _ := strings.Cut(a.Name, "/")
	bDomain, bName, _ := strings.Cut(b.Name, "/")
	return cmp.Or(slices.Compare(labels(aDomain), labels(bDomain)), cmp.Compare(aName, bName))
}

// expectedStates returns the states that responder i may have, and why.
func (o responderOrder) expectedStates(i int) (states []lifecyclev1alpha1.ResponderStateType, reason string) {
	const active, inactive = lifecyclev1alpha1.ResponderStateActive, lifecyclev1alpha1.ResponderStateInactive
	one := func(s lifecyclev1alpha1.ResponderStateType, reason string) ([]lifecyclev1alpha1.ResponderStateType, string) {
		return []lifecyclev1alpha1.ResponderStateType{s}, reason
	}
	n, last := len(o.old), o.last
	hasChanged := last >= 0 && o.targets[last].State != active
	isOver := o.hasEnded || n > 0 && slices.Contains(finalStates(), o.old[n-1].State)
	switch {
	case i < last, n > 0 && last < 0 && isOver:
		return one(o.old[i].State, "final state is immutable")
	case i == last && hasChanged:
		return finalStates(), "this responder must reach a final state"
	case i == last && o.hasEnded:
		return finalStates(), "the eviction request has finished processing"
	case i == last:
		return one(active, "the eviction request stays active")
	case i == 0 && n == 0, hasChanged && i == last+1:
		if o.hasEnded {
			return one(inactive, "the eviction request has finished processing")
		}
		return one(active, "this responder is next in line")
	}
	return one(inactive, "the previously active has not finished processing")
}

func (u evictionUpdate) responderRules(at *validation.Path) {
	list := u.status.Responders
	names, ok := byName(list, nameOfResponder)
	targets, _ := byName(u.status.TargetResponders, nameOfTarget)
	if !sameKeys(at, list, names, targets, len(u.status.TargetResponders),
		"must be the same length as status.targetResponders and contain the same keys",
		"must contain the same keys as status.targetResponders") || !ok {
		return
	}
	stored, _ := byName(u.old.Responders, nameOfResponder)
	for i := range list {
		target := targets[list[i].Name] // nil if markers refuse the targets, since a name is twice
		isActive := target != nil && target.State == lifecyclev1alpha1.ResponderStateActive
		before := stored[list[i].Name]
		switch {
		case before == nil:
			before = &lifecyclev1alpha1.ResponderStatus{}
		case !isActive && !equality.Semantic.DeepEqual(&list[i], before):
			at.Index(i).InvalidOrigin("immutable", list[i], "field is immutable")
			continue
		}
		responderTimes{&list[i], before, u.now}.validate(at.Index(i), isActive)
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
