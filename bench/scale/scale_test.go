package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/bench/process"
	"github.com/miniapiserver/miniapiserver/internal/eventually"
	"github.com/miniapiserver/miniapiserver/server"
	"github.com/miniapiserver/miniapiserver/server/servertest"
)

// TestRun runs a small cluster on a server of this process, and checks that each kind of request succeeds and is
// measured, that the pods that come go again, and that watches begin again without a loss.
func TestRun(t *testing.T) {
	server := servertest.New(t, server.Options{})
	a, err := newAccess(&settings{server: server.URL, token: server.Token})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.trust(server.CA); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	const size, factor = 3, 300
	p := newPlan(size, factor, usualChurn, 100*time.Millisecond)
	p.shortestWatch = time.Second
	c, err := newCluster(t.Context(), a, p, 2, &out)
	if err != nil {
		t.Fatal(err)
	}
	s := &settings{fillWorkers: 4, settle: 100 * time.Millisecond, duration: time.Minute, interval: time.Second,
		costTime: 50 * time.Millisecond}
	r := &run{settings: s, cluster: c, parts: []part{{name: "server", Process: process.Self()}}, self: process.Self()}
	r.enough = func() bool { return len(notMeasured(c.rec.total())) == 0 }
	if _, err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Log(out.String())
	if n := r.rec.count(); n > 0 {
		t.Errorf("%d failures", n)
	}
	if missing := notMeasured(r.result); len(missing) > 0 {
		t.Errorf("not measured: %q", missing)
	}
	for _, text := range []string{"fill ", "informers ", "kubelets ", "RSS of the server", "costs, with the watches"} {
		if !strings.Contains(out.String(), text) {
			t.Errorf("the output has no %q", text)
		}
	}
}

// TestStartServers runs a small cluster on two servers with an etcd of two members, and another one for Leases. Both
// servers and all members must have work.
func TestStartServers(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "miniapiserver")
	build := exec.CommandContext(t.Context(), "go", "build", "-pgo=off", "-o", binary, "./cmd/miniapiserver")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s, err := parseFlags([]string{"-binary", binary, "-size", "2", "-servers", "2", "-members", "2", "-own-etcd", "leases",
		"-nodes-per-connection", "1", "-settle", "0s", "-duration", "1s", "-pod-lifetime", "100ms", "-cost-time", "0"})
	if err != nil {
		t.Fatal(err)
	}
	a, err := newAccess(s)
	if err != nil {
		t.Fatal(err)
	}
	all, err := startServers(t.Context(), s, a)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := all.stop(); err != nil {
			t.Error(err)
		}
	}()
	var out strings.Builder
	if ok, err := drive(t.Context(), s, a, newPlan(s.size, 50, usualChurn, s.podLifetime), all, &out); err != nil || !ok {
		t.Errorf("%v\n%s", err, &out)
	}
	// A table follows the fill, and another one the load.
	for _, name := range []string{"etcd-0", "etcd-1", "leases-0", "leases-1", "server-0", "server-1"} {
		if n := strings.Count(out.String(), "\n"+name+" "); n != 2 {
			t.Errorf("%d lines about %s, want 2\n%s", n, name, &out)
		}
	}
	for i, p := range all.parts {
		if p.metrics == "" {
			continue
		}
		revision, err := readRevision(t.Context(), p.metrics)
		if leases := strings.HasPrefix(p.name, "leases"); err != nil || leases != (revision < 200) || revision < 10 {
			t.Errorf("%s (%d): revision %d, %v", p.name, i, revision, err)
		}
	}
	if a.urls[0] == a.urls[1] || len(a.urls) != 2 {
		t.Errorf("URLs %q", a.urls)
	}
}

// TestEndedPart checks that a run fails if a process of the server has ended: the others might hide it.
func TestEndedPart(t *testing.T) {
	ended := process.New(t.Context(), "", "true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ended.Stop() }() // it has ended, which may be an error
	r := &run{parts: []part{{name: "server", Process: process.Self()}, {name: "etcd-1", Process: ended}}, self: process.Self()}
	eventually.True(t, "an error about the process that has ended", func() bool {
		_, err := r.usage()
		return err != nil && err.Error() == "etcd-1 has ended"
	})
}

// TestFreeURLs checks that ports differ.
func TestFreeURLs(t *testing.T) {
	urls, err := freeURLs(200)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(urls)
	if n := len(slices.Compact(urls)); n != 200 {
		t.Errorf("%d different URLs of 200", n)
	}
}

// notMeasured returns the operations and classes without a measurement.
func notMeasured(m *measured) (missing []string) {
	for o, h := range m.latencies {
		if (operations[o].class != unclassified || operation(o) == openWatch) && h.n == 0 {
			missing = append(missing, operations[o].name)
		}
	}
	for _, l := range limits {
		if l.of(m).n == 0 {
			missing = append(missing, l.name)
		}
	}
	return missing
}
