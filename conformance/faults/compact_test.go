package faults

import (
	"context"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/server"
)

// TestCompacted compacts etcd's history repeatedly up to the current revision, also while the
// server is disconnected: readers and watchers get 410 for compacted revisions and the complete
// history otherwise.
func TestCompacted(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 1, 0)
	near, far := c.network(), c.network()
	// One server loses its connections while clients of the other one write.
	s, blind := startServer(t, server.Options{Etcd: server.Etcd{Servers: near.endpoints()},
		Limits: server.Limits{RequestTimeout: requestTimeout}})
	_, writer := startServer(t, server.Options{Etcd: server.Etcd{Servers: far.endpoints()},
		Limits: server.Limits{RequestTimeout: requestTimeout}})
	createNamespace(t, writer)
	tr := followTruth(t.Context(), c.client)
	informer := startInformer(t, s.RESTConfig())
	w := startCrew(t, true, writer, blind)
	for range 3 * factor() {
		c.compactFor(tr, time.Second/2)
		near.set(closing, 0)
		c.compactFor(tr, time.Second/2)
		near.set(passing, 0)
	}
	wait(t.Context(), time.Second/2)
	w.rest()
	events := tr.now(t)
	w.check(events)
	w.checkWatchers(events)
	checkInformer(t, "of the one that lost its connections", informer, events)
	expired := 0
	for _, wt := range w.watchers {
		expired += wt.expired
	}
	if expired == 0 {
		t.Error("no watch expired, so nothing was compacted that anybody needed")
	}
}

// compactFor compacts for some time up to the last revision that the truth has received.
func (c *cluster) compactFor(tr *truth, d time.Duration) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), d)
	defer cancel()
	for ctx.Err() == nil {
		tr.mu.Lock()
		rev := tr.rev
		tr.mu.Unlock()
		// An error means that the revision is already compacted or that the time is up.
		_, _ = c.client.Compact(ctx, rev)
		wait(ctx, 50*time.Millisecond)
	}
}
