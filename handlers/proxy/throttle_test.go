package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// TestThrottle checks that a connection carries no more than its bytes per second, in
// each direction, and that waiting ends when it is closed.
func TestThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		dial := throttled(func(context.Context, string, string) (net.Conn, error) { return there, nil }, 1000)
		conn, err := dial(t.Context(), "tcp", "192.0.2.1:1")
		if err != nil {
			t.Fatal(err)
		}
		read := make(chan int64)
		go func() {
			n, _ := io.Copy(io.Discard, here) // ends when conn is closed
			read <- n
		}()
		began := time.Now()
		if n, err := conn.Write(make([]byte, 3500)); n != 3500 || err != nil {
			t.Errorf("wrote %d, %v", n, err)
		}
		if took := time.Since(began); took < 2500*time.Millisecond || took > 2600*time.Millisecond {
			t.Errorf("3500 bytes were written in %v", took)
		}
		began = time.Now()
		go func() { _, _ = here.Write(make([]byte, 2000)) }()
		if n, err := io.ReadFull(conn, make([]byte, 2000)); n != 2000 || err != nil {
			t.Errorf("read %d, %v", n, err)
		}
		if took := time.Since(began); took < 900*time.Millisecond || took > 1100*time.Millisecond {
			t.Errorf("2000 bytes were read in %v", took)
		}
		time.AfterFunc(time.Millisecond, func() { conn.Close() })
		if _, err := conn.Write(make([]byte, 100000)); !errors.Is(err, net.ErrClosed) && !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("after it is closed: %v", err)
		}
		if n := <-read; n < 3500 {
			t.Errorf("%d bytes arrived", n)
		}
	})
}
