package main

import (
	"strings"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/bench/process"
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
	r := &run{settings: s, cluster: c, server: process.Self(), self: process.Self()}
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
