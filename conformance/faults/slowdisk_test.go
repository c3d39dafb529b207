package faults

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/server"
)

// stalled is a delay of the disk that no test waits for.
const stalled = time.Hour

// unsupported begins the line of a process that cannot slow down its disk.
const unsupported = "unsupported"

// runSlowServer runs a server like runServer, whose disk is as slow as the last line of its input.
func runSlowServer(data []byte) error {
	syncs, err := newSlowSyncs()
	if errors.Is(err, errors.ErrUnsupported) {
		fmt.Println(unsupported, err)
	}
	if err != nil {
		return err
	}
	go func() {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			delay, err := time.ParseDuration(in.Text())
			if err != nil {
				exit(err)
			}
			syncs.set(delay)
			fmt.Println("the delay is", delay)
		}
	}()
	return runServer(data)
}

// disk is the disk of a server process.
type disk struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Reader
}

// startSlowServer starts a server process on a disk that can be slow, and directs the target to it.
func startSlowServer(t *testing.T, o server.Options, tg *target) (*process, *disk) {
	t.Helper()
	p := &process{cmd: child(t, roleSlowServer, o)}
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if p.out, err = p.cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d := &disk{t, in, bufio.NewReader(p.out)}
	line, err := d.out.ReadString('\n')
	said := strings.Fields(line)
	switch {
	case strings.HasPrefix(line, unsupported):
		p.kill()
		t.Skip(line)
	case err != nil || len(said) != 3 || said[0] != "ready":
		p.kill()
		t.Fatalf("the server says %q, %v", line, err)
	}
	tg.use(t, &rest.Config{Host: said[1], BearerToken: said[2], TLSClientConfig: rest.TLSClientConfig{Insecure: true}})
	return p, d
}

// slow makes each write of a file to the disk last that much longer.
func (d *disk) slow(delay time.Duration) {
	d.t.Helper()
	if _, err := fmt.Fprintln(d.in, delay); err != nil {
		d.t.Fatal(err)
	}
	if line, err := d.out.ReadString('\n'); err != nil || !strings.HasPrefix(line, "the delay is") {
		d.t.Fatalf("the server says %q, %v", line, err)
	}
}

// TestSlowDisk makes the disk of a server slow, and then so slow that no write ends, while clients
// read and write. With a slow disk writes are slow. With one that stalls they fail in time, reads
// of the cache work, and /readyz reports etcd. The server recovers with its disk, without a
// restart, and no write is acknowledged that is not on the disk: a server that is killed in a
// stall has all acknowledged writes when it starts again.
func TestSlowDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tg := &target{}
	o := server.Options{Dir: dir, RequestTimeout: requestTimeout}
	p, disk := startSlowServer(t, o, tg)
	defer func() { p.kill() }()
	createNamespace(t, tg)
	c := startCrew(t, false, tg)
	for range factor() {
		disk.slow(50 * time.Millisecond)
		writable(t, tg)
		wait(t.Context(), time.Second)
		disk.slow(stalled)
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
		disk.slow(0)
		writable(t, tg)
		eventually(t, "the server is ready", func(ctx context.Context) error {
			if a := tg.do(ctx, http.MethodGet, "/readyz", nil); a.code != http.StatusOK {
				return fmt.Errorf("%d %s", a.code, a.body)
			}
			return nil
		})
	}
	disk.slow(stalled)
	wait(t.Context(), requestTimeout)
	tg.mortal.Store(true)
	p.kill()
	p = startProcess(t, o, tg)
	writable(t, tg)
	c.rest()
	c.settle(tg)
	c.stopWatching()
	c.watching.Wait()
	p.kill()
	events := historyOf(t, dir)
	c.check(events)
	c.checkWatchers(events)
}
