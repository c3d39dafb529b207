package transport

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// idleLinger is the time for which an idle HTTP/2 connection, or one without a request so far,
	// stays open after shutdown begins, so that its last response is delivered or its first request
	// arrives. net/http closes idle HTTP/1 connections at once, but would wait a second for HTTP/2
	// connections, and five seconds for those without a request.
	idleLinger        = 100 * time.Millisecond
	idleCheckInterval = 10 * time.Millisecond
)

// IdleConns records which connections are idle or have had no request yet, and since when.
type IdleConns struct {
	mu    sync.Mutex
	since map[net.Conn]time.Time
}

// Observe is a ConnState function of an http.Server.
func (i *IdleConns) Observe(c net.Conn, state http.ConnState) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if state != http.StateIdle && state != http.StateNew {
		delete(i.since, c)
		return
	}
	if i.since == nil {
		i.since = map[net.Conn]time.Time{}
	}
	i.since[c] = time.Now()
}

// CloseUntil closes connections that have been idle for idleLinger, until ctx is done.
func (i *IdleConns) CloseUntil(ctx context.Context) {
	tick := time.NewTicker(idleCheckInterval)
	defer tick.Stop()
	for {
		for _, c := range i.takeIdle() {
			_ = c.Close() // an idle connection has nothing to lose
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// takeIdle removes and returns the connections that have been idle for idleLinger.
func (i *IdleConns) takeIdle() []net.Conn {
	i.mu.Lock()
	defer i.mu.Unlock()
	var idle []net.Conn
	for c, since := range i.since {
		if time.Since(since) >= idleLinger {
			delete(i.since, c)
			idle = append(idle, c)
		}
	}
	return idle
}
