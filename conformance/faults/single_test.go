package faults

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/server"
	"github.com/miniapiserver/miniapiserver/storage"
)

// crew is a workload and the watchers of one server.
type crew struct {
	*workload
	watchers []*watcher
	working  *sync.WaitGroup
	watching sync.WaitGroup

	stopWork, stopWatching context.CancelFunc
}

// startCrew starts clients and two watchers on each target, one of which restarts its watches.
func startCrew(t *testing.T, mayExpire bool, targets ...*target) *crew {
	t.Helper()
	c := &crew{workload: newWorkload(t, 8, targets...)}
	var watchCtx, workCtx context.Context
	watchCtx, c.stopWatching = context.WithCancel(t.Context())
	workCtx, c.stopWork = context.WithCancel(t.Context())
	rev := revisionOf(t, targets[0])
	for _, tg := range targets {
		for _, restless := range []bool{false, true} {
			w := &watcher{t: t, tg: tg, restless: restless, mayExpire: mayExpire}
			w.watchFrom(watchCtx, rev, &c.watching)
			c.watchers = append(c.watchers, w)
		}
	}
	t.Cleanup(func() {
		c.stopWork()
		c.stopWatching()
		c.working.Wait()
		c.watching.Wait()
	})
	c.working = c.run(workCtx, 3)
	return c
}

// rest ends the workload; the watchers continue.
func (c *crew) rest() {
	c.stopWork()
	c.working.Wait()
}

// finish ends the crew of a target, kills its process, and checks the answers and the watches
// against the history in the data directory.
func (c *crew) finish(t *testing.T, tg *target, p *process, dir string) {
	t.Helper()
	c.rest()
	c.settle(tg)
	c.stopWatching()
	c.watching.Wait()
	p.kill()
	events := historyOf(t, dir)
	c.check(events)
	c.checkWatchers(events)
}

// checkWatchers checks that the watchers receive all events.
func (c *crew) checkWatchers(events []event) {
	c.t.Helper()
	for n, w := range c.watchers {
		w.check(c.t, fmt.Sprint(n), events)
	}
}

// settle writes a last change and waits until all watchers have received it.
func (c *crew) settle(tg *target) {
	c.t.Helper()
	last := record{verb: create, key: "k-last"}
	if !c.write(tg, last, "") {
		c.t.Fatal("the last write failed")
	}
	for n, w := range c.watchers {
		eventually(c.t, fmt.Sprint("watcher ", n, " sees the last write"), func(context.Context) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			if len(w.events) == 0 || w.events[len(w.events)-1].key != last.key {
				return fmt.Errorf("it is at %d", w.rev)
			}
			return nil
		})
	}
}

// historyOf reads the etcd history in the directory of a stopped server.
func historyOf(t *testing.T, dir string) []event {
	t.Helper()
	s, err := storage.Open(t.Context(), storage.Options{Dir: filepath.Join(dir, "etcd")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	return followTruth(ctx, s.Client()).now(t)
}

// TestSingle runs clients on one server without faults.
func TestSingle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, tg := startServer(t, server.Options{Dir: dir, Limits: server.Limits{RequestTimeout: requestTimeout}})
	createNamespace(t, tg)
	c := startCrew(t, false, tg)
	wait(t.Context(), time.Duration(factor())*4*time.Second)
	c.rest()
	if n := c.failures.Load(); n > 0 {
		t.Errorf("%d requests failed", n)
	}
	c.settle(tg)
	c.stopWatching()
	c.watching.Wait()
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	events := historyOf(t, dir)
	c.check(events)
	c.checkWatchers(events)
}

// process is a server that can be killed.
type process struct {
	cmd *exec.Cmd
	out io.ReadCloser
}

// startProcess starts a server process and directs the target to it.
func startProcess(t *testing.T, o server.Options, tg *target) *process {
	t.Helper()
	p := &process{cmd: child(t, roleServer, o)}
	var err error
	if p.out, err = p.cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(p.out).ReadString('\n')
	said := strings.Fields(line)
	if err != nil || len(said) != 3 || said[0] != "ready" {
		p.kill()
		t.Fatalf("the server says %q, %v", line, err)
	}
	tg.use(t, &rest.Config{Host: said[1], BearerToken: said[2], TLSClientConfig: rest.TLSClientConfig{Insecure: true}})
	return p
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait() // returns an error because the process was killed
}

// TestKill kills a server by SIGKILL during writes, repeatedly. Each time it restarts without help
// and has all acknowledged writes.
func TestKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tg := mortalTarget()
	o := server.Options{Dir: dir, Limits: server.Limits{RequestTimeout: requestTimeout}}
	p := startProcess(t, o, tg)
	defer func() { p.kill() }()
	createNamespace(t, tg)
	c := startCrew(t, false, tg)
	for range 4 * factor() {
		wait(t.Context(), time.Second)
		p.kill()
		p = startProcess(t, o, tg)
	}
	wait(t.Context(), time.Second/2)
	c.finish(t, tg, p, dir)
}
