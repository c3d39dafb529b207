package apf

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/registry"
)

// statusWrites has the times at which the status of each flow schema was written, so that
// servers with different configurations do not overwrite each other endlessly.
type statusWrites map[string][]time.Time

// maxStatusWrites is the maximum number of status writes of one flow schema in a minute.
const maxStatusWrites = 6

// allows reports whether the status of a schema may be written now, and counts the write.
func (w statusWrites) allows(name string, now time.Time) bool {
	recent := slices.DeleteFunc(w[name], func(t time.Time) bool { return now.Sub(t) > time.Minute })
	w[name] = recent
	if len(recent) >= maxStatusWrites {
		return false
	}
	w[name] = append(recent, now)
	return true
}

// forget drops the entries of deleted flow schemas.
func (w statusWrites) forget(schemas []*flowcontrolv1.FlowSchema) {
	there := map[string]bool{}
	for _, s := range schemas {
		there[s.Name] = true
	}
	maps.DeleteFunc(w, func(name string, _ []time.Time) bool { return !there[name] })
}

// danglingCondition returns the condition that reports whether the priority level of a flow
// schema exists, or nil if the status has it already.
func danglingCondition(s *flowcontrolv1.FlowSchema, dangling bool) *flowcontrolv1.FlowSchemaCondition {
	level := s.Spec.PriorityLevelConfiguration.Name
	want := &flowcontrolv1.FlowSchemaCondition{
		Type: flowcontrolv1.FlowSchemaConditionDangling, Status: flowcontrolv1.ConditionFalse, Reason: "Found",
		Message: fmt.Sprintf("This FlowSchema references the PriorityLevelConfiguration object named %q and it exists", level),
	}
	if dangling {
		want.Status, want.Reason = flowcontrolv1.ConditionTrue, "NotFound"
		want.Message = fmt.Sprintf("This FlowSchema references the PriorityLevelConfiguration object named %q but there is no such object", level)
	}
	for _, c := range s.Status.Conditions {
		if c.Type == want.Type && c.Status == want.Status && c.Reason == want.Reason && c.Message == want.Message {
			return nil
		}
	}
	return want
}

// statusUpdate is a condition to write.
type statusUpdate struct {
	schema    string
	condition *flowcontrolv1.FlowSchemaCondition
}

// statusUpdates returns the conditions to write now; levels has the existing levels. wait is
// set if further conditions exceed the rate limit.
func (k *Controller) statusUpdates(schemas []*flowcontrolv1.FlowSchema, levels map[string]bool) (updates []statusUpdate, wait bool) {
	if k.written == nil {
		k.written = statusWrites{}
	}
	k.written.forget(schemas)
	for _, s := range schemas {
		c := danglingCondition(s, !levels[s.Spec.PriorityLevelConfiguration.Name])
		switch {
		case c == nil:
		case k.written.allows(s.Name, k.clock.Now()):
			updates = append(updates, statusUpdate{s.Name, c})
		default:
			wait = true
		}
	}
	return updates, wait
}

// writeStatus applies a condition.
func (k *Controller) writeStatus(ctx context.Context, u statusUpdate) error {
	t := withName(k.schemas, u.schema)
	t.Status = true
	c := u.condition
	_, err := k.reg.Apply(ctx, t, map[string]any{
		"apiVersion": flowcontrolv1.SchemeGroupVersion.String(),
		"kind":       t.Resource.Kind,
		"metadata":   map[string]any{"name": u.schema},
		"status": map[string]any{"conditions": []any{map[string]any{
			"type": string(c.Type), "status": string(c.Status), "reason": c.Reason, "message": c.Message,
			"lastTransitionTime": k.clock.Now().UTC().Format(time.RFC3339),
		}}},
	}, registry.ApplyOptions{WriteOptions: registry.WriteOptions{Manager: consumerManager}, Force: true})
	if err != nil && !apierrors.IsNotFound(err) { // else the schema was deleted meanwhile
		return fmt.Errorf("status of flow schema %s: %w", u.schema, err)
	}
	return nil
}
