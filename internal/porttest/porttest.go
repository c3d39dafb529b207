// Package porttest gives ports to the tests that start programs which must be told their port. Servers
// in the test's own process listen on port 0 instead.
package porttest

import (
	"net"
	"sync"
	"testing"
)

// given has the results of Free, because the kernel may give a port again.
var given sync.Map

// Free returns a TCP port of 127.0.0.1 on which nothing listens, another one at each call in a process.
func Free(t testing.TB) int {
	t.Helper()
	for {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		port := l.Addr().(*net.TCPAddr).Port
		if _, twice := given.LoadOrStore(port, nil); !twice {
			return port
		}
	}
}
