package description

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/version"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/registrytest"
	"github.com/miniapiserver/miniapiserver/kinds"
	"github.com/miniapiserver/miniapiserver/request"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newHandler returns a Handler that describes all built-in kinds.
func newHandler(t testing.TB, change func(*Config)) *Handler {
	t.Helper()
	return newHandlerWith(t, change, kinds.All()...)
}

// newHandlerOf returns a Handler that describes some kinds.
func newHandlerOf(t testing.TB, resources ...*api.Resource) *Handler {
	t.Helper()
	return newHandlerWith(t, nil, resources...)
}

func newHandlerWith(t testing.TB, change func(*Config), resources ...*api.Resource) *Handler {
	t.Helper()
	c := Config{
		Catalogue: registrytest.Catalogue(t, resources...), Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Gates: features.Default(),
		Version: version.Info{GitVersion: "v1.37.2", EmulationMajor: "1", EmulationMinor: "37"}, Now: func() time.Time { return time.Unix(1e9, 0) },
	}
	c.Gates[features.ComponentStatusz] = false // enabled by its tests
	if change != nil {
		change(&c)
	}
	h, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// send sends a request with headers, which are names and values in turn.
func send(t testing.TB, h http.Handler, method, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	r = r.WithContext(request.With(r.Context(), &request.Scope{Info: request.Parse(r)}))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
