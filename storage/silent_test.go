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

// gate passes connections on to an address while it is open; when it is shut,
// nothing arrives any more and nothing tells of it.
type gate struct {
	net.Listener
	mu   sync.Mutex // held while it is shut
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
	_, _ = io.Copy(passed{to, g}, from) // ends when one of them is closed
}

// passed is a writer that waits while the gate is shut.
type passed struct {
	io.Writer
	*gate
}

// Write implements io.Writer.
func (p passed) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Writer.Write(data)
}

// TestBegunAgain begins the watch on etcd again and again while one of two
// endpoints is silent. It may come to be there, but not to stay there.
func TestBegunAgain(t *testing.T) {
	addr := external(t)
	g := newGate(t, strings.TrimPrefix(addr, "http://"))
	s, c := start(t, Options{Servers: []string{addr, "http://" + g.Addr().String()}})
	_, other := start(t, Options{Servers: []string{addr}})
	g.mu.Lock()
	defer g.mu.Unlock()
	last := create(t, other, "a/x", "")
	const rounds, tries = 8, 10
	for n := range rounds {
		(*s.cut.Load())()
		last = update(t, other, last, strings.Repeat("x", n+1))
		seen := false
		for m := 0; m < tries && !seen; m++ {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			if seen = s.applied.wait(ctx, last.Revision()) == nil; !seen {
				(*s.cut.Load())()
			}
			cancel()
		}
		if !seen {
			t.Fatalf("round %d: the watch stays where nothing comes from", n)
		}
	}
	if i, err := c.Get(t.Context(), "a/x", Read{Match: Any}); err != nil || i.Revision() != last.Revision() {
		t.Errorf("%v %v", i, err)
	}
}
