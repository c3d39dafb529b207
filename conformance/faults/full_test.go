package faults

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/server"
)

const quota = 4 << 20

// fill writes until etcd rejects writes and returns the number of accepted objects. One more may be
// stored: the write that exceeds the quota fails although it is stored.
func fill(t *testing.T, tg *target) (n int) {
	t.Helper()
	big := strings.Repeat("x", 100<<10)
	for ; n < 2000; n++ { // etcd detects the limit with a delay
		a := tg.do(t.Context(), http.MethodPost, collection, newObject(fmt.Sprint("k", n), big))
		if a.code == http.StatusCreated {
			continue
		}
		if a.code != http.StatusServiceUnavailable || a.status.Reason != metav1.StatusReasonServiceUnavailable ||
			!strings.Contains(a.status.Message, "space") {
			t.Errorf("at the quota: %d %s %v", a.code, a.body, a.err)
		}
		return n
	}
	t.Fatalf("%d objects fit into %d bytes", n, quota)
	return n
}

// readableAndDeletable checks that reads work and deletes the objects.
func readableAndDeletable(t *testing.T, tg *target, n int) {
	t.Helper()
	if a := tg.do(t.Context(), http.MethodGet, collection+"/k0", nil); a.code != http.StatusOK {
		t.Errorf("get: %d %v", a.code, a.err)
	}
	if a := tg.do(t.Context(), http.MethodGet, collection+"?limit=2", nil); a.code != http.StatusOK {
		t.Errorf("list: %d %v", a.code, a.err)
	}
	for i := range n {
		if a := tg.do(t.Context(), http.MethodDelete, fmt.Sprint(collection, "/k", i), nil); a.code != http.StatusOK {
			t.Errorf("delete: %d %s %v", a.code, a.body, a.err)
		}
	}
	if a := tg.do(t.Context(), http.MethodDelete, fmt.Sprint(collection, "/k", n), nil); a.code != http.StatusOK && a.code != http.StatusNotFound {
		t.Errorf("delete what was refused: %d %s %v", a.code, a.body, a.err)
	}
}

func writable(t *testing.T, tg *target) {
	t.Helper()
	eventually(t, "writes work again", func(ctx context.Context) error {
		a := tg.do(ctx, http.MethodPut, "/api/v1/namespaces/"+namespace, map[string]any{
			"metadata": map[string]any{"name": namespace, "annotations": map[string]any{"at": time.Now().String()}},
		})
		if a.code != http.StatusOK {
			return fmt.Errorf("%d %s %w", a.code, a.body, a.err)
		}
		return nil
	})
}

// TestFull exceeds the quota of the embedded etcd: writes fail with a clear error, reads and
// deletes work, and once there is space the server compacts, defragments and accepts writes without
// help.
func TestFull(t *testing.T) {
	t.Parallel()
	_, tg := startServer(t, server.Options{Etcd: server.Etcd{QuotaBytes: quota,
		CompactionInterval: 300 * time.Millisecond}})
	createNamespace(t, tg)
	for range 2 {
		readableAndDeletable(t, tg, fill(t, tg))
		writable(t, tg)
	}
}

// TestFullCluster exceeds the quota of an external etcd, which its operator has to defragment; the
// server recovers without help.
func TestFullCluster(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 1, quota)
	_, tg := startServer(t, server.Options{Etcd: server.Etcd{Servers: c.network().endpoints(),
		CompactionInterval: 300 * time.Millisecond}})
	createNamespace(t, tg)
	readableAndDeletable(t, tg, fill(t, tg))
	eventually(t, "etcd is compacted and defragmented", func(ctx context.Context) error {
		if _, err := c.client.Defragment(ctx, c.members[0].ClientURL); err != nil {
			return err
		}
		status, err := c.client.Status(ctx, c.members[0].ClientURL)
		if err != nil {
			return err
		}
		if status.DbSize > quota/2 {
			return fmt.Errorf("it has %d bytes", status.DbSize)
		}
		return nil
	})
	if _, err := c.client.AlarmDisarm(t.Context(), &clientv3.AlarmMember{}); err != nil {
		t.Fatal(err)
	}
	writable(t, tg)
}
