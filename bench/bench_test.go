package main

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/bench/process"
)

// TestSplitList checks the lists of workloads and process IDs in flags.
func TestSplitList(t *testing.T) {
	for list, want := range map[string][]string{"": nil, "a": {"a"}, "a,b": {"a", "b"}, ",a,,b,": {"a", "b"}} {
		if got := splitList(list); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", list, got, want)
		}
	}
}

// TestValueAfter checks the values that are read from the head of a list, which may end within
// a value.
func TestValueAfter(t *testing.T) {
	const key = `"continue":"`
	for head, want := range map[string]string{
		`{"metadata":{"resourceVersion":"5","continue":"abc"},"items":[`: "abc",
		`{"metadata":{"resourceVersion":"5"},"items":[`:                  "",
		`{"metadata":{"continue":""`:                                     "",
		`{"metadata":{"continue":"ab`:                                    "",
		"":                                                               "",
	} {
		if got := valueAfter([]byte(head), key); got != want {
			t.Errorf("%s: %q, want %q", head, got, want)
		}
	}
}

// TestWorkloadNames checks that workloads have different names and a description, and that each
// has either requests or a measurement of its own.
func TestWorkloadNames(t *testing.T) {
	names := workloadNames()
	slices.Sort(names)
	if n := len(slices.Compact(slices.Clone(names))); n != len(workloads) {
		t.Errorf("%d names of %d workloads: %q", n, len(workloads), names)
	}
	for _, w := range workloads {
		if w.about == "" || (w.request == nil) == (w.own == nil) || w.own == nil && (w.ops == nil || w.workers == nil) {
			t.Errorf("incomplete workload %q", w.name)
		}
	}
}

// TestMeasure checks that each operation runs once, that responses and their sizes are added,
// and that an error of an operation ends the measurement.
func TestMeasure(t *testing.T) {
	target := &target{Process: process.Self()}
	const ops = 100
	var calls [ops]atomic.Int64
	r, err := measure(target, ops, 8, func(i int) (int64, int64, error) {
		calls[i].Add(1)
		return 2, 10, nil
	})
	if err != nil || r.ops != ops || r.answers != 2*ops || r.bytes != 10*ops || r.rss == 0 || r.p50 > r.p99 {
		t.Errorf("got %+v, %v", r, err)
	}
	for i := range calls {
		if n := calls[i].Load(); n != 1 {
			t.Errorf("operation %d ran %d times", i, n)
		}
	}
	failed := errors.New("failed")
	if _, err := measure(target, ops, 8, func(i int) (int64, int64, error) {
		if i == 7 {
			return 0, 0, failed
		}
		return 1, 1, nil
	}); !errors.Is(err, failed) {
		t.Errorf("got error %v, want %v", err, failed)
	}
}

// TestLoadBegins checks that load names each workload before it runs, so that a profile can begin with any of them.
func TestLoadBegins(t *testing.T) {
	var last atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last.Store(r.Method)
		_, _ = w.Write([]byte("{}"))
	}))
	defer server.Close()
	target := newTarget(server.URL, "", process.Self())
	defer target.client.CloseIdleConnections()
	var before []string
	err := load(t.Context(), &settings{objects: 3, ops: 3, workers: 1}, "title", target, target, []string{"update", "create", "get"},
		func(w string) { before = append(before, w+" after "+last.Load().(string)) })
	want := []string{"create after GET", "get after POST", "update after GET"}
	if err != nil || !slices.Equal(before, want) {
		t.Errorf("got %q, %v, want %q", before, err, want)
	}
}

// TestFinish checks the quantiles of latencies.
func TestFinish(t *testing.T) {
	latency := make([]time.Duration, 200)
	for i := range latency {
		latency[i] = time.Duration(200-i) * time.Millisecond
	}
	r := &result{ops: len(latency)}
	if err := r.finish(&target{Process: process.Self()}, 0, latency); err != nil {
		t.Fatal(err)
	}
	if r.p50 != 100*time.Millisecond || r.p99 != 198*time.Millisecond {
		t.Errorf("p50 %v, p99 %v", r.p50, r.p99)
	}
}

// TestPerOp checks the CPU time per operation.
func TestPerOp(t *testing.T) {
	for _, tt := range []struct {
		r    result
		want float64
	}{
		{result{ops: 4, cpu: time.Second}, 250},
		{result{ops: 0, cpu: time.Second}, 1000},
		{result{ops: 1000, cpu: 0}, 0},
	} {
		if got := tt.r.perOp(); got != tt.want {
			t.Errorf("%+v: %v ms, want %v", tt.r, got, tt.want)
		}
	}
}

// TestSendAll checks that all pages of a list are requested and that their sizes are added.
func TestSendAll(t *testing.T) {
	var queries []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		queries = append(queries, r.URL.RawQuery)
		if token := strconv.Itoa(len(queries)); len(queries)%3 != 0 {
			_, _ = w.Write([]byte(`{"metadata":{"continue":"` + token + `"}}`))
		} else {
			_, _ = w.Write([]byte(`{"metadata":{}}`))
		}
	}))
	defer server.Close()
	target := newTarget(server.URL, "", process.Self())
	defer target.client.CloseIdleConnections()
	for _, tt := range []struct {
		pages   bool
		answers int64
		bytes   int64
		queries string
	}{
		{true, 3, 29 + 29 + 15, "limit=1 limit=1&continue=1 limit=1&continue=2"},
		{false, 1, 29, "limit=1"},
	} {
		queries = nil
		answers, bytes, err := sendAll(t.Context(), target, &workload{pages: tt.pages}, request{method: http.MethodGet, path: "/?limit=1"})
		if got := strings.Join(queries, " "); err != nil || answers != tt.answers || bytes != tt.bytes || got != tt.queries {
			t.Errorf("pages %t: %d responses of %d bytes for %s: %v", tt.pages, answers, bytes, got, err)
		}
	}
}

// TestFanoutRead checks that events of a watch are counted by lines, and those of the floor by
// their size.
func TestFanoutRead(t *testing.T) {
	long := strings.Repeat("x", 100)
	for _, tt := range []struct {
		body  string
		size  int64
		bytes int64
		fails bool
	}{
		{"a\n" + long + "\nrest", 0, 2 + 101, false},
		{"a\nincomplete", 0, 2, true},
		{"xxxxyyyyrest", 4, 8, false},
		{"xxxxyy", 4, 4, true},
	} {
		f := &fanoutState{left: make([]atomic.Int64, 2), last: make([]time.Time, 2)}
		for i := range f.left {
			f.left[i].Store(1)
		}
		err := f.read(bufio.NewReaderSize(strings.NewReader(tt.body), 16), tt.size)
		if (err != nil) != tt.fails || f.bytes.Load() != tt.bytes {
			t.Errorf("%.10q: %d bytes, %v", tt.body, f.bytes.Load(), err)
		}
		if f.last[0].IsZero() || f.last[1].IsZero() != tt.fails {
			t.Errorf("%.10q: events at %v", tt.body, f.last)
		}
	}
}

// TestFloor checks that the floor responds with the requested number of bytes, sends an event
// to its watches for each PATCH, and refuses invalid sizes.
func TestFloor(t *testing.T) {
	server := httptest.NewServer(&floor{streams: map[chan int64]bool{}})
	defer server.Close()
	target := newTarget(server.URL, "", process.Self())
	defer target.client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if a, err := target.send(ctx, request{method: http.MethodGet, path: "/", answer: 5000}); err != nil || a.bytes != 5000 || len(a.head) != headSize {
		t.Errorf("got %d bytes, head of %d: %v", a.bytes, len(a.head), err)
	}
	if _, err := target.send(ctx, request{method: http.MethodGet, path: "/", answer: maxResponseSize + 1}); err == nil {
		t.Error("no error for a response that is too large")
	}
	watch, err := target.open(ctx, request{method: http.MethodGet, path: "/?" + watchQuery, answer: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	if _, err := target.send(ctx, request{method: http.MethodPatch, path: "/", answer: 7}); err != nil {
		t.Fatal(err)
	}
	event := make([]byte, 7)
	if _, err := bufio.NewReader(watch).Read(event); err != nil || string(event) != "xxxxxxx" {
		t.Errorf("event %q, %v", event, err)
	}
	cancel()
}
