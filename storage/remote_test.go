package storage

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

// startExternalEtcd starts an etcd with a client listener and returns its address.
func startExternalEtcd(t testing.TB) string {
	t.Helper()
	e := startExternalAt(t, t.TempDir(), "127.0.0.1:0")
	t.Cleanup(func() {
		e.Close()
		for range e.Err() {
		}
	})
	return "http://" + e.Clients[0].Addr().String()
}

func startExternalAt(t testing.TB, dir, addr string) *embed.Etcd {
	t.Helper()
	cfg := embed.NewConfig()
	cfg.Dir = dir
	peer := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	client := []url.URL{{Scheme: "http", Host: addr}}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = peer, peer
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = client, client
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.LogLevel = "panic"
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		t.Fatal(err)
	}
	<-e.Server.ReadyNotify()
	return e
}

// TestTwoServers runs two stores on one etcd. Each must read the writes that the other
// acknowledged.
func TestTwoServers(t *testing.T) {
	addr := startExternalEtcd(t)
	one, c1 := startStore(t, Options{Servers: []string{addr}})
	_, c2 := startStore(t, Options{Servers: []string{addr}})
	w := mustWatch(t, c2, WatchOptions{})
	const changes = 30
	for n := range changes {
		from, to := c1, c2
		if n%2 == 1 {
			from, to = c2, c1
		}
		key := fmt.Sprint("a/", n)
		made := mustCreate(t, from, key, "")
		if i, err := to.Get(t.Context(), key, Read{}); err != nil || i.Revision() != made.Revision() {
			t.Fatalf("%d: %v %v", n, i, err)
		}
	}
	nextEvents(t, w, changes)

	// A write outside the prefix raises the revision and causes no event.
	resp, err := one.client.Put(t.Context(), "/elsewhere", "")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if l := mustList(t, c2, ListOptions{}); l.Revision < resp.Header.Revision || len(l.Items) != changes {
		t.Errorf("revision %d with %d items, want %d", l.Revision, len(l.Items), resp.Header.Revision)
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("the cache took %v to catch up", took)
	}
	i, err := c2.Get(t.Context(), "a/0", Read{})
	if err != nil {
		t.Fatal(err)
	}
	x := mustWatch(t, c1, WatchOptions{Revision: i.Revision(), Key: "a/0"})
	mustDelete(t, c2, i)
	if e := nextEvents(t, x, 1)[0]; e.Type != Deleted {
		t.Error(e)
	}
}
