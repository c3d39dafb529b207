package server

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// lingerIdle is how long an HTTP/2 connection without a request stays open
// after shutdown began: long enough for the end of the last answer to be on its
// way. net/http closes idle HTTP/1 connections by itself, but leaves HTTP/2
// ones for a second, which is what stopping would take then.
const (
	idleLinger        = 100 * time.Millisecond
	idleCheckInterval = 10 * time.Millisecond
)

// idleConns knows which connections wait for a request, and since when.
type idleConns struct {
	mu    sync.Mutex
	since map[net.Conn]time.Time
}

// observe is an http.Server's ConnState hook.
func (i *idleConns) observe(c net.Conn, state http.ConnState) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if state != http.StateIdle {
		delete(i.since, c)
		return
	}
	if i.since == nil {
		i.since = map[net.Conn]time.Time{}
	}
	i.since[c] = time.Now()
}

// closeUntil closes connections that have been idle for long enough, until the
// context is done.
func (i *idleConns) closeUntil(ctx context.Context) {
	tick := time.NewTicker(idleCheckInterval)
	defer tick.Stop()
	for {
		for _, c := range i.takeIdle() {
			_ = c.Close() // nobody uses it
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// takeIdle returns the connections that have been idle for long enough, each once.
func (i *idleConns) takeIdle() []net.Conn {
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
