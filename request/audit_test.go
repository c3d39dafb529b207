package request

import (
	"testing"
	"time"
)

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
	if got := s.Annotations(); len(got) != 2 || got["a"] != "1" || got["b"] != "3" {
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
