package representation

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
)

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
