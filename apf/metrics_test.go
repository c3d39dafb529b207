package apf

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/eventually"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/request"
)

// sample returns the value of a counter, or the number and the sum of the observations of a histogram, of the schema people in
// the level small, with these further labels; "" if there is none.
func sample(t *testing.T, l *Limiter, name string, labels ...string) string {
	t.Helper()
	reg := prometheus.NewRegistry()
	if err := reg.Register(&metricsCollector{l}); err != nil {
		t.Fatal(err)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	want := append([]string{"flow_schema=people", "priority_level=small"}, labels...)
	for _, f := range families {
		if f.GetName() != "apiserver_flowcontrol_"+name {
			continue
		}
		for _, m := range f.Metric {
			var have []string
			for _, p := range m.Label {
				have = append(have, p.GetName()+"="+p.GetValue())
			}
			slices.Sort(have)
			slices.Sort(want)
			switch h := m.Histogram; {
			case !slices.Equal(have, want):
			case h != nil:
				return fmt.Sprint(h.GetSampleCount(), " ", h.GetSampleSum())
			default:
				return fmt.Sprint(m.Counter.GetValue())
			}
		}
	}
	return ""
}

// TestCountedAtArrival checks what the metrics say of requests that are rejected at once, that wait too long, and that execute.
// These are the values of kube-apiserver, in which the label execute of a request that waited too long is true.
func TestCountedAtArrival(t *testing.T) {
	l, clock := newSmallLimiter(t, 1)
	defer l.CountWatch(&request.Info{Resource: "pods", Verb: "watch", Watch: true}, WatchSelection{})()
	update := func() RequestDigest {
		info := getRequest()
		info.Verb = "update"
		return RequestDigest{User: testUser("alice"), Info: info}
	}
	seat, ok := l.Begin(t.Context(), update())
	if !ok {
		t.Fatal(seat.Reason)
	}
	waiting := startBegin(t.Context(), l, "bob")
	eventually.True(t, "bob waits", func() bool { return waitingIn(l, "small") == 1 })
	for range 2 {
		if refused, ok := l.Begin(t.Context(), update()); ok || refused.Reason != reasonFull {
			t.Fatalf("%v %s", ok, refused.Reason)
		}
	}
	check := func(want map[string]string) {
		t.Helper()
		for name, value := range want {
			name, labels, _ := strings.Cut(name, " ")
			if got := sample(t, l, name, strings.Fields(labels)...); got != value {
				t.Errorf("%s %s: got %q, want %q", name, labels, got, value)
			}
		}
	}
	check(map[string]string{
		"work_estimated_seats": "4 4", "watch_count_samples": "3 3", "dispatched_requests_total": "1",
		"rejected_requests_total reason=queue-full": "2", "request_wait_duration_seconds execute=false": "2 0", "request_wait_duration_seconds execute=true": "1 0",
		"request_dispatch_no_accommodation_total": "",
	})
	clock.advance(15 * time.Second)
	<-waiting.done
	seat.Done()
	check(map[string]string{
		"work_estimated_seats": "4 4", "rejected_requests_total reason=time-out": "1", "request_wait_duration_seconds execute=true": "2 15",
		"request_execution_seconds type=regular": "1 15",
	})
}

// TestWaitsWithoutQueues checks that requests of a level without queues count as waits of no time, unless it is exempt.
func TestWaitsWithoutQueues(t *testing.T) {
	l, _ := newSmallLimiter(t, 1)
	schemas, levels := twoUserConfig(1, 1)
	levels[0].Spec.Limited.LimitResponse.Type, levels[0].Spec.Limited.LimitResponse.Queuing = "Reject", nil
	l.Configure(schemas, levels)
	seat := mustBegin(t, l, "alice")
	if refused, ok := l.Begin(t.Context(), RequestDigest{User: testUser("bob"), Info: getRequest()}); ok || refused.Reason != reasonLimit {
		t.Fatalf("%v %s", ok, refused.Reason)
	}
	seat.Done()
	for label, want := range map[string]string{"execute=false": "1 0", "execute=true": "1 0"} {
		if got := sample(t, l, "request_wait_duration_seconds", label); got != want {
			t.Errorf("%s: got %q, want %q", label, got, want)
		}
	}
}

// TestCountersOutliveLevels checks that the counters of a level and a schema stay when these are removed, and go on when they are
// created again.
func TestCountersOutliveLevels(t *testing.T) {
	l, _ := newSmallLimiter(t, 1)
	count := func(want string) {
		t.Helper()
		if got := sample(t, l, "dispatched_requests_total"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if got := sample(t, l, "request_execution_seconds", "type=regular"); !strings.HasPrefix(got, want+" ") {
			t.Errorf("got %q, want %s", got, want)
		}
	}
	mustBegin(t, l, "alice").Done()
	_, levels := twoUserConfig(1, 1)
	for range 3 { // without the schema
		l.Configure(nil, levels)
		count("1")
	}
	l.Configure(nil, nil)
	if l.hasLevel("small") {
		t.Fatal("the level is there")
	}
	count("1")
	l.Configure(twoUserConfig(1, 1))
	count("1")
	mustBegin(t, l, "alice").Done()
	count("2")
}

// TestSilentWrites checks that a write that changes no object counts no watchers and is no wider for them.
func TestSilentWrites(t *testing.T) {
	clock := newFakeClock()
	l, err := New(Options{Seats: 100, Clock: clock, Silent: func(i *request.Info) bool { return i.Subresource == "silent" }})
	if err != nil {
		t.Fatal(err)
	}
	l.Configure(twoUserConfig(1, 1))
	for range 100 {
		defer l.CountWatch(&request.Info{Resource: "pods", Verb: "watch", Watch: true}, WatchSelection{})()
	}
	for subresource, want := range map[string]int{"silent": 1, "other": 10} {
		info := getRequest()
		info.Verb, info.Subresource = "create", subresource
		ticket, ok := l.Begin(t.Context(), RequestDigest{User: testUser("alice"), Info: info})
		if !ok || ticket.width.seats() != want {
			t.Errorf("%s: %v, %d seats, want %d", subresource, ok, ticket.width.seats(), want)
		}
		ticket.Done()
	}
	if got := sample(t, l, "watch_count_samples"); got != "1 100" {
		t.Errorf("got %s", got)
	}
}
