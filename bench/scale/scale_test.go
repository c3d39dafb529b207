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
	const size, factor = 3, 500
	p := newPlan(size, factor, 100*time.Millisecond)
	p.shortestWatch = time.Second
	c, err := newCluster(t.Context(), a, p, 2, &out)
	if err != nil {
		t.Fatal(err)
	}
	s := &settings{fillWorkers: 4, settle: 500 * time.Millisecond, duration: 2 * time.Second, interval: time.Second,
		costTime: 50 * time.Millisecond}
	r := &run{settings: s, cluster: c, server: process.Self(), self: process.Self()}
	if _, err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Log(out.String())
	if n := r.rec.printFailures(&out); n > 0 {
		t.Errorf("%d failures", n)
	}
	for o, h := range r.result.latencies {
		if operations[o].class != unclassified && h.n == 0 {
			t.Errorf("not measured: %s", operations[o].name)
		}
	}
	if r.result.latencies[openWatch].n == 0 {
		t.Error("no watch began again")
	}
	for _, l := range limits {
		if l.of(r.result).n == 0 {
			t.Errorf("not measured: %s", l.name)
		}
	}
	for _, text := range []string{"fill ", "informers ", "kubelets ", "RSS of the server", "costs, with the watches"} {
		if !strings.Contains(out.String(), text) {
			t.Errorf("the output has no %q", text)
		}
	}
}
