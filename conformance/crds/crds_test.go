package crds

import (
	"cmp"
	"testing"
	"time"
)

// TestProjects installs and uses the definitions of projects.
func TestProjects(t *testing.T) {
	t.Parallel()
	dirs, kubeconfig := downloaded(t, "modules"), serve(t)
	c := newClients(t, config(t, kubeconfig))
	for _, p := range projects() {
		t.Run(p.name, func(t *testing.T) {
			dir, known := dirs[p.module], newRatchet(t, p.name)
			all := c.ready(t.Context(), t, definitionsOf(t, dir, p), known)
			began := time.Now()
			c.create(t.Context(), t, all)
			made := c.apply(t.Context(), t, all)
			t.Logf("%d definitions twice in %v", len(all), time.Since(began).Round(time.Millisecond))
			for _, d := range made {
				discovered(t, c, d, known)
				shown(t, c, d, known)
			}
			documented(t, c, made)
			explained(t, kubeconfig, made)
			if len(p.examples) > 0 {
				examples(t, c, dirs[cmp.Or(p.examplesIn, p.module)], p, made)
			}
			known.close(t)
		})
	}
}
