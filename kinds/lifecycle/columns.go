package lifecycle

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api/table"
)

func evictionRequestRow(row *table.Row, r *lifecyclev1alpha1.EvictionRequest) {
	target := ""
	if r.Spec.Target.Pod != nil {
		target = r.Spec.Target.Pod.Name
	}
	row.Name(r.Name)
	addTarget(row, r.Spec.Target.Pod != nil, target)
	row.Text("Status", ".status.conditions", evictionState(r.Status.ObservedGeneration, r.Status.Conditions))
	row.Text("Requester", ".spec.requester", r.Spec.Requester)
	row.Text("Intent", ".spec.intent", string(r.Spec.Intent))
	row.Age(r)
}

// addTarget adds the columns of the target of both kinds.
func addTarget(row *table.Row, isPod bool, name string) {
	kind := "Pod"
	if !isPod {
		name, kind = table.CellUnset, table.CellUnset
	}
	row.Text("Target", ".spec.target", name)
	row.Text("Target Type", ".spec.target", kind)
}

// evictionState returns the cell Status.
func evictionState(observed *int64, conditions []metav1.Condition) string {
	for _, kind := range endConditions() {
		if c := meta.FindStatusCondition(conditions, kind); c != nil && c.Status == metav1.ConditionTrue {
			return fmt.Sprintf("%s (%s)", c.Type, c.Reason)
		}
	}
	if table.ValueOrZero(observed) > 0 {
		return "Progressing"
	}
	return "Pending"
}

func evictionRow(row *table.Row, e *lifecyclev1alpha1.Eviction) {
	target := ""
	if e.Spec.Target.Pod != nil {
		target = e.Spec.Target.Pod.Name
	}
	shown, processed := shownResponder(e.Status.TargetResponders)
	name, cells := table.CellUnset, newResponderCells()
	if shown != nil {
		name = shown.Name
		cells.fill(shown, e.Status.Responders)
	}
	row.Name(e.Name)
	addTarget(row, e.Spec.Target.Pod != nil, target)
	row.Text("Status", ".status.conditions", evictionState(e.Status.ObservedGeneration, e.Status.Conditions))
	row.DescribedBy(reflect.TypeFor[lifecyclev1alpha1.TargetResponder]())
	row.Text("Active Responder", ".state", fmt.Sprintf("%s (%d/%d)", name, processed, len(e.Status.TargetResponders)))
	row.DescribedBy(reflect.TypeFor[lifecyclev1alpha1.ResponderStatus]())
	row.Text("Responder Status", ".", cells.state)
	row.Text("Responder Expected Finish", ".expectedCompletionTime", cells.finish)
	row.DescribedBy(reflect.TypeFor[lifecyclev1alpha1.Eviction]())
	row.Text("Requesters", ".status.requesters", requestersCell(e.Status.Requesters))
	row.Age(e)
	row.DescribedBy(reflect.TypeFor[lifecyclev1alpha1.ResponderStatus]())
	row.Wide().Text("Responder Heartbeat", ".heartbeatTime", cells.heartbeat)
	row.Wide().Text("Responder Status Message", ".message", cells.message)
}

// shownResponder returns the active responder or, without one, the last that has reached a final state, and
// the number of responders that are not inactive.
func shownResponder(targets []lifecyclev1alpha1.TargetResponder) (shown *lifecyclev1alpha1.TargetResponder, count int) {
	isActive := false
	for i := range targets {
		switch state := targets[i].State; {
		case state == lifecyclev1alpha1.ResponderStateActive:
			isActive = true
			shown = &targets[i]
			count++
		case slices.Contains(finalStates(), state):
			count++
			if !isActive {
				shown = &targets[i]
			}
		}
	}
	return shown, count
}

// responderCells are the cells of the responder that is shown.
type responderCells struct{ state, finish, heartbeat, message any }

func newResponderCells() responderCells {
	return responderCells{table.CellUnset, table.CellUnknown, table.CellUnset, table.CellUnset}
}

func (c *responderCells) fill(target *lifecyclev1alpha1.TargetResponder, list []lifecyclev1alpha1.ResponderStatus) {
	i := slices.IndexFunc(list, func(r lifecyclev1alpha1.ResponderStatus) bool { return r.Name == target.Name })
	if i < 0 {
		return
	}
	r, ago := &list[i], func(before string, t *metav1.Time, after string) any {
		return table.Elapsed{Before: before, Since: t.Time, After: " ago" + after}
	}
	c.state = string(target.State)
	switch {
	case target.State != lifecyclev1alpha1.ResponderStateActive:
		c.finish = "-"
		if r.CompletionTime != nil && target.State == lifecyclev1alpha1.ResponderStateCompleted {
			c.state = ago("Completed (", r.CompletionTime, ")")
		}
	case r.StartTime != nil:
		c.state = ago("Started (", r.StartTime, ")")
		if t := r.ExpectedCompletionTime; t != nil {
			c.finish = table.Elapsed{Since: t.Time, After: " ago", Until: "in "}
		}
	}
	if r.HeartbeatTime != nil {
		c.heartbeat = ago("", r.HeartbeatTime, "")
	}
	if text := strings.TrimSpace(table.ValueOrZero(r.Message)); text != "" {
		c.message = text
	}
}

// requestersCell returns the first requester that has not withdrawn, and the number of the others.
func requestersCell(requesters []lifecyclev1alpha1.Requester) string {
	if len(requesters) == 0 {
		return table.CellNone
	}
	var names []string
	for i := range requesters {
		if requesters[i].Intent != lifecyclev1alpha1.RequesterIntentWithdrawn {
			names = append(names, requesters[i].Name)
		}
	}
	slices.Sort(names)
	switch len(names) {
	case 0:
		return "<withdrawn>"
	case 1:
		return names[0]
	}
	return fmt.Sprintf("%s + %d more...", names[0], len(names)-1)
}
