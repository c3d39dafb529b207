package storage

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// gate forwards connections to an address while it is open. While it is shut it drops no
// connection, but forwards nothing.
type gate struct {
	net.Listener
	mu   sync.Mutex // held while the gate is shut
	done chan struct{}
}

func newGate(t *testing.T, target string) *gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{Listener: l, done: make(chan struct{})}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", target)
			if err != nil {
				t.Error(err)
				return
			}
			wg.Go(func() { g.copy(to, from) })
			wg.Go(func() { g.copy(from, to) })
			wg.Go(func() { <-g.done; from.Close(); to.Close() })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		close(g.done)
		wg.Wait()
	})
	return g
}

func (g *gate) copy(to io.Writer, from io.Reader) {
	_, _ = io.Copy(gatedWriter{to, g}, from) // returns when one of them is closed
}

// gatedWriter is a writer that blocks while the gate is shut.
type gatedWriter struct {
	io.Writer
	*gate
}

// Write implements io.Writer.
func (p gatedWriter) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Writer.Write(data)
}

// TestBegunAgain restarts the watch on etcd many times while one of two endpoints is silent.
// A watch may start at the silent endpoint, but must be moved away from it.
func TestBegunAgain(t *testing.T) {
	addr := startExternalEtcd(t)
	g := newGate(t, strings.TrimPrefix(addr, "http://"))
	s, c := startStore(t, Options{Servers: []string{addr, "http://" + g.Addr().String()}})
	_, other := startStore(t, Options{Servers: []string{addr}})
	g.mu.Lock()
	defer g.mu.Unlock()
	last := mustCreate(t, other, "a/x", "")
	const rounds, tries = 8, 10
	for n := range rounds {
		(*s.cancelWatch.Load())()
		last = mustUpdate(t, other, last, strings.Repeat("x", n+1))
		seen := false
		for m := 0; m < tries && !seen; m++ {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			if seen = s.applied.wait(ctx, last.Revision()) == nil; !seen {
				(*s.cancelWatch.Load())()
			}
			cancel()
		}
		if !seen {
			t.Fatalf("round %d: the watch stays at the silent endpoint", n)
		}
	}
	if i, err := c.Get(t.Context(), "a/x", Read{Match: Any}); err != nil || i.Revision() != last.Revision() {
		t.Errorf("%v %v", i, err)
	}
}
