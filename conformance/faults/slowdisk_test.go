package faults

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/server"
)

// stalled is a delay of the disk that no test waits for.
const stalled = time.Hour

// TestSlowDisk makes the disk of a server slow, and then so slow that no write ends, while clients
// read and write. With a slow disk writes are slow. With one that stalls they fail in time, reads
// of the cache work, and /readyz reports etcd. The server recovers with its disk, without a
// restart, and no write is acknowledged that is not on the disk: a server that is killed in a
// stall has all acknowledged writes when it starts again.
func TestSlowDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tg := &target{}
	o := server.Options{Dir: dir, Limits: server.Limits{RequestTimeout: requestTimeout}}
	p, disk := startAdjustable(t, roleSlowServer, o, tg)
	defer func() { p.kill() }()
	createNamespace(t, tg)
	c := startCrew(t, false, tg)
	for range factor() {
		disk.set(50 * time.Millisecond)
		writable(t, tg)
		wait(t.Context(), time.Second)
		disk.set(stalled)
		for n := range 2 {
			if c.write(tg, record{verb: create, key: fmt.Sprint("k-stalled", n)}, "") {
				t.Error("a write is acknowledged that is not on the disk")
			}
		}
		if a := c.ask(tg, http.MethodGet, collection+"?resourceVersion=0", nil); a.code != http.StatusOK {
			t.Errorf("a read of the cache: %d %s", a.code, a.body)
		}
		eventually(t, "/readyz reports etcd", func(ctx context.Context) error {
			if a := tg.do(ctx, http.MethodGet, "/readyz", nil); a.code != http.StatusInternalServerError || !strings.Contains(string(a.body), "[-]etcd") {
				return fmt.Errorf("%d %s", a.code, a.body)
			}
			return nil
		})
		disk.set(0)
		writable(t, tg)
		eventually(t, "the server is ready", func(ctx context.Context) error {
			if a := tg.do(ctx, http.MethodGet, "/readyz", nil); a.code != http.StatusOK {
				return fmt.Errorf("%d %s", a.code, a.body)
			}
			return nil
		})
	}
	disk.set(stalled)
	wait(t.Context(), requestTimeout)
	tg.mortal.Store(true)
	p.kill()
	p = startProcess(t, o, tg)
	writable(t, tg)
	c.finish(t, tg, p, dir)
}
