package representation

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// TestTimeout checks the response to a request whose time is over: whatever failed then, it is a Status
// without a kind, unless the error already reports a timeout.
func TestTimeout(t *testing.T) {
	p := &Responder{Logger: slog.New(slog.DiscardHandler)}
	over, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	const timeout = `{"metadata":{},"status":"Failure","message":"Timeout: request did not complete within the allotted timeout","reason":"Timeout","details":{},"code":504}` + "\n"
	unknown := apierrors.NewTimeoutError("the outcome is unknown", 1)
	for name, c := range map[string]struct {
		ctx  context.Context
		err  error
		code int
		text bool
	}{
		"deadline":                {over, context.DeadlineExceeded, http.StatusGatewayTimeout, true},
		"failure of a webhook":    {over, apierrors.NewInternalError(context.DeadlineExceeded), http.StatusGatewayTimeout, true},
		"timeout with a message":  {over, unknown, http.StatusGatewayTimeout, false},
		"deadline of a part":      {t.Context(), context.DeadlineExceeded, http.StatusGatewayTimeout, false},
		"failure within the time": {t.Context(), apierrors.NewInternalError(context.DeadlineExceeded), http.StatusInternalServerError, false},
	} {
		w := httptest.NewRecorder()
		p.WriteError(w, httptest.NewRequest(http.MethodGet, "/", nil).WithContext(c.ctx), c.err)
		isText := w.Header().Get("Content-Type") == "text/plain; charset=utf-8" && w.Body.String() == timeout
		if w.Code != c.code || isText != c.text {
			t.Errorf("%s: %d %s %s", name, w.Code, w.Header().Get("Content-Type"), w.Body)
		}
	}
}

// TestErrorsOfTime checks the Status of a deadline and of a disconnected client.
func TestErrorsOfTime(t *testing.T) {
	p := &Responder{}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	if s := p.Status(r, context.DeadlineExceeded); s.Code != http.StatusGatewayTimeout || s.Reason != "Timeout" {
		t.Errorf("got %+v", s)
	}
	if s := p.Status(r, context.Canceled); s.Code != http.StatusRequestTimeout {
		t.Errorf("got %+v", s)
	}
}
