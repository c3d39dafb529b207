package storage

import (
	"bufio"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

// childDir, when set, makes TestKill's process the one that is killed.
const childDir = "STORAGE_TEST_CHILD_DIR"

// TestKill ends a process with SIGKILL while it writes; all that it had
// acknowledged is there afterwards.
func TestKill(t *testing.T) {
	if dir := os.Getenv(childDir); dir != "" {
		_, c := start(t, Options{Dir: dir})
		for n := 0; ; n++ {
			key := fmt.Sprint("a/", n)
			create(t, c, key, "1")
			fmt.Println("acknowledged", key)
		}
	}
	dir := t.TempDir()
	written := 0
	for range 2 {
		child := exec.Command(os.Args[0], "-test.run=^TestKill$")
		child.Env = append(os.Environ(), childDir+"="+dir)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		acknowledged := map[string]bool{}
		for len(acknowledged) < 50 && lines.Scan() {
			if key, ok := strings.CutPrefix(lines.Text(), "acknowledged "); ok {
				acknowledged[key] = true
			}
		}
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
		}
		_ = child.Wait() // says that it was killed
		if t.Failed() || len(acknowledged) == 0 {
			t.Fatal("the child wrote nothing")
		}
		s, c := start(t, Options{Dir: dir})
		l := list(t, c, ListOptions{})
		for _, i := range l.Items {
			delete(acknowledged, i.Key())
			remove(t, c, i)
		}
		if len(acknowledged) != 0 || len(l.Items) < 50 {
			t.Errorf("lost %v", acknowledged)
		}
		written += len(l.Items)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if written < 100 {
		t.Errorf("%d written", written)
	}
}

// TestFull runs into the quota, and out of it again.
func TestFull(t *testing.T) {
	s, c := start(t, Options{QuotaBytes: 4 << 20})
	big := strings.Repeat("x", 200<<10)
	last := create(t, c, "a/x", big)
	var err error
	for n := 0; n < 100 && err == nil; n++ {
		var i *Item
		if i, err = c.Update(t.Context(), last, configMap("a/x", fmt.Sprint(n, big)), 0); err == nil {
			last = i
		}
	}
	if !errors.Is(err, ErrNoSpace) || errors.Is(err, ErrUnknownOutcome) {
		t.Fatalf("at the quota: %v", err)
	}
	if _, err := c.Get(t.Context(), "a/x", Read{}); err != nil {
		t.Errorf("reads do not work: %v", err)
	}
	s.compact.rev = last.Revision() // as if an interval had gone by
	if err := s.compactOnce(t.Context()); !errors.Is(err, nil) {
		t.Fatal(err)
	}
	if _, err := c.Create(t.Context(), "a/y", configMap("a/y", ""), 0); err != nil {
		t.Errorf("after compaction: %v", err)
	}
}

// TestEtcdRestarts stops an external etcd and starts it again.
func TestEtcdRestarts(t *testing.T) {
	dir := t.TempDir()
	client := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	run := func() *embed.Etcd {
		e := startExternal(t, dir, client)
		client.Host = e.Clients[0].Addr().String()
		return e
	}
	e := run()
	_, c := start(t, Options{Servers: []string{client.String()}, FutureWait: 30 * time.Second})
	w := watch(t, c, WatchOptions{})
	x := create(t, c, "a/x", "1")
	next(t, w, 1)
	stopExternal(e)
	if i, err := c.Get(t.Context(), "a/x", Read{Match: Any}); err != nil || i.Revision() != x.Revision() {
		t.Errorf("%v %v", i, err)
	}
	ctx, cancel := contextFor(t, 200*time.Millisecond)
	defer cancel()
	if _, err := c.Create(ctx, "a/y", configMap("a/y", ""), 0); !errors.Is(err, ErrUnknownOutcome) {
		t.Errorf("create without etcd: %v", err)
	}
	defer stopExternal(run())
	x = update(t, c, x, "2")
	if e := next(t, w, 1)[0]; e.Revision != x.Revision() {
		t.Errorf("%v, want revision %d", e, x.Revision())
	}
	if i, err := c.Get(t.Context(), "a/x", Read{}); err != nil || i.Revision() != x.Revision() {
		t.Errorf("%v %v", i, err)
	}
}
