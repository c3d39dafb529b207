package proxy

import (
	"context"
	"net"

	"golang.org/x/time/rate"
)

// throttled returns a dialer whose connections carry at most n bytes per second in each
// direction.
func throttled(
	dial func(ctx context.Context, network, address string) (net.Conn, error), n int,
) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		t := &throttledConn{Conn: conn, burst: n, in: rate.NewLimiter(rate.Limit(n), n), out: rate.NewLimiter(rate.Limit(n), n)}
		t.open, t.close = context.WithCancel(context.WithoutCancel(ctx))
		return t, nil
	}
}

// throttledConn is a connection with a limit of bytes per second. Waiting ends when the
// connection is closed.
type throttledConn struct {
	net.Conn
	burst   int
	in, out *rate.Limiter
	open    context.Context
	close   context.CancelFunc
}

// Read implements net.Conn. It waits after it has read, when the number of bytes is
// known.
func (c *throttledConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b[:min(len(b), c.burst)])
	if waiting := c.in.WaitN(c.open, n); waiting != nil && err == nil {
		err = net.ErrClosed
	}
	return n, err
}

// Write implements net.Conn.
func (c *throttledConn) Write(b []byte) (written int, err error) {
	for len(b) > 0 {
		part := b[:min(len(b), c.burst)]
		if c.out.WaitN(c.open, len(part)) != nil {
			return written, net.ErrClosed
		}
		n, err := c.Conn.Write(part)
		written += n
		if err != nil {
			return written, err
		}
		b = b[n:]
	}
	return written, nil
}

// Close implements net.Conn.
func (c *throttledConn) Close() error {
	c.close()
	return c.Conn.Close()
}
