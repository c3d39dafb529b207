package server

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/proto"
)

// nestedMessages returns messages that are nested in a field.
func nestedMessages(field byte, levels int) []byte {
	heads := make([][]byte, 0, levels)
	size := 0
	for range levels {
		head := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(field)<<3|2), uint64(size))
		heads, size = append(heads, head), size+len(head)
	}
	out := make([]byte, 0, size)
	for i := len(heads) - 1; i >= 0; i-- {
		out = append(out, heads[i]...)
	}
	return out
}

// hostileValues returns values that must not stop a server: without a format, with a broken one, nested until a
// stack overflows, numbers that take hours, and messages of other kinds.
func hostileValues(random *rand.Rand) []string {
	noise := make([]byte, 1+random.IntN(2000))
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	const levels = 200_000
	return []string{
		"", "garbage", "{", "null", "[]", `{"kind":1}`, "k8s\x00", "k8s\x00\xff\xff", "k8s\x00\n\x00\x12\x00",
		string(noise), "k8s\x00" + string(noise), "{" + string(noise),
		strings.Repeat("[", levels), strings.Repeat(`{"a":`, levels), "a: &a [*a]",
		"a: &a " + strings.Repeat("x", 1000) + "\nb:\n" + strings.Repeat("- *a\n", levels),
		string(proto.AppendRaw(nil, "v1", "Pod", nestedMessages(2, levels))),
		string(proto.AppendRaw(nil, "apiextensions.k8s.io/v1", "CustomResourceDefinition", nestedMessages(28, levels))),
		`{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"hostile"},"spec":{"hard":{"cpu":"1e2000000000"}}}`,
	}
}

// corrupted returns a stored value with random changes, which is often of the right kind but invalid.
func corrupted(random *rand.Rand, value []byte) string {
	out := []byte(string(value))
	for range 1 + random.IntN(8) {
		if len(out) > 0 {
			out[random.IntN(len(out))] = byte(random.Uint32())
		}
	}
	return string(out)
}

// storedValues returns all values of the server's etcd by their keys.
func (b *broken) storedValues() map[string][]byte {
	got, err := b.s.store.Client().Get(b.Context(), "/registry/", clientv3.WithPrefix())
	if err != nil {
		b.Fatal(err)
	}
	values := map[string][]byte{}
	for _, kv := range got.Kvs {
		values[string(kv.Key)] = kv.Value
	}
	return values
}

// FuzzStartWithHostileValues checks that a server becomes ready, whatever is stored: under the keys that it
// writes itself, and under a key of every kind. With an odd seed the values of a server are changed, with an even
// one they are replaced.
func FuzzStartWithHostileValues(f *testing.F) {
	for seed := range uint64(4) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		dir := t.TempDir()
		storeHostileValues(t, dir, seed)
		log := slog.New(slog.DiscardHandler)
		if testing.Verbose() {
			log = slog.New(slog.NewTextHandler(os.Stderr, nil))
		}
		b := startBroken(t, Options{Dir: dir, Logger: log})
		b.eventually("the server is ready", func() error {
			r, err := b.http.Get(b.s.RESTConfig().Host + "/readyz")
			if err != nil {
				return err
			}
			defer r.Body.Close()
			if data, err := io.ReadAll(r.Body); err != nil || r.StatusCode != http.StatusOK {
				return fmt.Errorf("%d %s (%v)", r.StatusCode, data, err)
			}
			return nil
		})
		for _, path := range []string{"/version", "/api/v1", "/apis"} {
			if code, status := b.do(http.MethodGet, path); code != http.StatusOK {
				t.Errorf("%s: %d %v", path, code, status.Message)
			}
		}
	})
}

// storeHostileValues starts a server in a directory, replaces its values, and stops it.
func storeHostileValues(t *testing.T, dir string, seed uint64) {
	t.Helper()
	s, err := Start(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer halt(t, s)
	c, err := rest.HTTPClientFor(s.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	b := &broken{T: t, s: s, http: c}
	values := b.storedValues()
	values["/registry/ranges/servicenodeports"], values["/registry/masterleases/10.0.0.1"] = nil, nil
	for _, at := range b.everyStored("hostile") {
		values[at.key] = nil
	}
	random := rand.New(rand.NewPCG(seed, seed))
	hostile := hostileValues(random)
	for i, key := range slices.Sorted(maps.Keys(values)) {
		put := hostile[(uint64(i)+seed/2)%uint64(len(hostile))]
		if value := values[key]; seed%2 == 1 && len(value) > 0 {
			put = corrupted(random, value)
		}
		b.put(key, put)
	}
}

// TestStartWithTakenAddress checks that the start does not wait for the address of the service kubernetes while
// another service has it, which a user who may write services can cause.
func TestStartWithTakenAddress(t *testing.T) {
	dir := t.TempDir()
	t.Run("before", func(t *testing.T) {
		s := run(t, Options{Dir: dir})
		services := clientOf(t, s.RESTConfig()).CoreV1().Services(metav1.NamespaceDefault)
		own, err := services.Get(t.Context(), "kubernetes", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := services.Delete(t.Context(), own.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		other := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "other"}, Spec: corev1.ServiceSpec{ClusterIP: own.Spec.ClusterIP, Ports: own.Spec.Ports}}
		if _, err := services.Create(t.Context(), other, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 45*time.Second) // less than the time to wait for an address
	defer cancel()
	s, err := Start(ctx, Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { halt(t, s) })
	if _, err := clientOf(t, s.RESTConfig()).CoreV1().Services(metav1.NamespaceDefault).Get(t.Context(), "kubernetes", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the service with the taken address: %v", err)
	}
}
