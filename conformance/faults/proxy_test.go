package faults

import (
	"net"
	"sync"
	"testing"
	"time"
)

// proxy forwards connections to an address according to its mode.
type proxy struct {
	target   string
	listener net.Listener

	mu      sync.Mutex
	changed *sync.Cond
	mode    mode
	delay   time.Duration
	conns   map[net.Conn]bool
	closed  bool
	wg      sync.WaitGroup
}

// mode is the behaviour of a proxy.
type mode int

const (
	passing mode = iota // forward data after the delay
	silent              // drop data, like a cut cable
	closing             // reset connections and reject new ones
)

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{target: target, listener: l, conns: map[net.Conn]bool{}}
	p.changed = sync.NewCond(&p.mu)
	p.wg.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

// set changes the mode, also for open connections.
func (p *proxy) set(m mode, delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode, p.delay = m, delay
	if m == closing {
		p.reset()
	}
	p.changed.Broadcast()
}

// reset closes all connections; the caller holds p.mu.
func (p *proxy) reset() {
	for c := range p.conns {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
	}
	clear(p.conns)
}

func (p *proxy) close() {
	p.mu.Lock()
	p.closed = true
	_ = p.listener.Close()
	p.reset()
	p.changed.Broadcast()
	p.mu.Unlock()
	p.wg.Wait()
}

func (p *proxy) accept() {
	for {
		from, err := p.listener.Accept()
		if err != nil {
			return
		}
		if !p.add(from) {
			_ = from.Close()
			continue
		}
		p.wg.Go(func() { p.serve(from) })
	}
}

// add reports whether the connection is accepted.
func (p *proxy) add(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.mode == closing {
		return false
	}
	p.conns[c] = true
	return true
}

func (p *proxy) serve(from net.Conn) {
	defer from.Close()
	if !p.gate() {
		return
	}
	to, err := net.Dial("tcp", p.target)
	if err != nil || !p.add(to) {
		if err == nil {
			_ = to.Close()
		}
		return
	}
	defer to.Close()
	p.wg.Go(func() { p.copy(from, to) })
	p.copy(to, from)
}

// copy forwards data and finally closes both connections.
func (p *proxy) copy(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if !p.gate() {
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// gate blocks until data may be forwarded, and returns false if the proxy is closed.
func (p *proxy) gate() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.mode == silent && !p.closed {
		p.changed.Wait()
	}
	if p.delay > 0 && !p.closed {
		delay := p.delay
		p.mu.Unlock()
		time.Sleep(delay)
		p.mu.Lock()
	}
	return !p.closed && p.mode != closing
}

// network is the proxies through which one server reaches the members.
type network []*proxy

func (n network) set(m mode, delay time.Duration) {
	for _, p := range n {
		p.set(m, delay)
	}
}

func (n network) endpoints() (urls []string) {
	for _, p := range n {
		urls = append(urls, "http://"+p.addr())
	}
	return urls
}
