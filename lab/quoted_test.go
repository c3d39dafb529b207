package lab

import (
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
	"github.com/miniapiserver/miniapiserver/request"
)

// TestWithoutKeys checks that the keys of maps and lists, which are contents of an object, are not part of a path in a list.
func TestWithoutKeys(t *testing.T) {
	for path, want := range map[string]string{
		"": "", "spec.a": "spec.a", "spec.containers[0].env[12].name": "spec.containers[0].env[12].name", "data[secret key!]": "data[*]",
		`.spec.ports[containerPort=80,name="x"].name`: ".spec.ports[*].name", "a[b": "a[*]", "[]": "[]", "a[b]c[1]": "a[*]c[1]",
	} {
		if got := withoutKeys(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// TestShownQuery checks that of a query only parameters of the API are kept.
func TestShownQuery(t *testing.T) {
	for query, want := range map[string]string{
		"limit=1&continue=x": "?limit=1&continue=x", "access_token=geheim": "?(left out)", "a=geheim&watch=1": "?(left out)&watch=1",
		"geheim": "?(left out)", "%77atch=geheim": "?(left out)", "command=geheim&tty=1": "?(left out)&tty=1",
	} {
		l := startLab(t, 0)
		scope := l.serve("GET", "/api/v1/pods?"+query, 200, nil)
		if got := l.get(scope.ID, nil).Spec.URI; got != "/api/v1/pods"+want {
			t.Errorf("%s: %s", query, got)
		}
	}
}

// TestLargeRecords checks that of several large records that wait only the newest has its states, and that none is dropped.
func TestLargeRecords(t *testing.T) {
	l := &testLab{Lab: New(Config{Memory: 4 << 20}), t: t} // nothing takes the records
	large := strings.Repeat("x", 1<<20)
	var last *request.Scope
	for range 5 {
		last = l.serve("PUT", "/api/v1/namespaces/a/configmaps/b", 200, func(_ *http.Request, s *request.Scope) {
			s.Account.SentState("kind", request.ObjectState{Data: []byte(large)})
		})
	}
	for range 20 {
		l.serve("GET", "/version", 200, nil)
	}
	batch := l.take()
	if len(batch) != 25 || l.Dropped() != 0 {
		t.Fatalf("%d records, %d dropped", len(batch), l.Dropped())
	}
	for _, r := range batch[:5] {
		if states := len(r.found().States); (states == 1) != (r.scope == last) || r.lightened == (r.scope == last) {
			t.Errorf("%s has %d states, lightened: %v", r.name, states, r.lightened)
		}
	}
	value, d := l.describe(batch[0], &keptRequest{})
	if len(value) == 0 || d.digest != digestOf([]byte(large)) || len(d.changes) != 1 || !strings.HasPrefix(d.changes[0].Path, "(not kept") {
		t.Errorf("%+v", d.changes)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// TestRoundedText checks durations as texts, those of a clock that jumped included.
func TestRoundedText(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0s", 1234567: "1.23ms", math.MaxInt64: "any", -time.Second: "-1s"} {
		if got := roundedText(d); got != want && d != math.MaxInt64 {
			t.Errorf("%d: %s, want %s", d, got, want)
		}
	}
}

// TestLists checks that what may quote an object is not in the object that lists show.
func TestLists(t *testing.T) {
	l := startLab(t, 0)
	scope := l.serve("POST", "/api/v1/namespaces/a/configmaps", 201, func(_ *http.Request, s *request.Scope) {
		s.Warn("the value is inhalt")
		s.Annotate("policy/key", "inhalt")
	})
	r := l.get(scope.ID, nil)
	if r.Status.Why != "warning: the value is inhalt" || len(r.Status.Warnings) != 1 || r.Status.Steps[len(r.Status.Steps)-1].Facts["policy/key"] != "inhalt" {
		t.Errorf("a get shows %+v", r.Status)
	}
	at := r.Spec.Time.Time
	value, _ := l.describe(&record{lab: l.Lab, scope: scope, name: "x", code: 201, received: at, ended: at}, &keptRequest{})
	if strings.Contains(string(value), "inhalt") {
		t.Errorf("a list shows %s", value)
	}
	for _, by := range []string{v1alpha1.CauseValidation, v1alpha1.CauseAdmissionWebhook, v1alpha1.CauseDecoding, v1alpha1.CauseServer} {
		if !mayQuote(by) {
			t.Errorf("messages by %s are in lists", by)
		}
	}
}
