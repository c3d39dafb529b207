package apf

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/eventually"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/request"
)

// newBusyLimiter returns a limiter with an executing and two waiting requests and an executing
// exempt one; end finishes all.
func newBusyLimiter(t *testing.T, o Options) (l *Limiter, end func()) {
	t.Helper()
	o.Seats, o.Clock = 1, newFakeClock()
	l, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	l.Configure(twoUserConfig(4, 5))
	info := getRequest()
	info.Verb = "delete"
	executes, ok := l.Begin(t.Context(), RequestDigest{User: testUser("alice"), Info: info})
	if !ok {
		t.Fatal("alice is rejected")
	}
	master := mustBegin(t, l, "root")
	master.Done()
	root := &request.User{Name: "root", Groups: []string{request.GroupMasters}}
	exempt, _ := l.Begin(t.Context(), RequestDigest{User: root, Info: &request.Info{Verb: "get", Path: "/metrics"}})
	waits := []*pendingBegin{startBegin(t.Context(), l, "bob")}
	eventually.True(t, "bob waits", func() bool { return waitingIn(l, "small") == 1 })
	waits = append(waits, startBegin(t.Context(), l, "bob"))
	eventually.True(t, "bob waits twice", func() bool { return waitingIn(l, "small") == 2 })
	o.Clock.(*fakeClock).advance(time.Second)
	return l, func() {
		executes.Done()
		exempt.Done()
		for _, w := range waits {
			<-w.done
			w.ticket.Done()
		}
	}
}

// TestDumps compares the dumps with kube-apiserver's format.
func TestDumps(t *testing.T) {
	l, end := newBusyLimiter(t, Options{})
	defer end()
	dump := func(f func(*strings.Builder) error) []string {
		var b strings.Builder
		if err := f(&b); err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	}
	same := func(what string, got []string, want ...string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	same("levels", dump(func(b *strings.Builder) error { return l.DumpPriorityLevels(b) }),
		"PriorityLevelName, ActiveQueues, IsIdle, IsQuiescing, WaitingRequests, ExecutingRequests, DispatchedRequests, RejectedRequests, TimedoutRequests, CancelledRequests",
		"catch-all,         0,            true,   false,       0,               0,                 1,                  0,                0,                0",
		"exempt,            0,            false,  false,       0,               1,                 1,                  0,                0,                0",
		"small,             1,            false,  false,       2,               1,                 1,                  0,                0,                0")

	queues := dump(func(b *strings.Builder) error { return l.DumpQueues(b) })
	if len(queues) != 5 || queues[0] != "PriorityLevelName, Index,  PendingRequests, ExecutingRequests, SeatsInUse, NextDispatchR, InitialSeatsSum, MaxSeatsSum, TotalWorkSum" {
		t.Errorf("queues:\n%s", strings.Join(queues, "\n"))
	}
	busiest := slices.IndexFunc(queues, func(line string) bool { return strings.Contains(line, " 2,               0,") })
	if busiest < 0 || !strings.HasSuffix(queues[busiest], "2,               2,           0.00600000ss") {
		t.Errorf("queues:\n%s", strings.Join(queues, "\n"))
	}

	requests := dump(func(b *strings.Builder) error { return l.DumpRequests(b, true) })
	var cells [][]string
	for _, line := range requests {
		cells = append(cells, strings.Split(strings.ReplaceAll(line, " ", ""), ","))
	}
	same("columns", cells[0], "PriorityLevelName", "FlowSchemaName", "QueueIndex", "RequestIndexInQueue", "FlowDistingsher", "ArriveTime",
		"InitialSeats", "FinalSeats", "AdditionalLatency", "StartTime", "UserName", "Verb", "APIPath", "Namespace", "Name", "APIVersion", "Resource", "SubResource")
	const at = "2026-01-01T00:00:00Z"
	same("exempt", cells[1], "exempt", "exempt", "-1", "-1", "", at, "1", "0", "0s", at, "root", "get", "/metrics", "", "", "", "", "")
	rest := cells[2:]
	slices.SortFunc(rest, func(a, b []string) int { return strings.Compare(a[4]+a[3], b[4]+b[3]) })
	same("executing", append(rest[0][:2:2], rest[0][3:]...), "small", "people", "-1", "alice", at, "1", "0", "0s", at, "alice", "delete", "/api/v1/namespaces/ns/pods/p", "ns", "p", "v1", "pods", "")
	for i, place := range []string{"0", "1"} {
		same("waiting", append(rest[1+i][:2:2], rest[1+i][3:10]...), "small", "people", place, "bob", at, "1", "0", "0s", "0001-01-01T00:00:00Z")
	}
	if short := dump(func(b *strings.Builder) error { return l.DumpRequests(b, false) }); strings.Contains(short[0], "UserName") || len(short) != 5 {
		t.Errorf("without details:\n%s", strings.Join(short, "\n"))
	}
}

// TestMetrics checks that all metrics of kube-apiserver exist with their types and labels,
// and some values.
func TestMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	inflight := NewInflight(nil)
	reg.MustRegister(inflight)
	l, end := newBusyLimiter(t, Options{Metrics: reg, Inflight: inflight})
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	value := map[string]float64{}
	for _, f := range families {
		var labels []string
		for _, p := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, p.GetName())
		}
		slices.Sort(labels)
		got[f.GetName()] = strings.Join(append([]string{f.GetName(), strings.ToLower(f.GetType().String())}, labels...), " ")
		for _, m := range f.GetMetric() {
			series := f.GetName()
			for _, p := range m.GetLabel() {
				series += " " + p.GetValue()
			}
			value[series] = m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	data, err := os.ReadFile("testdata/metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if name, _, _ := strings.Cut(line, " "); name != "#" && got[name] != line {
			t.Errorf("want %q, got %q", line, got[name])
		}
	}
	const pre = "apiserver_flowcontrol_"
	for series, want := range map[string]float64{
		pre + "current_inqueue_requests people small":                 2,
		pre + "current_executing_requests people small":               1,
		pre + "current_executing_seats people small":                  1,
		pre + "dispatched_requests_total exempt exempt":               1,
		pre + "nominal_limit_seats small":                             1,
		pre + "watch_count_samples people small":                      1,
		pre + "priority_level_seat_utilization executing small":       1e9,
		pre + "demand_seats_high_watermark small":                     0,
		"apiserver_current_inflight_requests mutating":                1,
		"apiserver_current_inqueue_requests readOnly":                 2,
		pre + "read_vs_write_current_requests executing readOnly":     -1,
		pre + "request_queue_length_after_enqueue people small":       3,
		pre + "request_wait_duration_seconds true people small":       1,
		pre + "request_execution_seconds catch-all catch-all regular": 1,
	} {
		if n, ok := value[series]; !ok || want >= 0 && n != want {
			t.Errorf("%s is %v (%v), want %v", series, n, ok, want)
		}
	}
	end()
	l.Configure(nil, nil)
	if families, err = reg.Gather(); err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, p := range m.GetLabel() {
				if p.GetValue() == "small" && m.Gauge.GetValue() != 0 { // counters and histograms stay
					t.Fatalf("%s of a removed level is %v", f.GetName(), m.Gauge.GetValue())
				}
			}
		}
	}
}

// TestMaximumPerSecond checks that the maximum of requests is the one of the current second and
// of the previous one.
func TestMaximumPerSecond(t *testing.T) {
	clock := newFakeClock()
	f := NewInflight(clock)
	check := func(previousMax, max int) {
		t.Helper()
		k := &f.kinds[0]
		k.advanceTo(clock.Now())
		if got := k.executing; got.previousMax != previousMax || got.max != max {
			t.Errorf("got %+v", got)
		}
	}
	for range 3 {
		f.Execute(false)
	}
	f.Done(false)
	f.Done(false)
	check(0, 3)
	clock.advance(time.Second)
	check(3, 1)
	clock.advance(5 * time.Second)
	check(1, 1)
}
