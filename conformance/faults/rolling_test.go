package faults

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/server"
)

// balancer is a TCP load balancer that opens each connection to a ready server, as those in front of
// API servers do.
type balancer struct {
	listener net.Listener
	probes   *http.Client

	mu       sync.Mutex
	backends []string
	next     int
}

func startBalancer(t *testing.T) *balancer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &balancer{listener: l, probes: &http.Client{Timeout: time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true,
	}}}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { b.serve(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		serving.Wait()
	})
	return b
}

// serve connects a client to the next server that is ready.
func (b *balancer) serve(client net.Conn) {
	defer client.Close()
	for range 4 {
		b.mu.Lock()
		backend := b.backends[b.next%len(b.backends)]
		b.next++
		b.mu.Unlock()
		w, err := b.probes.Get("https://" + backend + "/readyz")
		if err != nil {
			continue
		}
		w.Body.Close()
		if w.StatusCode != http.StatusOK {
			continue
		}
		server, err := net.Dial("tcp", backend)
		if err != nil {
			continue
		}
		defer server.Close()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = io.Copy(server, client) // ends with the connection
			server.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, client)
		}()
		_, _ = io.Copy(client, server)
		// A client that still writes must read what the server said last, which requests it did not take: a
		// connection that is closed with unread data is reset.
		client.(*net.TCPConn).CloseWrite()
		client.SetReadDeadline(time.Now().Add(patience))
		<-done
		return
	}
}

// use replaces the server of a backend, or adds one.
func (b *balancer) use(n int, address string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n == len(b.backends) {
		b.backends = append(b.backends, "")
	}
	b.backends[n] = address
}

// TestRollingRestart restarts two servers behind a load balancer, one after the other, while client-go
// writes, reads and watches. No request fails, no acknowledged write is lost, and the
// informer ends with the objects of etcd. One server refuses requests during its shutdown so that
// clients retry, the other one closes its listeners.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 1, 0)
	tokens := filepath.Join(t.TempDir(), "tokens.csv")
	const token = "token-of-the-test"
	if err := os.WriteFile(tokens, []byte(token+",tester,1,system:masters\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := startBalancer(t)
	network := c.network()
	startNth := func(n int) *server.Server {
		s, _ := startServer(t, server.Options{
			Etcd: server.Etcd{Servers: network.endpoints()}, Authentication: server.Authentication{TokenFile: tokens},
			Lifecycle: server.Lifecycle{ShutdownDelay: 300 * time.Millisecond, ShutdownRetryAfter: n == 0,
				ShutdownWatchGrace: time.Second},
		})
		b.use(n, s.RESTConfig().Host[len("https://"):])
		return s
	}
	servers := []*server.Server{startNth(0), startNth(1)}
	config := &rest.Config{
		Host: "https://" + b.listener.Addr().String(), BearerToken: token, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true}, Timeout: time.Minute,
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	tr := followTruth(t.Context(), c.client)
	informed := *config
	informed.Timeout = 0 // of the whole watch
	informer := startInformer(t, &informed)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var writers sync.WaitGroup
	var mu sync.Mutex
	acknowledged := map[string]string{} // values by name
	for n := range 6 {
		// A client of its own, so that each has its own connection.
		own := *config
		own.UserAgent = fmt.Sprint("writer-", n)
		writer, err := kubernetes.NewForConfig(&own)
		if err != nil {
			t.Fatal(err)
		}
		maps := writer.CoreV1().ConfigMaps(namespace)
		writers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				name := fmt.Sprintf("w%d-%d", n, i)
				cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{valueKey: "created"}}
				cm, err := maps.Create(context.WithoutCancel(ctx), cm, metav1.CreateOptions{})
				if err == nil {
					cm.Data[valueKey] = "updated"
					cm, err = maps.Update(context.WithoutCancel(ctx), cm, metav1.UpdateOptions{})
				}
				if err == nil {
					cm, err = maps.Get(context.WithoutCancel(ctx), name, metav1.GetOptions{})
				}
				if err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				mu.Lock()
				acknowledged[name] = cm.Data[valueKey]
				mu.Unlock()
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
	written := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(acknowledged)
	}
	for range factor() {
		for n := range servers {
			before := written()
			eventually(t, "writers make progress", func(context.Context) error {
				if written() < before+60 {
					return errors.New("they do not")
				}
				return nil
			})
			stopCtx, stopped := context.WithTimeout(t.Context(), patience)
			if err := servers[n].Stop(stopCtx); err != nil {
				t.Errorf("server %d did not end in order: %v", n, err)
			}
			stopped()
			servers[n] = startNth(n)
		}
	}
	cancel()
	writers.Wait()
	events := tr.now(t)
	stored := map[string]string{}
	for _, e := range events {
		stored[e.key] = e.value
	}
	for name, value := range acknowledged {
		if stored[name] != value {
			t.Errorf("%s was acknowledged as %q, but is %q in etcd", name, value, stored[name])
		}
	}
	checkInformer(t, "behind the balancer", informer, events)
	t.Logf("%d objects were written", len(acknowledged))
}
