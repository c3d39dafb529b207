package faults

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/proto"
	"github.com/miniapiserver/miniapiserver/server"
)

// TestEndpointsOfServers checks that the endpoints of the service kubernetes are the addresses of all
// running servers on an etcd: one that stops is removed at once, and one that disappears without
// removing its key, such as a kube-apiserver that was killed, when etcd has removed it.
func TestEndpointsOfServers(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 1, 0)
	network := c.network()
	startAt := func(address string) *server.Server {
		s, _ := startServer(t, server.Options{Etcd: server.Etcd{Servers: network.endpoints()},
			Serving: server.Serving{AdvertiseAddress: address}})
		return s
	}
	first := startAt("192.0.2.1")
	config := first.RESTConfig()
	config.WarningHandler = rest.NoWarnings{} // Endpoints are deprecated
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	expect := func(when string, want ...string) {
		t.Helper()
		eventually(t, when, func(ctx context.Context) error {
			e, err := client.CoreV1().Endpoints("default").Get(ctx, "kubernetes", metav1.GetOptions{})
			if err != nil {
				return err
			}
			var got []string
			for _, a := range e.Subsets[0].Addresses {
				got = append(got, a.IP)
			}
			slice, err := client.DiscoveryV1().EndpointSlices("default").Get(ctx, "kubernetes", metav1.GetOptions{})
			if err != nil {
				return err
			}
			var inSlice []string
			for _, e := range slice.Endpoints {
				inSlice = append(inSlice, e.Addresses...)
			}
			if fmt.Sprint(got) != fmt.Sprint(want) || fmt.Sprint(inSlice) != fmt.Sprint(want) {
				return fmt.Errorf("endpoints %v, slice %v, want %v", got, inSlice, want)
			}
			return nil
		})
	}
	expect("one server", "192.0.2.1")
	second := startAt("192.0.2.2")
	expect("two servers", "192.0.2.1", "192.0.2.2")

	got, err := c.client.Get(t.Context(), "/registry/masterleases/192.0.2.2")
	if err != nil || len(got.Kvs) != 1 || got.Kvs[0].Lease == 0 {
		t.Fatalf("the key of the second server: %v, %v; want one with a lease", got, err)
	}
	envelope, err := proto.Decode(got.Kvs[0].Value)
	if err != nil {
		t.Fatal(err)
	}
	var e corev1.Endpoints
	if err := e.Unmarshal(envelope.Raw); err != nil || e.Subsets[0].Addresses[0].IP != "192.0.2.2" {
		t.Errorf("the key contains %v, %v", e, err)
	}

	// Another server writes its key once.
	lease, err := c.client.Grant(t.Context(), 12)
	if err != nil {
		t.Fatal(err)
	}
	foreign := strings.ReplaceAll(string(got.Kvs[0].Value), "192.0.2.2", "192.0.2.3")
	if _, err := c.client.Put(t.Context(), "/registry/masterleases/192.0.2.3", foreign, clientv3.WithLease(lease.ID)); err != nil {
		t.Fatal(err)
	}
	expect("a foreign server", "192.0.2.1", "192.0.2.2", "192.0.2.3")

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	began := time.Now()
	if err := second.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	t.Logf("the second server stopped within %v", time.Since(began))
	got, err = c.client.Get(t.Context(), "/registry/masterleases/192.0.2.2")
	if err != nil || len(got.Kvs) != 0 {
		t.Errorf("the key of a stopped server: %v, %v; want none", got.Kvs, err)
	}
	expect("after a stop and a loss", "192.0.2.1")
}
