package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/miniapiserver/miniapiserver/request"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lines is an output that keeps everything, and fails if err is set.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
	err error
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return 0, l.err
	}
	return l.buf.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// events decodes the lines.
func (l *lines) events(t testing.TB) (all []map[string]any) {
	t.Helper()
	for line := range strings.Lines(l.String()) {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		all = append(all, e)
	}
	return all
}

// stages returns the stages of the events, separated by spaces.
func (l *lines) stages(t testing.TB) string {
	t.Helper()
	var all []string
	for _, e := range l.events(t) {
		all = append(all, e["stage"].(string))
	}
	return strings.Join(all, " ")
}

func logTo(out *lines, mode string) *LogConfig {
	return &LogConfig{Path: "-", Stdout: out, Format: FormatJSON, Batch: BatchConfig{Mode: mode, BufferSize: 100, MaxSize: 1},
		Truncate: TruncateConfig{MaxEventSize: 1000, MaxBatchSize: 10000}}
}

// auditor returns an Auditor that is closed at the end of the test, and its metrics.
func auditor(t testing.TB, c Config) (*Auditor, *prometheus.Registry) {
	t.Helper()
	reg := prometheus.NewRegistry()
	c.Metrics, c.Logger = reg, slog.New(slog.DiscardHandler)
	if c.Policy == nil {
		c.Policy = mustParse(t, policyOf("- {level: RequestResponse}"))
	}
	a, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return a, reg
}

// counted returns the sum of a metric, of the series with a label value if it is not empty.
func counted(t testing.TB, reg *prometheus.Registry, name, label string) (sum float64) {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && (label == "" || m.GetLabel()[0].GetValue() == label) {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum
}

// begin begins a trail of a request to get or watch a pod.
func begin(t testing.TB, a *Auditor, change func(*http.Request, *request.Scope)) (*Trail, *request.Scope) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/api/v1/namespaces/ns/pods/p", nil)
	scope := &request.Scope{ID: "id-1", User: &request.User{Name: "jane"}}
	if change != nil {
		change(r, scope)
	}
	scope.Info = request.Parse(r)
	return a.Begin(r, scope, time.Unix(1, 2000)), scope
}

var discard = slog.New(slog.DiscardHandler)

func textLogger(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

// quiet returns a faultLog that counts but does not log.
func quiet(t testing.TB) *faultLog {
	m, err := newMetrics(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &faultLog{logger: discard, errors: m.errors, now: time.Now}
}

func value(t testing.TB, c prometheus.Counter) float64 {
	t.Helper()
	reg := prometheus.NewRegistry()
	reg.MustRegister(c)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return families[0].GetMetric()[0].GetCounter().GetValue()
}
