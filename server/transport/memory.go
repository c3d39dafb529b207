package transport

import (
	"context"
	"net"
	"sync"
)

// Memory is a listener whose connections stay in the process: no socket, no TLS. Dial opens
// one. It implements net.Listener.
type Memory struct {
	accept chan net.Conn
	closed chan struct{}
	close  sync.Once
}

// ListenMemory returns a listener.
func ListenMemory() *Memory {
	return &Memory{accept: make(chan net.Conn), closed: make(chan struct{})}
}

// Dial opens a connection to the listener, whatever the address. It fails with net.ErrClosed after
// Close, and with the error of ctx.
func (m *Memory) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case m.accept <- memoryConn{server}:
		return memoryConn{client}, nil
	case <-m.closed:
		return nil, &net.OpError{Op: "dial", Net: "memory", Err: net.ErrClosed}
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Accept implements net.Listener.
func (m *Memory) Accept() (net.Conn, error) {
	select {
	case c := <-m.accept:
		return c, nil
	case <-m.closed:
		return nil, &net.OpError{Op: "accept", Net: "memory", Err: net.ErrClosed}
	}
}

// Close implements net.Listener.
func (m *Memory) Close() error {
	err := error(net.ErrClosed)
	m.close.Do(func() {
		close(m.closed)
		err = nil
	})
	return err
}

// Addr implements net.Listener. It returns loopback: what reads the address of a peer, such as
// audit, takes it for a client on this machine.
func (*Memory) Addr() net.Addr { return memoryAddr() }

// memoryConn has an address of the form that HTTP servers expect.
type memoryConn struct{ net.Conn }

func (memoryConn) LocalAddr() net.Addr  { return memoryAddr() }
func (memoryConn) RemoteAddr() net.Addr { return memoryAddr() }

func memoryAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
