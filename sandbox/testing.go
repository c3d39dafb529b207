package sandbox

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"k8s.io/klog/v2"
)

// quietLogs discards what the components log without the logger of their sandbox, which outlives
// tests.
var quietLogs = sync.OnceFunc(func() { klog.SetSlogLogger(slog.New(slog.DiscardHandler)) })

// Start starts a sandbox for a test, and stops it when t ends. It ends t if that fails. Tests can have
// sandboxes side by side: what k8s.io/kubernetes keeps for the whole process, its feature gates
// and metrics, is equal for all, so they have the newest version of Kubernetes.
func Start(t testing.TB, o Options) *Sandbox {
	t.Helper()
	quietLogs()
	s, err := New(t.Context(), o)
	if err != nil {
		t.Fatalf("starting a sandbox: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Errorf("stopping the sandbox: %v", err)
		}
	})
	return s
}
