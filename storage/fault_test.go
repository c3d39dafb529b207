package storage

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// childDir, if set in the environment, marks this process as a child that a test kills.
const childDir = "STORAGE_TEST_CHILD_DIR"

// startChild runs the test in a child process with childDir set to dir. It returns the lines
// that the child passes to say, and a function that kills the child.
func startChild(t *testing.T, dir string) (said <-chan string, kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			if line, ok := strings.CutPrefix(s.Text(), "said "); ok {
				lines <- line
			}
		}
	}()
	kill = sync.OnceFunc(func() {
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
		for range lines {
		}
		_ = cmd.Wait() // returns an error, because the child was killed
	})
	t.Cleanup(kill)
	return lines, kill
}

func sayToParent(what string) { fmt.Println("said " + what) }

// TestKill ends a process with SIGKILL while it writes. All acknowledged writes must
// survive.
func TestKill(t *testing.T) {
	if dir := os.Getenv(childDir); dir != "" {
		_, c := startStore(t, Options{Dir: dir})
		for n := 0; ; n++ {
			key := fmt.Sprint("a/", n)
			mustCreate(t, c, key, "1")
			sayToParent(key)
		}
	}
	dir := t.TempDir()
	for range 3 {
		said, kill := startChild(t, dir)
		acknowledged := map[string]bool{}
		for len(acknowledged) < 50 {
			key, ok := <-said
			if !ok {
				t.Fatal("the child exited before it was killed")
			}
			acknowledged[key] = true
		}
		kill()
		s, c := startStore(t, Options{Dir: dir})
		for _, i := range mustList(t, c, ListOptions{}).Items {
			delete(acknowledged, i.Key())
			mustDelete(t, c, i)
		}
		if len(acknowledged) != 0 {
			t.Errorf("lost %v", acknowledged)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFull exceeds the quota and recovers by a compaction.
func TestFull(t *testing.T) {
	s, c := startStore(t, Options{QuotaBytes: 4 << 20})
	big := strings.Repeat("x", 200<<10)
	last := mustCreate(t, c, "a/x", big)
	var err error
	for n := 0; n < 5000 && err == nil; n++ { // etcd checks the quota with a delay
		var i *Item
		if i, err = c.Update(t.Context(), last, configMap("a/x", fmt.Sprint(n, big))); err == nil {
			last = i
		}
	}
	if !errors.Is(err, ErrNoSpace) || !errors.Is(err, ErrUnknownOutcome) {
		t.Fatalf("at the quota: %v", err)
	}
	if _, err := c.Get(t.Context(), "a/x", Read{}); err != nil {
		t.Errorf("read at the quota: %v", err)
	}
	s.compact.rev = last.Revision() // as in the compaction after the next interval
	if err := s.compactOnce(t.Context()); !errors.Is(err, nil) {
		t.Fatal(err)
	}
	if _, err := c.Create(t.Context(), "a/y", configMap("a/y", "")); err != nil {
		t.Errorf("after compaction: %v", err)
	}
}

// TestEtcdRestarts kills an external etcd and starts it again.
func TestEtcdRestarts(t *testing.T) {
	if dir := os.Getenv(childDir); dir != "" {
		addr, err := os.ReadFile(dir + "/addr") // of the previous process
		if err != nil {
			addr = []byte("127.0.0.1:0")
		}
		e := startExternalAt(t, dir+"/etcd", string(addr))
		addr = []byte(e.Clients[0].Addr().String())
		if err := os.WriteFile(dir+"/addr", addr, 0o600); err != nil {
			t.Fatal(err)
		}
		sayToParent(string(addr))
		select {}
	}
	dir := t.TempDir()
	said, kill := startChild(t, dir)
	_, c := startStore(t, Options{Servers: []string{"http://" + <-said}, FutureWait: 30 * time.Second})
	w := mustWatch(t, c, WatchOptions{})
	x := mustCreate(t, c, "a/x", "1")
	nextEvents(t, w, 1)
	kill()
	if i, err := c.Get(t.Context(), "a/x", Read{Match: Any}); err != nil || i.Revision() != x.Revision() {
		t.Errorf("%v %v", i, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := c.Create(ctx, "a/y", configMap("a/y", "")); !errors.Is(err, ErrUnknownOutcome) {
		t.Errorf("create without etcd: %v", err)
	}
	said, _ = startChild(t, dir)
	<-said
	x = retryUpdate(t, c, x, "2")
	if e := nextEvents(t, w, 1)[0]; e.Revision != x.Revision() {
		t.Errorf("%v, want revision %d", e, x.Revision())
	}
	if i, err := c.Get(t.Context(), "a/x", Read{}); err != nil || i.Revision() != x.Revision() {
		t.Errorf("%v %v", i, err)
	}
}

// retryUpdate repeats an update until etcd accepts it.
func retryUpdate(t *testing.T, c *Collection, old *Item, v string) *Item {
	t.Helper()
	for {
		i, err := c.Update(t.Context(), old, configMap(old.Key(), v))
		if err == nil {
			return i
		}
		var conflict *ConflictError
		if errors.As(err, &conflict) && configMapValue(t, conflict.Current) == v {
			return conflict.Current // a try with an unknown outcome succeeded
		}
		if !errors.Is(err, ErrUnavailable) {
			t.Fatal(err)
		}
	}
}
