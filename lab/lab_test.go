package lab

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/eventually"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/storage"
)

// TestRequest checks what a Request says of a request that was served.
func TestRequest(t *testing.T) {
	l := startLab(t, 0)
	scope := l.serve("POST", "/apis/apps/v1/namespaces/a/deployments?fieldManager=m&dryRun=All", 201, func(r *http.Request, s *request.Scope) {
		r.Header.Set("User-Agent", "kubectl/v1.37 (linux)")
		s.Impersonator = &request.User{Name: "admin"}
		s.Audit.BodyMeta = &request.AuditMeta{Name: "web"}
		s.Warn("be careful")
		s.Account.BeginStep("authorization")
		s.Account.Fact("mode", "RBAC")
		s.Account.EndStep()
		s.Annotate("authorization.k8s.io/decision", "allow")
		s.Annotate("other", "note")
	})
	r := l.get(scope.ID, nil)
	spec := r.Spec
	if spec.Verb != "create" || spec.Method != "POST" || spec.User != "jane" || spec.Impersonator != "admin" || spec.Group != "apps" ||
		spec.Resource != "deployments" || spec.Namespace != "a" || spec.ObjectName != "web" || !spec.DryRun || spec.FieldManager != "m" ||
		spec.UserAgent != "kubectl/v1.37 (linux)" || spec.SourceIP == "" || !slices.Equal(spec.Groups, []string{"developers"}) {
		t.Errorf("spec %+v", spec)
	}
	st := r.Status
	if st.Phase != v1alpha1.PhaseComplete || st.Code != 201 || st.ResponseBytes != 10 || st.Took == "" || st.Why != "warning: be careful" {
		t.Errorf("status %+v", st)
	}
	if len(st.Steps) != 2 || st.Steps[0].Facts["mode"] != "RBAC" || st.Steps[0].Facts["decision"] != "allow" || st.Steps[1].Facts["other"] != "note" {
		t.Errorf("steps %+v", st.Steps)
	}
}

// TestEncoding checks that texts of clients, whatever they contain, make a valid object.
func TestEncoding(t *testing.T) {
	l := startLab(t, 0)
	for _, text := range []string{"\x00\x1f\"\\</script>", "\xff\xfe", "a\u2028b", strings.Repeat("é", 5000)} {
		scope := l.serve("GET", "/api/v1/namespaces/a/pods", 200, func(r *http.Request, s *request.Scope) {
			r.Header.Set("User-Agent", text)
			s.User = &request.User{Name: text, Groups: []string{text}}
			s.Info.Name = text
			s.Account.BeginStep("authorization")
			s.Account.Fact("mode", text)
			s.Account.EndStep()
			s.Annotate(text, text)
			s.Warn(text)
		})
		r := l.get(scope.ID, nil)
		if len(r.Spec.UserAgent) > maxAgent+3 || len(r.Spec.ObjectName) > maxAgent+3 || len(r.Status.Steps) != 2 {
			t.Errorf("%q: %+v", text, r)
		}
	}
}

// TestNames checks that an audit ID that a client chose becomes a name only if it can, and only once.
func TestNames(t *testing.T) {
	l := startLab(t, 0)
	for _, id := range []string{"mine", "mine", "../../x", "A/b", strings.Repeat("x", 200), ".", ""} {
		l.serve("GET", "/version", 200, func(_ *http.Request, s *request.Scope) { s.ID = id })
	}
	eventually.True(t, "all requests", func() bool { return len(l.names()) == 7 })
	names := l.names()
	if !slices.Contains(names, "mine") {
		t.Errorf("names %q", names)
	}
	for _, name := range names {
		if !isName(name) {
			t.Errorf("%q is the name of a Request", name)
		}
	}
}

// TestSecretsOfRequests checks that a token in the query is not kept.
func TestSecretsOfRequests(t *testing.T) {
	l := startLab(t, 0)
	for _, query := range []string{"access_token=geheim", "a=b&Token=geheim", "x=%74oken&token=geheim"} {
		scope := l.serve("GET", "/api/v1/pods?"+query, 200, nil)
		if r := l.get(scope.ID, nil); strings.Contains(fmt.Sprint(r), "geheim") {
			t.Errorf("%s: %v", query, r)
		}
	}
}

// TestRunning checks that a watch is there while it runs, with what it has sent, and what it says at its end.
func TestRunning(t *testing.T) {
	l := startLab(t, 0)
	counts := request.WatchCounts{Events: 3}
	scope, recording := l.begin("GET", "/api/v1/pods?watch=1", func(_ *http.Request, s *request.Scope) {
		s.Account.FollowWatch(func() request.WatchCounts { return counts })
	})
	recording.Started(200)
	running := l.get(scope.ID, nil)
	if running.Status.Phase != v1alpha1.PhaseRunning || running.Status.Code != 200 || running.Status.Took != "" {
		t.Errorf("while it runs: %+v", running.Status)
	}
	l.refresh()
	if w := l.get(scope.ID, nil).Status.Watch; w == nil || w.Events != 3 {
		t.Errorf("events while it runs: %+v", w)
	}
	counts.Events, counts.Lag, counts.Ended = 5, 2*time.Millisecond, "too old"
	recording.Ended(200, 1000)
	ended := l.get(scope.ID, func(r *v1alpha1.Request) bool { return r.Status.Phase == v1alpha1.PhaseComplete })
	if w := ended.Status.Watch; w.Events != 5 || w.Lag != "2ms" || w.Ended != "too old" || ended.Status.Why != "watch ended: too old" {
		t.Errorf("at the end: %+v", ended.Status)
	}
	if len(l.running) != 0 || l.runningBytes != 0 {
		t.Errorf("%d requests are running, with %d bytes", len(l.running), l.runningBytes)
	}
}

// TestWatchOfRequests checks that a watch of requests does not feed itself: its own Request changes when it ends, and not before.
func TestWatchOfRequests(t *testing.T) {
	l := startLab(t, 0)
	counts := request.WatchCounts{}
	scope, recording := l.begin("GET", "/apis/lab.miniapiserver.io/v1alpha1/requests?watch=1", func(_ *http.Request, s *request.Scope) {
		s.Account.FollowWatch(func() request.WatchCounts { counts.Events++; return counts })
	})
	recording.Started(200)
	revision := func() string {
		item, err := l.registry.Get(t.Context(), l.target(scope.ID), storage.Read{})
		if err != nil {
			t.Fatal(err)
		}
		return item.ResourceVersion()
	}
	l.get(scope.ID, nil)
	before := revision()
	l.refresh()
	if after := revision(); after != before {
		t.Errorf("a refresh wrote %s after %s", after, before)
	}
	recording.Ended(200, 1000)
	ended := l.get(scope.ID, func(r *v1alpha1.Request) bool { return r.Status.Phase == v1alpha1.PhaseComplete })
	if ended.Status.Watch.Events == 0 {
		t.Errorf("at the end: %+v", ended.Status)
	}
}

// TestMemory checks that the oldest requests are dropped, that those of a storm are counted, and that the sum of what is kept
// stays below the limit.
func TestMemory(t *testing.T) {
	const memory = 1 << 20
	l := startLab(t, memory)
	first := l.serve("GET", "/version", 200, nil)
	l.get(first.ID, nil)
	var last *request.Scope
	for n := range 1000 {
		if last = l.serve("GET", "/version", 200, nil); n%50 == 0 {
			l.get(last.ID, nil) // not faster than they are kept
		}
	}
	l.get(last.ID, nil)
	eventually.True(t, "the first request to be dropped", func() bool { return !slices.Contains(l.names(), first.ID) })
	l.mu.Lock()
	defer l.mu.Unlock()
	var sum int64
	for _, k := range l.kept {
		sum += k.bytes
	}
	if sum != l.keptBytes || sum > l.share(shareOfKept) || len(l.kept) != len(l.order) || len(l.kept) < 50 {
		t.Errorf("%d kept, %d in order, %d bytes, counted %d", len(l.kept), len(l.order), sum, l.keptBytes)
	}
}

// TestStorm checks that requests which arrive faster than they are kept are dropped, the oldest first, and counted.
func TestStorm(t *testing.T) {
	l := &testLab{Lab: New(Config{Memory: 1 << 20}), t: t} // nothing takes the records
	for range 500 {
		l.serve("GET", "/version", 200, nil)
	}
	last := l.serve("GET", "/version", 200, nil)
	batch := l.take()
	if l.Dropped() != int64(501-len(batch)) || l.Dropped() == 0 || batch[len(batch)-1].name != last.ID {
		t.Errorf("%d dropped, %d left", l.Dropped(), len(batch))
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// TestManyWatches checks that requests which do not end have a bound of their own.
func TestManyWatches(t *testing.T) {
	l := startLab(t, 1<<20)
	for range 500 {
		_, recording := l.begin("GET", "/api/v1/pods?watch=1", nil)
		recording.Started(200)
	}
	scope := l.serve("GET", "/version", 200, nil)
	l.get(scope.ID, nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.runningBytes > l.share(shareOfRunning) || len(l.running) == 0 {
		t.Errorf("%d running, with %d bytes", len(l.running), l.runningBytes)
	}
}

// BenchmarkRecord measures what the lab does for a request.
func BenchmarkRecord(b *testing.B) {
	l := startLab(b, 0)
	b.ReportAllocs()
	for b.Loop() {
		l.serve("GET", "/api/v1/namespaces/a/configmaps/b", 200, nil)
	}
}
