package faults

import (
	"context"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/server"
)

// TestCompacted compacts etcd's history again and again up to now, also while
// the server cannot see what happens: readers and watchers are told with 410
// what is gone, and see all of what is not.
func TestCompacted(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 1, 0)
	near, far := c.network(), c.network()
	// One server loses its connections while the other one's clients write.
	s, blind := startServer(t, server.Options{EtcdServers: near.endpoints(), RequestTimeout: requestTimeout})
	_, writer := startServer(t, server.Options{EtcdServers: far.endpoints(), RequestTimeout: requestTimeout})
	makeNamespace(t, writer)
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

// compactFor compacts for a while to what the truth has seen, which is about
// now.
func (c *cluster) compactFor(tr *truth, d time.Duration) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), d)
	defer cancel()
	for ctx.Err() == nil {
		tr.mu.Lock()
		rev := tr.rev
		tr.mu.Unlock()
		// Errors say that this is compacted already or that time is over.
		_, _ = c.client.Compact(ctx, rev)
		wait(ctx, 50*time.Millisecond)
	}
}
