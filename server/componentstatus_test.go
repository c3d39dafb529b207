package server

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/registry"
)

// TestComponentStatusDial checks that the health checks use the dial function of the options, and
// that an object says what the component answers.
func TestComponentStatusDial(t *testing.T) {
	well := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = io.WriteString(w, "ok")
	}))
	defer well.Close()
	ill := httptest.NewTLSServer(http.NotFoundHandler())
	defer ill.Close()
	servers := map[string]*httptest.Server{"127.0.0.1:10257": well, "127.0.0.1:10259": ill}
	var mu sync.Mutex
	dialled := map[string]bool{}
	c := newComponentStatuses(nil, func(ctx context.Context, network, address string) (net.Conn, error) {
		mu.Lock()
		dialled[address] = true
		mu.Unlock()
		return (&net.Dialer{}).DialContext(ctx, network, servers[address].Listener.Addr().String())
	})
	objects, err := c.List(t.Context(), registry.ListOptions{})
	if err != nil || len(objects) != 2 || len(dialled) != 2 {
		t.Fatalf("%d objects, dialled %v, %v", len(objects), dialled, err)
	}
	for i, want := range []corev1.ComponentCondition{
		{Type: corev1.ComponentHealthy, Status: corev1.ConditionTrue, Message: "ok"},
		{Type: corev1.ComponentHealthy, Status: corev1.ConditionFalse, Message: "unexpected status 404 Not Found"},
	} {
		if got := objects[i].(*corev1.ComponentStatus).Conditions[0]; got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}
