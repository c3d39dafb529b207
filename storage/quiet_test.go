package storage

import (
	"testing"
	"time"

	"go.uber.org/zap"
)

// TestQuiet checks the intervals of the timers of a quiet etcd, that etcd accepts them, and the shortest lease.
func TestQuiet(t *testing.T) {
	if watchResyncPeriod != 100*time.Millisecond { // etcd has set it
		t.Errorf("etcd looks for watches that need history every %s", watchResyncPeriod)
	}
	c := embedConfig(t.TempDir(), &Options{Quiet: true}, zap.NewNop())
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	if c.TickMs < 1000 || c.BackendBatchInterval < time.Second {
		t.Errorf("ticks every %d ms, commits every %s", c.TickMs, c.BackendBatchInterval)
	}
	s, configMaps := startStore(t, Options{Quiet: true})
	mustCreate(t, configMaps, "a/x", "1")
	lease, err := s.Client().Grant(t.Context(), 1)
	if err != nil || lease.TTL != 7 {
		t.Errorf("a lease of a second has %d: %v", lease.TTL, err)
	}
}
