package lab

import (
	"fmt"
	"net/url"
	"testing"

	"go.etcd.io/etcd/server/v3/embed"

	"github.com/miniapiserver/miniapiserver/internal/porttest"
)

// externalEtcd starts an etcd beside the server and returns its URL.
func externalEtcd(t *testing.T) string {
	t.Helper()
	c := embed.NewConfig()
	c.Dir, c.LogLevel = t.TempDir(), "panic"
	address := url.URL{Scheme: "http", Host: fmt.Sprint("127.0.0.1:", porttest.Free(t))}
	peer := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	c.ListenPeerUrls, c.AdvertisePeerUrls = peer, peer
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{address}, []url.URL{address}
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	e, err := embed.StartEtcd(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		e.Close()
		for range e.Err() { // until it has ended
		}
	})
	<-e.Server.ReadyNotify()
	return address.String()
}
