package request

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestManyAnnotations checks the order of many annotations, and that the first value of a key is
// kept.
func TestManyAnnotations(t *testing.T) {
	var s Scope
	if s.Annotations() != nil {
		t.Error("there are annotations")
	}
	var want []Annotation
	for i := range 12 {
		want = append(want, Annotation{fmt.Sprintf("key%02d", i), fmt.Sprint(i)})
	}
	for _, value := range []string{"", "another"} {
		for i := range want {
			a := want[len(want)-1-i]
			s.Annotate(a.Key, a.Value+value)
			if got := s.Annotations(); value == "" && !slices.Equal(got, want[len(want)-1-i:]) {
				t.Errorf("after %d: %v", i+1, got)
			}
		}
	}
	if got := s.Annotations(); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

// TestAuditRecord checks which objects a record wants, also if there is no record.
func TestAuditRecord(t *testing.T) {
	for level, want := range map[AuditLevel][2]bool{AuditMetadata: {}, AuditRequest: {true, false}, AuditRequestResponse: {true, true}} {
		a := &AuditRecord{Level: level}
		if got := [2]bool{a.WantsRequestObject(), a.WantsResponseObject()}; got != want {
			t.Errorf("level %d: got %v", level, got)
		}
	}
	var none *AuditRecord
	if none.WantsRequestObject() || none.WantsResponseObject() {
		t.Error("a request without a record wants objects")
	}
}

// TestAnnotate checks that the first value of an annotation is kept.
func TestAnnotate(t *testing.T) {
	s := &Scope{}
	s.Annotate("a", "1")
	s.Annotate("a", "2")
	s.Annotate("b", "3")
	if got := s.Annotations(); !slices.Equal(got, []Annotation{{"a", "1"}, {"b", "3"}}) {
		t.Errorf("got %v", got)
	}
}

// TestDurations checks sums and maxima of the parts.
func TestDurations(t *testing.T) {
	var d Durations
	d.Add(PartEtcd, 2)
	d.Add(PartEtcd, 3)
	d.Raise(PartValidatingWebhook, 7)
	d.Raise(PartValidatingWebhook, 4)
	got := map[string]time.Duration{}
	d.Each(func(p Part, took time.Duration) { got[p.String()] = took })
	if len(got) != 2 || got["etcd"] != 5 || got["validating-webhook"] != 7 {
		t.Errorf("got %v", got)
	}
}
