package reconcile

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// TestQueueMetrics follows keys through a queue.
func TestQueueMetrics(t *testing.T) {
	now := time.Now()
	m := NewQueueMetrics()
	l := Loop[string]{BaseConfig: BaseConfig{QueueMetrics: m, Now: func() time.Time { return now }}, Name: "loop"}
	q, unmeasure := l.newQueue(t.Context(), slog.New(slog.DiscardHandler))
	q.limit = 0 // this test is the worker
	defer q.end()
	reg := prometheus.NewPedanticRegistry()
	if err := reg.Register(m); err != nil {
		t.Fatal(err)
	}
	check := func(step string, want ...string) {
		t.Helper()
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, f := range families {
			for _, one := range f.GetMetric() {
				h := one.GetHistogram()
				fmt.Fprintln(&b, strings.TrimPrefix(f.GetName(), "workqueue_"), one.GetLabel()[0].GetValue(), one.GetCounter().GetValue()+one.GetGauge().GetValue()+float64(h.GetSampleCount()), h.GetSampleSum())
			}
		}
		for _, line := range want {
			if !strings.Contains(b.String(), line+"\n") {
				t.Errorf("%s: there is no %q in\n%s", step, line, b.String())
			}
		}
	}
	q.Add("a")
	q.Add("a") // it waits already
	q.Add("b")
	check("added", "adds_total loop 2 0", "depth loop 2 0", "retries_total loop 0 0")
	now = now.Add(2 * time.Second)
	key, _ := q.take()
	now = now.Add(3 * time.Second)
	check("in work", "depth loop 1 0", "queue_duration_seconds loop 1 2", "unfinished_work_seconds loop 3 0", "longest_running_processor_seconds loop 3 0")
	q.done(key)
	check("done", "work_duration_seconds loop 1 3", "unfinished_work_seconds loop 0 0")
	q.AddAfter(key, 0)
	for range 2 { // b, and a again
		key, _ = q.take()
		q.done(key)
	}
	check("again", "adds_total loop 3 0", "retries_total loop 1 0", "work_duration_seconds loop 3 3")
	unmeasure()
	if len(m.queues) != 0 {
		t.Error("the queue is still measured")
	}
}
