package request

import (
	"context"
	"net"
	"slices"
	"sync"
)

// Running is a long-running request that faults meet while it runs.
type Running struct {
	cancel context.CancelFunc

	mu       sync.Mutex
	faults   []*Fault
	endedBy  *Fault
	changed  chan struct{} // closed when faults changes
	observer func([]*Fault)
}

// NewRunning returns a Running, and the context of its request. The caller must call cancel when the request has ended.
func NewRunning(ctx context.Context) (r *Running, running context.Context, cancel context.CancelFunc) {
	running, cancel = context.WithCancel(ctx)
	return &Running{cancel: cancel, changed: make(chan struct{})}, running, cancel
}

// Meet replaces the faults that act on the request. One of them may end it.
func (r *Running) Meet(faults []*Fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = faults
	close(r.changed)
	r.changed = make(chan struct{})
	if i := slices.IndexFunc(faults, (*Fault).EndsAtOnce); i >= 0 && r.endedBy == nil {
		r.endedBy = faults[i]
		r.cancel()
	}
	if r.observer != nil {
		r.observer(faults)
	}
}

// Faults returns the faults that act on the request, and a channel that is closed when there are others.
func (r *Running) Faults() (faults []*Fault, changed <-chan struct{}) {
	if r == nil {
		return nil, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.faults, r.changed
}

// Observe calls f with the faults that act on the request, now and whenever they change. f must return at once.
func (r *Running) Observe(f func([]*Fault)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.observer = f
	f(r.faults)
}

// EndedBy returns the fault that ended the request; nil if none did.
func (r *Running) EndedBy() *Fault {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.endedBy
}

// connectionKey is the key of the connection in the context of a request.
type connectionKey struct{}

// WithConnection returns a context for the requests of a connection, for CloseConnection.
func WithConnection(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

// CloseConnection closes the connection of a request without a word, as a process that dies. It does nothing if the connection is
// not known.
func CloseConnection(ctx context.Context) {
	c, ok := ctx.Value(connectionKey{}).(net.Conn)
	if secured, isTLS := c.(interface{ NetConn() net.Conn }); isTLS {
		c = secured.NetConn()
	}
	if ok {
		_ = c.Close()
	}
}

// serverKey is the key of the address of the server in the context of a request.
type serverKey struct{}

// Addresses of a server.
const (
	FirstServer  = "first"
	SecondServer = "second" // that of --lab-second-port
)

// WithServer returns a context for requests to an address of the server.
func WithServer(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, serverKey{}, name)
}

// ServerOf returns the address of the server to which a request was sent.
func ServerOf(ctx context.Context) string {
	if name, ok := ctx.Value(serverKey{}).(string); ok {
		return name
	}
	return FirstServer
}
