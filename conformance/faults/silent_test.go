package faults

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/server"
)

// TestSilentMember disconnects one member after the other without closing connections. Consistent
// reads continue through the other members long before the connection times out.
func TestSilentMember(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3, 0)
	n := c.network()
	_, tg := startServer(t, server.Options{Etcd: server.Etcd{Servers: n.endpoints()}})
	createNamespace(t, tg)
	for i, p := range n {
		p.set(silent, 0)
		// A change that the server has not received makes consistent reads wait for its watch.
		if _, err := c.client.Put(t.Context(), "/registry/other", ""); err != nil {
			t.Fatal(err)
		}
		const bound = 5 * time.Second
		ctx, cancel := context.WithTimeout(t.Context(), bound)
		began := time.Now()
		a := tg.do(ctx, http.MethodGet, collection, nil)
		cancel()
		if a.code != http.StatusOK {
			t.Errorf("without member %d: %d %s %v", i, a.code, a.body, a.err)
		}
		t.Logf("without member %d: a list takes %v", i, time.Since(began).Round(time.Millisecond))
		p.set(passing, 0)
	}
}
