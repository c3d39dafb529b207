package audit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/miniapiserver/miniapiserver/request"
)

// TestFailingLog checks in each mode what a request notices of a log that fails.
func TestFailingLog(t *testing.T) {
	for mode, want := range map[string]bool{ModeBatch: true, ModeBlocking: true, ModeBlockingStrict: false} {
		out := &lines{err: errors.New("disk full")}
		a, reg := auditor(t, Config{Log: logTo(out, mode)})
		trail, _ := begin(t, a, nil)
		if got := trail.Received(); got != want {
			t.Errorf("%s: accepted %t", mode, got)
		}
		if err := a.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if n := counted(t, reg, "apiserver_audit_error_total", "log"); n != 1 {
			t.Errorf("%s: %v errors are counted", mode, n)
		}
		rejected := map[bool]float64{true: 0, false: 1}[want]
		if n := counted(t, reg, "apiserver_audit_requests_rejected_total", ""); n != rejected {
			t.Errorf("%s: %v rejections are counted", mode, n)
		}
	}
}

// TestBlocking checks that an event is written before its request goes on.
func TestBlocking(t *testing.T) {
	for _, mode := range []string{ModeBlocking, ModeBlockingStrict} {
		out := &lines{}
		a, _ := auditor(t, Config{Log: logTo(out, mode)})
		for i := range 100 {
			trail, _ := begin(t, a, nil)
			if !trail.Received() || len(out.events(t)) != i+1 {
				t.Fatalf("%s: %d events after %d requests", mode, len(out.events(t)), i+1)
			}
		}
	}
}

// TestInvalidObject checks that an event that cannot be encoded is counted.
func TestInvalidObject(t *testing.T) {
	out := &lines{}
	a, reg := auditor(t, Config{Log: logTo(out, ModeBlockingStrict)})
	trail, scope := begin(t, a, nil)
	scope.Audit.RequestObject = []byte("not: json")
	trail.Started(200)
	trail.Complete()
	if n := counted(t, reg, "apiserver_audit_error_total", "log"); n != 1 || out.String() != "" {
		t.Errorf("%v errors are counted, %s", n, out)
	}
}

// TestTruncate checks that large events lose their objects, and larger ones are dropped.
func TestTruncate(t *testing.T) {
	out := &lines{}
	log := logTo(out, ModeBlockingStrict)
	log.Truncate.Enabled = true
	a, reg := auditor(t, Config{Log: log})
	for _, size := range []int{10, 1000} {
		trail, scope := begin(t, a, nil)
		scope.Audit.ResponseObject = []byte(`"` + strings.Repeat("x", size) + `"`)
		trail.Started(200)
		trail.Complete()
	}
	events := out.events(t)
	if len(events) != 2 || events[0]["responseObject"] == nil || events[0]["annotations"] != nil || events[1]["responseObject"] != nil {
		t.Fatal(out)
	}
	if got := fmt.Sprint(events[1]["annotations"]); got != "map[audit.k8s.io/truncated:true]" {
		t.Error(got)
	}
	trail, scope := begin(t, a, nil)
	scope.Annotate("a", strings.Repeat("x", 1000))
	if !trail.Received() {
		t.Error("a request is refused because its event is too large")
	}
	if n := counted(t, reg, "apiserver_audit_error_total", "truncate"); n != 1 || len(out.events(t)) != 2 {
		t.Errorf("%v events are dropped", n)
	}
}

// gate is an output whose sends wait until they are released.
type gate struct {
	release chan struct{}
	sent    chan int // the sizes of the batches
	ctxErr  chan error
}

func newGate() *gate {
	return &gate{release: make(chan struct{}), sent: make(chan int, 1000), ctxErr: make(chan error, 1000)}
}

func (g *gate) encode(b []byte, e *Event) ([]byte, error) { return append(b, e.ID...), nil }
func (g *gate) size(b []byte) int64                       { return int64(len(b)) }
func (g *gate) close() error                              { return nil }
func (g *gate) send(ctx context.Context, batch []entry) error {
	select {
	case <-g.release:
		g.sent <- len(batch)
		return nil
	case <-ctx.Done():
		g.ctxErr <- ctx.Err()
		return ctx.Err()
	}
}

// TestBuffer checks in each step which events a slow backend holds, and that it drops the
// others and never makes a request wait.
func TestBuffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := newGate()
		m, err := newMetrics(nil)
		if err != nil {
			t.Fatal(err)
		}
		faults := &faultLog{logger: discard, errors: m.errors, now: time.Now}
		b := newBackend(nameWebhook, out, BatchConfig{Mode: ModeBatch, BufferSize: 20, MaxSize: 4, MaxWait: time.Minute}, TruncateConfig{}, faults)
		start := time.Now()
		for range 4*maxSends + 4 + 20 { // sent, in the next batch, and in the buffer
			if !b.process(&Event{ID: "x"}) {
				t.Error("an event is refused")
			}
			synctest.Wait()
		}
		if n := len(b.buffer.events); n != 20 {
			t.Errorf("%d events wait", n)
		}
		for range 5 {
			b.process(&Event{ID: "x"})
		}
		if got := value(t, m.errors.WithLabelValues(nameBuffer)); got != 5 {
			t.Errorf("%v events are dropped", got)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("requests waited for %v", took)
		}
		close(out.release)
		if err := b.close(t.Context()); err != nil {
			t.Error(err)
		}
		total := 0
		for range len(out.sent) {
			total += <-out.sent
		}
		if total != 4*maxSends+24 {
			t.Errorf("%d events are sent", total)
		}
		b.process(&Event{ID: "x"}) // after the end
		if got := value(t, m.errors.WithLabelValues(nameBuffer)); got != 6 {
			t.Errorf("%v events are dropped", got)
		}
	})
}

// TestBatches checks the sizes of batches and the times at which they are sent.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := newGate()
		close(out.release)
		b := newBackend(nameWebhook, out, BatchConfig{Mode: ModeBatch, BufferSize: 20, MaxSize: 3, MaxWait: time.Minute, Throttle: true, QPS: 0.1, Burst: 1}, TruncateConfig{}, quiet(t))
		add := func(n int) {
			for range n {
				b.process(&Event{ID: "x"})
			}
			synctest.Wait()
		}
		sent := func(after time.Duration, want ...int) {
			t.Helper()
			time.Sleep(after) // moves the clock of the bubble
			synctest.Wait()
			for _, n := range want {
				select {
				case got := <-out.sent:
					if got != n {
						t.Errorf("a batch of %d, want %d", got, n)
					}
				default:
					t.Errorf("no batch of %d", n)
				}
			}
			if len(out.sent) > 0 {
				t.Errorf("%d batches too many", len(out.sent))
			}
		}
		add(4)
		sent(0, 3)
		sent(59 * time.Second)
		sent(time.Second, 1)
		add(7)
		sent(5 * time.Second) // throttled
		sent(5*time.Second, 3)
		sent(10*time.Second, 3)
		if err := b.close(t.Context()); err != nil {
			t.Error(err)
		}
		sent(0, 1)
	})
}

// TestCloseDeadline checks that Close gives up a backend that does not answer in time.
func TestCloseDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := newGate()
		b := newBackend(nameWebhook, out, BatchConfig{Mode: ModeBatch, BufferSize: 20, MaxSize: 1}, TruncateConfig{}, quiet(t))
		b.process(&Event{ID: "x"})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		if err := b.close(ctx); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took != time.Minute || len(out.ctxErr) != 1 {
			t.Errorf("ended after %v", took)
		}
	})
}

// TestBatchSize checks that batches for a webhook have a maximum size.
func TestBatchSize(t *testing.T) {
	b := &backend{name: nameWebhook, out: newGate(), truncate: TruncateConfig{Enabled: true, MaxBatchSize: 10}}
	entries := func(sizes ...int) (all []entry) {
		for _, n := range sizes {
			all = append(all, entry{data: make([]byte, n)})
		}
		return all
	}
	for _, c := range []struct {
		batch []entry
		want  int
	}{{entries(5, 5, 1), 2}, {entries(20, 1), 1}, {entries(1), 1}, {entries(3, 3, 3), 3}} {
		if got := b.fitting(c.batch); got != c.want {
			t.Errorf("%v: %d", c.batch, got)
		}
	}
}

// TestValidate checks the messages for invalid configurations.
func TestValidate(t *testing.T) {
	valid := func() (*LogConfig, *WebhookConfig) {
		batch := BatchConfig{Mode: ModeBatch, BufferSize: 1, MaxSize: 1, Throttle: true, QPS: 1, Burst: 1}
		truncate := TruncateConfig{MaxEventSize: 1, MaxBatchSize: 1}
		return &LogConfig{Format: FormatLegacy, Batch: batch, Truncate: truncate}, &WebhookConfig{Batch: batch, Truncate: truncate}
	}
	for want, change := range map[string]func(*LogConfig, *WebhookConfig){
		"": func(*LogConfig, *WebhookConfig) {},
		`invalid audit log mode x, allowed modes are "batch,blocking,blocking-strict"`:             func(l *LogConfig, _ *WebhookConfig) { l.Batch.Mode = "x" },
		`invalid audit log format x, allowed formats are "legacy,json"`:                            func(l *LogConfig, _ *WebhookConfig) { l.Format = "x" },
		"--audit-log-maxage -1 can't be a negative number":                                         func(l *LogConfig, _ *WebhookConfig) { l.MaxAge = -1 },
		"--audit-log-maxbackup -1 can't be a negative number":                                      func(l *LogConfig, _ *WebhookConfig) { l.MaxBackups = -1 },
		"--audit-log-maxsize -1 can't be a negative number":                                        func(l *LogConfig, _ *WebhookConfig) { l.MaxSize = -1 },
		"invalid audit batch webhook buffer size 0, must be a positive number":                     func(_ *LogConfig, w *WebhookConfig) { w.Batch.BufferSize = 0 },
		"invalid audit batch webhook max batch size 0, must be a positive number":                  func(_ *LogConfig, w *WebhookConfig) { w.Batch.MaxSize = 0 },
		"invalid audit batch webhook throttle QPS 0, must be a positive number":                    func(_ *LogConfig, w *WebhookConfig) { w.Batch.QPS = 0 },
		"invalid audit batch webhook throttle burst 0, must be a positive number":                  func(_ *LogConfig, w *WebhookConfig) { w.Batch.Burst = 0 },
		"invalid audit truncate webhook max event size 0, must be a positive number":               func(_ *LogConfig, w *WebhookConfig) { w.Truncate.MaxEventSize = 0 },
		"invalid audit truncate webhook max batch size 0, must be greater than max event size (1)": func(_ *LogConfig, w *WebhookConfig) { w.Truncate.MaxBatchSize = 0 },
	} {
		l, w := valid()
		change(l, w)
		got := ""
		if err := errors.Join(l.Validate(), w.Validate()); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	l, _ := valid()
	l.Batch = BatchConfig{Mode: ModeBlocking}
	if err := l.Validate(); err != nil {
		t.Errorf("unused fields are checked: %v", err)
	}
}

// TestFaultLog checks that a backend that is down does not fill the log.
func TestFaultLog(t *testing.T) {
	var log strings.Builder
	now := time.Unix(10, 0)
	m, err := newMetrics(nil)
	if err != nil {
		t.Fatal(err)
	}
	f := &faultLog{logger: textLogger(&log), errors: m.errors, now: func() time.Time { return now }}
	for range 5 {
		f.report("log", errors.New("disk full"), "a", "b")
	}
	now = now.Add(time.Second)
	f.report("log", errors.New("disk full"), "c")
	if n := strings.Count(log.String(), "\n"); n != 2 || !strings.Contains(log.String(), "since=8") || value(t, m.errors.WithLabelValues("log")) != 11 {
		t.Error(log.String())
	}
}

// TestConcurrentRequests checks that no event is lost or torn if many requests end at once.
func TestConcurrentRequests(t *testing.T) {
	out := &lines{}
	a, _ := auditor(t, Config{Log: logTo(out, ModeBlocking)})
	done := make(chan struct{})
	for i := range 20 {
		go func() {
			for range 20 {
				trail, _ := begin(t, a, func(_ *http.Request, s *request.Scope) { s.ID = fmt.Sprint("id-", i) })
				trail.Received()
				trail.Started(200)
				trail.Complete()
			}
			done <- struct{}{}
		}()
	}
	for range 20 {
		<-done
	}
	if n := len(out.events(t)); n != 800 {
		t.Errorf("%d events", n)
	}
}
