package audit

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/hooks"
	"github.com/miniapiserver/miniapiserver/internal/outbound"
)

// hook is a webhook that answers with a code until it has failed often enough.
type hook struct {
	*httptest.Server
	requests atomic.Int64
	bodies   chan []byte
}

func newHook(t *testing.T, failures int64, code int) *hook {
	h := &hook{bodies: make(chan []byte, 100)}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %v, %v", r.Method, r.Header, err)
		}
		if h.requests.Add(1) <= failures {
			w.WriteHeader(code)
			return
		}
		h.bodies <- body
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *hook) config(t *testing.T, mode string) *WebhookConfig {
	transport := outbound.Transport(outbound.Config{})
	t.Cleanup(transport.CloseIdleConnections)
	return &WebhookConfig{Client: outbound.Client(transport), URL: h.URL, InitialBackoff: time.Millisecond,
		Batch: BatchConfig{Mode: mode, BufferSize: 100, MaxSize: 10, MaxWait: time.Hour}, Truncate: TruncateConfig{MaxEventSize: 1, MaxBatchSize: 1}}
}

// TestWebhookBatch checks what a webhook receives in mode batch, after the end at the latest.
func TestWebhookBatch(t *testing.T) {
	h := newHook(t, 0, 0)
	a, _ := auditor(t, Config{Webhook: h.config(t, ModeBatch)})
	for range 7 {
		trail, _ := begin(t, a, nil)
		trail.Received()
		trail.Started(200)
		trail.Complete()
	}
	if err := a.Close(context.Background()); err != nil {
		t.Error(err)
	}
	var sizes []int // batches may overtake each other
	for range 2 {
		var list struct {
			Kind, APIVersion string
			Metadata         map[string]any
			Items            []map[string]any
		}
		if err := json.Unmarshal(<-h.bodies, &list); err != nil {
			t.Fatal(err)
		}
		if list.Kind != "EventList" || list.APIVersion != "audit.k8s.io/v1" || list.Metadata == nil || len(list.Items) == 0 {
			t.Fatalf("%+v", list)
		}
		sizes = append(sizes, len(list.Items))
		if e := list.Items[0]; e["kind"] != nil || e["auditID"] != "id-1" {
			t.Errorf("%v", e)
		}
	}
	if slices.Sort(sizes); !slices.Equal(sizes, []int{4, 10}) {
		t.Errorf("batches of %v", sizes)
	}
}

// TestWebhookRetries checks that events are sent again after any error, but not for ever.
func TestWebhookRetries(t *testing.T) {
	for _, c := range []struct {
		failures, code int
		accepted       bool
	}{{4, 500, true}, {4, 400, true}, {2, 302, true}, {5, 503, false}} {
		h := newHook(t, int64(c.failures), c.code)
		a, reg := auditor(t, Config{Webhook: h.config(t, ModeBlockingStrict)})
		trail, _ := begin(t, a, nil)
		if got := trail.Received(); got != c.accepted {
			t.Errorf("%+v: accepted %t", c, got)
		}
		if n := h.requests.Load(); n != int64(min(c.failures+1, hooks.MaxAttempts)) {
			t.Errorf("%+v: %d requests", c, n)
		}
		lost := map[bool]float64{true: 0, false: 1}[c.accepted]
		if n := counted(t, reg, "apiserver_audit_error_total", "webhook"); n != lost {
			t.Errorf("%+v: %v events are lost", c, n)
		}
	}
}

// TestWebhookEnd checks that Close ends the attempts of a webhook that is down.
func TestWebhookEnd(t *testing.T) {
	h := newHook(t, 1000, 500)
	c := h.config(t, ModeBatch)
	c.InitialBackoff, c.Batch.MaxSize = time.Hour, 1
	a, reg := auditor(t, Config{Webhook: c})
	trail, _ := begin(t, a, nil)
	trail.Received()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := a.Close(ctx); err != nil {
		t.Error(err)
	}
	if n := counted(t, reg, "apiserver_audit_error_total", "webhook"); n != 1 {
		t.Errorf("%v events are lost", n)
	}
}
