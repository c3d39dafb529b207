package faults

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/miniapiserver/miniapiserver/server"
)

// TestDiskFull lets no file of a server grow beyond a size, as on a disk that is full: a write to a
// file fails in the middle of a load. The server refuses that write, or ends without an answer, and
// then ends with an error. Once there is space it starts without help, and has all acknowledged
// writes.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tg := mortalTarget()
	o := server.Options{Dir: dir, Limits: server.Limits{RequestTimeout: requestTimeout}}
	p := startProcess(t, o, tg)
	defer func() { p.kill() }()
	createNamespace(t, tg)
	const limit = 12 << 20
	if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: limit, Max: unix.RLIM_INFINITY}, nil); errors.Is(err, os.ErrPermission) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	big, written := strings.Repeat("x", 200<<10), 0
	for ; ; written++ {
		a := tg.do(t.Context(), http.MethodPost, collection, newObject(fmt.Sprint("k", written), big))
		if a.code == http.StatusCreated {
			if written > 4*limit/len(big) {
				t.Fatalf("%d objects fit into the disk", written)
			}
			continue
		}
		if a.err == nil && a.code < http.StatusInternalServerError {
			t.Errorf("the write that finds no space: %d %s", a.code, a.body)
		}
		break
	}
	if written == 0 {
		t.Error("nothing was written before the disk was full")
	}
	ended := make(chan error, 1)
	go func() { ended <- p.cmd.Wait() }()
	select {
	case err := <-ended:
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 1 {
			t.Errorf("the server ended by %v", err)
		}
	case <-time.After(10 * patience):
		t.Fatal("the server runs without a disk")
	}
	p = startProcess(t, o, tg)
	for i := range written {
		if a := tg.do(t.Context(), http.MethodGet, fmt.Sprint(collection, "/k", i), nil); a.code != http.StatusOK {
			t.Errorf("an acknowledged write: %d %s %v", a.code, a.body, a.err)
		}
	}
	writable(t, tg)
}
