package lifecycle_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const eviction = `metadata: {name: 0c6b7a5e-90f7-4f4c-a3a4-7d4d65d0a0b1}
spec: {target: {pod: {name: p, uid: 0c6b7a5e-90f7-4f4c-a3a4-7d4d65d0a0b1}}}`

// start is the time of these tests, to which kube-apiserver's clock is near.
var start = time.Now().UTC().Truncate(time.Second)

// after returns a time after the start of the tests.
func after(d time.Duration) string { return `"` + start.Add(d).Format(time.RFC3339) + `"` }

// responders returns edits that set responders r0, r1 ... in these states, of which each but the inactive ones started
// some time ago.
func responders(ago time.Duration, states ...string) string {
	var targets, statuses []string
	for i, state := range states {
		name := fmt.Sprintf("example.com/r%d", i)
		targets = append(targets, "{name: "+name+", priority: 2000, state: "+state+"}")
		if state != "Inactive" {
			name += ", startTime: " + after(-ago)
		}
		statuses = append(statuses, "{name: "+name+"}")
	}
	return "status.targetResponders: [" + strings.Join(targets, ", ") + "]; status.responders: [" +
		strings.Join(statuses, ", ") + "]"
}

// ended returns edits that set a condition which ends an eviction.
func ended(condition string) string {
	return "status.conditions: [{type: " + condition +
		`, status: "True", reason: R, message: "", lastTransitionTime: "2026-05-04T11:00:00Z"}]`
}

func TestNewEvictionStatusRules(t *testing.T) {
	k := kindtest.New(t, "evictions.v1alpha1.lifecycle.k8s.io", eviction, "EvictionRequestAPI")
	k.UpdateStatus(kindtest.Rules{
		{"the first responder is active", responders(0, "Active", "Inactive"), responders(0, "Inactive", "Inactive"),
			`status.targetResponders[0].state: Invalid value: "Inactive": must be one of: Active, ` +
				"because this responder is next in line"},
		{"one responder is active", responders(0, "Active", "Inactive"), responders(0, "Active", "Active"),
			`status.targetResponders[1].state: Invalid value: "Active": must be one of: Inactive, ` +
				"because the previously active has not finished processing"},
		{"a responder is tracked", responders(0, "Active"), responders(0, "Active") + "; status.responders: null",
			"status.targetResponders[0]: Invalid value: " +
				`{"Name":"example.com/r0","Priority":2000,"State":"Active"}: "example.com/r0" has to be ` +
				"tracked in status.responders first; status.responders: Invalid value: null: must be the " +
				"same length as status.targetResponders and contain the same keys"},
		{"an active responder has started", responders(0, "Active"),
			responders(0, "Active") + "; status.responders[0].startTime: null",
			"status.responders[0].startTime: Required value: is required for an active responder"},
		{"a responder starts now", responders(0, "Active"), responders(time.Hour, "Active"),
			"status.responders[0].startTime: Invalid value: ...: must be set to the present time"},
		{"the lists have the same responders", responders(0, "Active"),
			responders(0, "Active") + "; status.responders[0].name: example.com/x",
			"status.targetResponders[0]: Invalid value: ...: must contain the same keys as " +
				"status.targetResponders"},
		{"the priorities below 1000 are reserved",
			responders(0, "Active") + "; status.targetResponders[0].priority: 1000",
			responders(0, "Active") + "; status.targetResponders[0].priority: 999",
			"status.targetResponders[0].priority: Invalid value: 999: priorities 0-999 are reserved " +
				"for responders with *.k8s.io suffix"},
		{"the responder of Kubernetes has its priority",
			responders(0, "Active") +
				"; status.targetResponders[0]: {name: imperative-eviction.k8s.io/evictor, priority: 100, " +
				"state: Active}; status.responders[0].name: imperative-eviction.k8s.io/evictor",
			responders(0, "Active") +
				"; status.targetResponders[0]: {name: imperative-eviction.k8s.io/evictor, priority: " +
				"1000, state: Active}; status.responders[0].name: imperative-eviction.k8s.io/evictor",
			"status.targetResponders[0].priority: Invalid value: 1000: core k8s responder is " +
				"expected to have priority: 100"},
		{"the responder with the highest priority is the first",
			responders(0, "Inactive", "Active") + "; status.targetResponders[1].priority: 2001",
			responders(0, "Active", "Inactive") + "; status.targetResponders[1].priority: 2001",
			`status.targetResponders[1].state: Invalid value: "Inactive": must be one of: Active, ` +
				"because this responder is next in line; status.targetResponders[0].state: Invalid " +
				`value: "Active": must be one of: Inactive, because the previously active has not ` +
				"finished processing"},
		{"responders of one priority are in the order of their domains",
			responders(0, "Inactive", "Active") +
				"; status.targetResponders[1].name: z.b/a; status.responders[1].name: z.b/a",
			responders(0, "Active", "Inactive") +
				"; status.targetResponders[1].name: z.b/a; status.responders[1].name: z.b/a",
			`status.targetResponders[1].state: Invalid value: "Inactive": must be one of: Active, ` +
				"because this responder is next in line; status.targetResponders[0].state: Invalid " +
				`value: "Active": must be one of: Inactive, because the previously active has not ` +
				"finished processing"},
		{"a priority is required", responders(0, "Active") + "; status.targetResponders[0].priority: 1001",
			responders(0, "Active", "Inactive") + "; status.targetResponders[1].priority: null",
			"status.targetResponders[1].priority: Required value"},
		{"a heartbeat follows a start",
			responders(0, "Active", "Inactive") + "; status.responders[0].heartbeatTime: " + after(0),
			responders(0, "Active", "Inactive") + "; status.responders[1].heartbeatTime: " + after(0),
			"status.responders[1].heartbeatTime: Invalid value: ...: cannot be set before " +
				"status.responders[1].startTime is set"},
		{"names of responders differ", responders(0, "Active"),
			responders(0, "Active", "Inactive") +
				"; status.targetResponders[1].name: example.com/r0; status.responders[1].name: example.com/r0",
			"status.targetResponders[1]: Duplicate value: " +
				`{"name":"example.com/r0","priority":2000,"state":"Inactive"}; status.responders[1]: ` +
				`Duplicate value: {"name":"example.com/r0"}`},
		{"states are known", responders(0, "Active"), responders(0, "Other"),
			`status.targetResponders[0].state: Invalid value: "Other": must be one of: Active, ` +
				"because this responder is next in line; status.targetResponders[0].state: Unsupported " +
				`value: "Other": supported values: "Active", "Canceled", "Completed", "Inactive", "Interrupted"`},
		{"a condition has a reason", ended("Failed"), ended("Failed") + `; status.conditions[0].reason: ""`,
			"status.conditions[0].reason: Required value"},
	})
}

func TestActiveResponderRules(t *testing.T) {
	k := kindtest.New(t, "evictions.v1alpha1.lifecycle.k8s.io", eviction, "EvictionRequestAPI").With(
		responders(10*time.Second, "Active", "Inactive"))
	k.UpdateStatus(kindtest.Rules{
		{"an active responder stays active", "metadata.labels: {a: b}",
			responders(10*time.Second, "Interrupted", "Active") + "; status.responders[1].startTime: " +
				after(0),
			"status.targetResponders[0].state: Forbidden: must stay Active because the responder is " +
				"in progress and it should report status.responders.heartbeatTime or " +
				"status.responders.completionTime"},
		{"a responder ends in a final state", "metadata.labels: {a: b}",
			responders(10*time.Second, "Inactive", "Inactive") + "; status.responders[0].startTime: " +
				after(-10*time.Second),
			`status.targetResponders[0].state: Invalid value: "Inactive": must be one of: Canceled, ` +
				"Completed, Interrupted, because this responder must reach a final state; " +
				`status.targetResponders[1].state: Invalid value: "Inactive": must be one of: Active, ` +
				"because this responder is next in line"},
		{"an inactive responder writes no status", "status.responders[0].message: a",
			"status.responders[1].message: a", "status.responders[1]: Invalid value: ...: field is immutable"},
		{"the responders are the same", "metadata.labels: {a: b}", responders(10*time.Second, "Active"),
			"status.targetResponders: Invalid value: ...: must preserve the same length and the same keys"},
		{"the names of the responders are the same", "metadata.labels: {a: b}",
			"status.targetResponders[1].name: example.com/x; status.responders[1].name: example.com/x",
			"status.targetResponders: Invalid value: ...: must preserve the same keys"},
		{"a heartbeat follows the start", "status.responders[0].heartbeatTime: " + after(0),
			"status.responders[0].heartbeatTime: " + after(-time.Hour),
			"status.responders[0].heartbeatTime: Invalid value: ...: must occur after " +
				"status.responders[0].startTime"},
		{"an expected completion is within ten years",
			"status.responders[0].expectedCompletionTime: " + after(time.Hour),
			"status.responders[0].expectedCompletionTime: " + after(11*365*24*time.Hour),
			"status.responders[0].expectedCompletionTime: Invalid value: ...: must complete within 10 years"},
		{"a completion is now", "status.responders[0].completionTime: " + after(0),
			"status.responders[0].completionTime: " + after(time.Hour),
			"status.responders[0].completionTime: Invalid value: ...: must be set to the present time"},
		{"an ended eviction has no active responder",
			ended("TargetEvicted") + "; status.targetResponders[0].state: Canceled", ended("TargetEvicted"),
			`status.targetResponders[0].state: Invalid value: "Active": must be one of: Canceled, ` +
				"Completed, Interrupted, because the eviction request has finished processing"},
		{"an ended eviction goes to no other responder",
			ended("Failed") + "; status.targetResponders[0].state: Canceled",
			ended("Failed") +
				"; status.targetResponders[0].state: Canceled; status.targetResponders[1].state: Active; " +
				"status.responders[1].startTime: " + after(0),
			`status.targetResponders[1].state: Invalid value: "Active": must be one of: Inactive, ` +
				"because the eviction request has finished processing"},
	})
}

func TestResponderTimeRules(t *testing.T) {
	k := kindtest.New(t, "evictions.v1alpha1.lifecycle.k8s.io", eviction, "EvictionRequestAPI").With(
		responders(time.Minute, "Active", "Inactive"))
	k.UpdateStatus(kindtest.Rules{
		{"a heartbeat is now", "status.responders[0].heartbeatTime: " + after(0),
			"status.responders[0].heartbeatTime: " + after(-45*time.Second),
			"status.responders[0].heartbeatTime: Invalid value: ...: must be set to the present time"},
		{"an expected completion is not in the past",
			"status.responders[0].expectedCompletionTime: " + after(time.Hour),
			"status.responders[0].expectedCompletionTime: " + after(-50*time.Second),
			"status.responders[0].expectedCompletionTime: Invalid value: ...: cannot be set to the past time"},
	})
}

func TestCompletedResponderRules(t *testing.T) {
	k := kindtest.New(t, "evictions.v1alpha1.lifecycle.k8s.io", eviction, "EvictionRequestAPI").With(
		responders(10*time.Second, "Active", "Inactive") + "; status.responders[0].completionTime: " +
			after(-time.Second))
	k.UpdateStatus(kindtest.Rules{
		{"the next responder follows a completed one",
			"status.targetResponders[0].state: Completed; status.targetResponders[1].state: Active; " +
				"status.responders[1].startTime: " + after(0), "status.targetResponders[0].state: Completed",
			`status.targetResponders[1].state: Invalid value: "Inactive": must be one of: Active, ` +
				"because this responder is next in line"},
		{"a completion is immutable", "metadata.labels: {a: b}", "status.responders[0].completionTime: " + after(0),
			"status.responders[0].completionTime: Invalid value: null: field cannot be modified once set"},
	})
}

func TestInterruptedResponderRules(t *testing.T) {
	k := kindtest.New(t, "evictions.v1alpha1.lifecycle.k8s.io", eviction, "EvictionRequestAPI").With(
		responders(time.Hour, "Active", "Inactive"))
	k.UpdateStatus(kindtest.Rules{
		{"a completed responder reported its completion",
			"status.targetResponders[0].state: Canceled; status.targetResponders[1].state: Active; " +
				"status.responders[1].startTime: " + after(0),
			"status.targetResponders[0].state: Completed; status.targetResponders[1].state: Active; " +
				"status.responders[1].startTime: " + after(0),
			`status.targetResponders[0].state: Invalid value: "Completed": cannot become Completed ` +
				"because the responder didn't report status.responders.completionTime"},
	})
}

func TestSilentResponderRules(t *testing.T) {
	k := kindtest.New(t, "evictions.v1alpha1.lifecycle.k8s.io", eviction, "EvictionRequestAPI").With(
		responders(time.Hour, "Active", "Inactive"))
	k.UpdateStatus(kindtest.Rules{
		{"a silent responder is interrupted",
			"status.targetResponders[0].state: Interrupted; status.targetResponders[1].state: " +
				"Active; status.responders[1].startTime: " + after(0), "status.targetResponders[0].state: Inactive",
			`status.targetResponders[0].state: Invalid value: "Inactive": must be one of: Canceled, ` +
				"Completed, Interrupted, because this responder must reach a final state; " +
				`status.targetResponders[1].state: Invalid value: "Inactive": must be one of: Active, ` +
				"because this responder is next in line"},
	})
}

func TestHeartbeatRules(t *testing.T) {
	k := kindtest.New(t, "evictions.v1alpha1.lifecycle.k8s.io", eviction, "EvictionRequestAPI").With(
		responders(10*time.Second, "Active") + "; status.responders[0].heartbeatTime: " + after(-5*time.Second))
	k.UpdateStatus(kindtest.Rules{
		{"a heartbeat stays", "status.responders[0].heartbeatTime: " + after(0),
			"status.responders[0].heartbeatTime: null",
			"status.responders[0].heartbeatTime: Required value: is required once set"},
		{"a heartbeat is later than the last", "status.responders[0].heartbeatTime: " + after(0),
			"status.responders[0].heartbeatTime: " + after(-8*time.Second),
			"status.responders[0].heartbeatTime: Invalid value: ...: cannot be decreased"},
	})
}

func TestFinalStateRules(t *testing.T) {
	k := kindtest.New(t, "evictions.v1alpha1.lifecycle.k8s.io", eviction, "EvictionRequestAPI").With(
		responders(time.Hour, "Completed", "Active") + "; status.responders[0].completionTime: " +
			after(-time.Minute))
	k.UpdateStatus(kindtest.Rules{
		{"a final state is immutable", "metadata.labels: {a: b}", "status.targetResponders[0].state: Canceled",
			`status.targetResponders[0].state: Invalid value: "Canceled": must be one of: Completed, ` +
				"because final state is immutable"},
	})
}

func TestEndedEvictionRules(t *testing.T) {
	k := kindtest.New(t, "evictions.v1alpha1.lifecycle.k8s.io", eviction, "EvictionRequestAPI").With(
		responders(10*time.Second, "Inactive") + "; status.responders[0].startTime: null; " + ended("Failed"))
	k.UpdateStatus(kindtest.Rules{
		{"an end is not reverted", "metadata.labels: {a: b}", "status.conditions: []",
			"status.conditions: Invalid value: ...Failed condition status cannot be reverted"},
	})
}

func TestEvictionRules(t *testing.T) {
	kindtest.New(t, "evictions.v1alpha1.lifecycle.k8s.io", eviction, "EvictionRequestAPI").Create(kindtest.Rules{
		{"a target is a pod", "spec.target.pod.name: q", "spec.target: {}",
			"spec.target: Invalid value: \"\": must specify one of: `pod`"},
		{"the UID of a pod is a UUID", "spec.target.pod.name: q", "spec.target.pod.uid: x",
			`spec.target.pod.uid: Invalid value: "x": must be a lowercase UUID in 8-4-4-4-12 format`},
	})
}

func TestEvictionUpdateRules(t *testing.T) {
	kindtest.New(t, "evictions.v1alpha1.lifecycle.k8s.io", eviction, "EvictionRequestAPI").Update(kindtest.Rules{
		{"the target is immutable", "metadata.labels: {a: b}", "spec.target.pod.name: q",
			"spec.target: Invalid value: null: field is immutable"},
	})
}

func TestEvictionGenerations(t *testing.T) {
	kindtest.New(t, "evictions.v1alpha1.lifecycle.k8s.io", eviction, "EvictionRequestAPI").Generations(kindtest.Cases{
		{"a write without a change", "", "1"},
	})
}

func TestEvictionColumns(t *testing.T) {
	k := kindtest.New(t, "evictions.v1alpha1.lifecycle.k8s.io", eviction, "EvictionRequestAPI")
	k.Columns("Name|Target|Target Type|Status|Active Responder|Responder Status|Responder Expected "+
		"Finish|Requesters|Age|(Responder Heartbeat)|(Responder Status Message)", kindtest.Cases{
		{"new", "",
			"0c6b7a5e-90f7-4f4c-a3a4-7d4d65d0a0b1|p|Pod|Pending|<unset> " +
				"(0/0)|<unset>|<unknown>|<none>|60m|<unset>|<unset>"},
		{"observed", "status.observedGeneration: 1; status.requesters: [{name: a.b/c, intent: Eviction}]",
			"0c6b7a5e-90f7-4f4c-a3a4-7d4d65d0a0b1|p|Pod|Progressing|<unset> " +
				"(0/0)|<unset>|<unknown>|a.b/c|60m|<unset>|<unset>"},
		{"failed", ended("Failed") + "; status.requesters: [{name: a.b/c, intent: Withdrawn}]",
			"0c6b7a5e-90f7-4f4c-a3a4-7d4d65d0a0b1|p|Pod|Failed (R)|<unset> " +
				"(0/0)|<unset>|<unknown>|<withdrawn>|60m|<unset>|<unset>"},
		{"several requesters",
			"status.requesters: [{name: d.e/f, intent: Eviction}, {name: a.b/c, intent: Eviction}, " +
				"{name: g.h/i, intent: Withdrawn}]",
			"0c6b7a5e-90f7-4f4c-a3a4-7d4d65d0a0b1|p|Pod|Pending|<unset> " +
				"(0/0)|<unset>|<unknown>|a.b/c + 1 more...|60m|<unset>|<unset>"},
		{"active",
			"status.targetResponders: [{name: a.b/c, priority: 2000, state: Completed}, {name: " +
				"d.e/f, priority: 2000, state: Active}]; status.responders: [{name: a.b/c}, {name: " +
				`d.e/f, startTime: "2026-05-04T11:50:00Z", heartbeatTime: "2026-05-04T11:55:00Z", message: " m "}]`,
			"0c6b7a5e-90f7-4f4c-a3a4-7d4d65d0a0b1|p|Pod|Pending|d.e/f (2/2)|Started (10m " +
				"ago)|<unknown>|<none>|60m|5m ago|m"},
		{"active until a time",
			"status.targetResponders: [{name: d.e/f, priority: 2000, state: Active}]; " +
				`status.responders: [{name: d.e/f, startTime: "2026-05-04T11:50:00Z", ` +
				`expectedCompletionTime: "2026-05-04T12:05:00Z"}]`,
			"0c6b7a5e-90f7-4f4c-a3a4-7d4d65d0a0b1|p|Pod|Pending|d.e/f (1/1)|Started (10m ago)|in " +
				"5m|<none>|60m|<unset>|<unset>"},
		{"active for longer than expected",
			"status.targetResponders: [{name: d.e/f, priority: 2000, state: Active}]; " +
				`status.responders: [{name: d.e/f, startTime: "2026-05-04T11:50:00Z", ` +
				`expectedCompletionTime: "2026-05-04T11:55:00Z"}]`,
			"0c6b7a5e-90f7-4f4c-a3a4-7d4d65d0a0b1|p|Pod|Pending|d.e/f (1/1)|Started (10m ago)|5m " +
				"ago|<none>|60m|<unset>|<unset>"},
		{"completed",
			"status.targetResponders: [{name: d.e/f, priority: 2000, state: Completed}]; " +
				`status.responders: [{name: d.e/f, startTime: "2026-05-04T11:50:00Z", completionTime: ` +
				`"2026-05-04T11:55:00Z"}]`,
			"0c6b7a5e-90f7-4f4c-a3a4-7d4d65d0a0b1|p|Pod|Pending|d.e/f (1/1)|Completed (5m " +
				"ago)|-|<none>|60m|<unset>|<unset>"},
		{"interrupted",
			"status.targetResponders: [{name: d.e/f, priority: 2000, state: Interrupted}]; " +
				`status.responders: [{name: d.e/f, startTime: "2026-05-04T11:50:00Z"}]`,
			"0c6b7a5e-90f7-4f4c-a3a4-7d4d65d0a0b1|p|Pod|Pending|d.e/f " +
				"(1/1)|Interrupted|-|<none>|60m|<unset>|<unset>"},
	})
}
