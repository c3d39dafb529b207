package kinds

import (
	"fmt"
	"strings"
	"testing"
	"time"

	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/lifecycle"
)

func TestEvictionRequestRules(t *testing.T) {
	const uid = "0c6b7a5e-90f7-4f4c-a3a4-7d4d65d0a0b1"
	const good = `{"spec":{"target":{"pod":{"name":"p","uid":"` + uid + `"}},"requester":"example.com/drain","intent":"Eviction"}}`
	kind := declaredKind(t, features.Default(), "evictionrequests")
	with := func(old, now string) string { return strings.Replace(good, old, now, 1) }
	testDeclared(t, kind, []ruleTest{
		{"good", "", good, ""},
		{"empty", "", `{}`, "[spec.target: Invalid value: \"\": must specify one of: `pod`, spec.requester: Required value, spec.intent: Required value]"},
		{"uid", "", with(uid, "x"), "spec.target.pod.uid: Invalid value: \"x\": must be a lowercase UUID"},
		{"requester", "", with("example.com/drain", "drain"), "spec.requester: Invalid value: \"drain\""},
		{"reserved", "", with("example.com", "a.K8s.io."), "domain names *.k8s.io, *.kubernetes.io are reserved"},
		{"domain itself", "", with("example.com", "kubernetes.io"), "spec.requester: Invalid value: \"kubernetes.io/drain\": domain names *.k8s.io, *.kubernetes.io are reserved"},
		{"intent", "", with(`"Eviction"`, `"Other"`), `spec.intent: Unsupported value: "Other": supported values: "Eviction", "Withdrawn"`},
		{"withdrawn", good, with(`"Eviction"`, `"Withdrawn"`), ""},
		{"another pod", good, with(`"p"`, `"q"`), "spec.target: Invalid value: null: field is immutable"},
	})
	testStatusRules(t, kind, []ruleTest{
		{"condition", good, `{"status":{"conditions":[{"type":"a b"}]}}`, "status.conditions[0].type: Invalid value"},
	})
}

// evictionTime returns the current time of TestEvictionStatus.
func evictionTime() time.Time { return time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC) }

// evictionOf returns an eviction with responders r0, r1 ... in these states, of which each but the
// inactive ones has started a minute ago.
func evictionOf(states ...lifecyclev1alpha1.ResponderStateType) *lifecyclev1alpha1.Eviction {
	e := &lifecyclev1alpha1.Eviction{}
	for i, state := range states {
		name := fmt.Sprintf("example.com/r%d", i)
		status := lifecyclev1alpha1.ResponderStatus{Name: name}
		if state != "Inactive" {
			status.StartTime = timeAfter(-time.Minute)
		}
		e.Status.TargetResponders = append(e.Status.TargetResponders, lifecyclev1alpha1.TargetResponder{Name: name, Priority: new(int32(2000)), State: state})
		e.Status.Responders = append(e.Status.Responders, status)
	}
	return e
}

func timeAfter(d time.Duration) *metav1.Time { return new(metav1.NewTime(evictionTime().Add(d))) }

func TestEvictionStatus(t *testing.T) {
	kind := lifecycle.Eviction(evictionTime)
	type eviction = lifecyclev1alpha1.Eviction
	start := func(e *eviction) { e.Status.Responders[0].StartTime = timeAfter(0) }
	complete := func(i int) func(e *eviction) {
		return func(e *eviction) { e.Status.Responders[i].CompletionTime = timeAfter(0) }
	}
	ended := func(condition lifecyclev1alpha1.EvictionConditionType) func(e *eviction) {
		return func(e *eviction) {
			e.Status.Conditions = []metav1.Condition{{Type: string(condition), Status: "True", Reason: "R", LastTransitionTime: *timeAfter(-time.Hour)}}
		}
	}
	responder := func(change func(*lifecyclev1alpha1.ResponderStatus)) func(e *eviction) {
		return func(e *eviction) { change(&e.Status.Responders[0]) }
	}
	type responderStatus = lifecyclev1alpha1.ResponderStatus
	both := func(changes ...func(e *eviction)) func(e *eviction) {
		return func(e *eviction) {
			for _, change := range changes {
				change(e)
			}
		}
	}
	for name, c := range map[string]struct {
		old, obj  *eviction
		were, are func(e *eviction)
		want      string
	}{
		"initialized":         {obj: evictionOf("Active", "Inactive"), are: start},
		"nobody active":       {obj: evictionOf("Inactive", "Inactive"), want: `status.targetResponders[0].state: Invalid value: "Inactive": must be one of: Active, because this responder is next in line`},
		"the second first":    {obj: evictionOf("Active", "Active"), are: start, want: `status.targetResponders[1].state: Invalid value: "Active": must be one of: Inactive, because the previously active has not finished processing`},
		"untracked":           {obj: evictionOf("Active"), are: func(e *eviction) { e.Status.Responders = nil }, want: `"example.com/r0" has to be tracked in status.responders first`},
		"not started":         {obj: evictionOf("Active"), are: responder(func(r *responderStatus) { r.StartTime = nil }), want: "status.responders[0].startTime: Required value: is required for an active responder"},
		"started long ago":    {obj: evictionOf("Active"), want: "must be set to the present time"},
		"same":                {old: evictionOf("Active", "Inactive"), obj: evictionOf("Active", "Inactive")},
		"completed":           {old: evictionOf("Active", "Inactive"), obj: evictionOf("Completed", "Active"), were: complete(0), are: both(complete(0), func(e *eviction) { e.Status.Responders[1].StartTime = timeAfter(0) })},
		"in progress":         {old: evictionOf("Active", "Inactive"), obj: evictionOf("Interrupted", "Active"), want: "status.targetResponders[0].state: Forbidden: must stay Active because the responder is in progress"},
		"silent":              {old: evictionOf("Active"), obj: evictionOf("Interrupted"), were: responder(func(r *responderStatus) { r.StartTime = timeAfter(-time.Hour) }), are: responder(func(r *responderStatus) { r.StartTime = timeAfter(-time.Hour) })},
		"evicted":             {old: evictionOf("Active", "Inactive"), obj: evictionOf("Canceled", "Inactive"), are: ended("TargetEvicted")},
		"evicted, active":     {old: evictionOf("Active"), obj: evictionOf("Active"), are: ended("Failed"), want: "must be one of: Canceled, Completed, Interrupted, because the eviction request has finished processing"},
		"evicted, the next":   {old: evictionOf("Active", "Inactive"), obj: evictionOf("Canceled", "Active"), are: ended("Failed"), want: "must be one of: Inactive, because the eviction request has finished processing"},
		"back to inactive":    {old: evictionOf("Active"), obj: evictionOf("Inactive"), want: "must be one of: Canceled, Completed, Interrupted, because this responder must reach a final state"},
		"final":               {old: evictionOf("Completed", "Active"), obj: evictionOf("Canceled", "Active"), want: `must be one of: Completed, because final state is immutable`},
		"reverted":            {old: evictionOf("Completed"), obj: evictionOf("Completed"), were: ended("Failed"), want: "Failed condition status cannot be reverted"},
		"one more":            {old: evictionOf("Active"), obj: evictionOf("Active", "Inactive"), want: "must preserve the same length and the same keys in the same order"},
		"another":             {old: evictionOf("Active"), obj: evictionOf("Active"), are: func(e *eviction) { e.Status.TargetResponders[0].Name = "example.com/x" }, want: "must preserve the same keys in the same order"},
		"lists differ":        {obj: evictionOf("Active"), are: func(e *eviction) { e.Status.Responders[0].Name = "example.com/x" }, want: "must contain the same keys in the same order as status.targetResponders"},
		"inactive writes":     {old: evictionOf("Active", "Inactive"), obj: evictionOf("Active", "Inactive"), are: func(e *eviction) { e.Status.Responders[1].Message = new("x") }, want: "status.responders[1]: Invalid value"},
		"heartbeat":           {old: evictionOf("Active"), obj: evictionOf("Active"), are: responder(func(r *responderStatus) { r.HeartbeatTime = timeAfter(time.Second) })},
		"old heartbeat":       {old: evictionOf("Active"), obj: evictionOf("Active"), are: responder(func(r *responderStatus) { r.HeartbeatTime = timeAfter(-40 * time.Second) }), want: "heartbeatTime: Invalid value: \"2026-08-01T11:59:20Z\": must be set to the present time"},
		"early heartbeat":     {old: evictionOf("Active"), obj: evictionOf("Active"), are: responder(func(r *responderStatus) { r.HeartbeatTime = timeAfter(-time.Hour) }), want: "must occur after status.responders[0].startTime"},
		"heartbeat removed":   {old: evictionOf("Active"), obj: evictionOf("Active"), were: responder(func(r *responderStatus) { r.HeartbeatTime = timeAfter(0) }), want: "heartbeatTime: Required value: is required once set"},
		"heartbeat earlier":   {old: evictionOf("Active"), obj: evictionOf("Active"), were: responder(func(r *responderStatus) { r.HeartbeatTime = timeAfter(0) }), are: responder(func(r *responderStatus) { r.HeartbeatTime = timeAfter(-time.Second) }), want: "cannot be decreased"},
		"expected":            {old: evictionOf("Active"), obj: evictionOf("Active"), are: responder(func(r *responderStatus) { r.ExpectedCompletionTime = timeAfter(time.Hour) })},
		"expected before":     {old: evictionOf("Active"), obj: evictionOf("Active"), are: responder(func(r *responderStatus) { r.ExpectedCompletionTime = timeAfter(-50 * time.Second) }), want: "cannot be set to the past time"},
		"expected never":      {old: evictionOf("Active"), obj: evictionOf("Active"), are: responder(func(r *responderStatus) { r.ExpectedCompletionTime = timeAfter(11 * 365 * 24 * time.Hour) }), want: "must complete within 10 years"},
		"completion too late": {old: evictionOf("Active"), obj: evictionOf("Active"), are: responder(func(r *responderStatus) { r.CompletionTime = timeAfter(time.Hour) }), want: "completionTime: Invalid value: \"2026-08-01T13:00:00Z\": must be set to the present time"},
		"condition":           {obj: &eviction{}, are: func(e *eviction) { e.Status.Conditions = []metav1.Condition{{Type: "a b"}} }, want: "status.conditions[0].type: Invalid value"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.old == nil {
				c.old = &eviction{}
			}
			if c.were != nil {
				c.were(c.old)
			}
			if c.are != nil {
				c.are(c.obj)
			}
			wantFaults(t, besideMetadata(checkStatus(kind, nil, c.obj, c.old)), c.want)
		})
	}
}
