package attempts

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	mergePatchType = "application/merge-patch+json"
	strategicType  = "application/strategic-merge-patch+json"
	applyType      = "application/apply-patch+yaml"
	jsonPatchType  = "application/json-patch+json"
)

// growthScale returns the size of the long lists and maps: about 250 kB times GROWTH_SCALE. An attempt that
// costs less than ignored is not compared with a smaller one. Without GROWTH_SCALE, this is a cost that no
// attempt has that is linear, so that other load does not fail the test.
func growthScale() (bytes, elements int, ignored time.Duration) {
	scale, err := strconv.Atoi(os.Getenv("GROWTH_SCALE"))
	if err != nil {
		return 250_000, 12_000, 2 * time.Second
	}
	return 250_000 * scale, 12_000 * scale, time.Duration(scale) * 150 * time.Millisecond
}

// growthTolerated is the maximum ratio of the cost of 2n elements and of n.
const growthTolerated = 3.0

// TestGrowth writes objects with long lists and maps, of n and of 2n elements, in each way of writing.
// Twice as many elements may cost at most three times as much CPU.
func TestGrowth(t *testing.T) {
	c := startServer(t)
	percent := share(t)
	for _, k := range c.kinds() {
		if k.Kind == "Binding" || os.Getenv("GROWTH") != "" && !strings.Contains(k.String(), os.Getenv("GROWTH")) {
			continue
		}
		t.Run(k.String(), func(t *testing.T) {
			g := growth{&client{t, c.url, c.token, c.http}, k}
			random := seeded(k.String())
			for _, f := range k.fields() {
				if f.IsCollection() && random.IntN(100) < percent {
					g.try(f)
				}
			}
		})
	}
}

// growth measures the writes of one kind.
type growth struct {
	*client
	*kind
}

// try measures all ways of writing a list or a map.
func (g growth) try(f Field) {
	one, err := json.Marshal(f.Grown(g.base, 1, false))
	if err != nil {
		g.t.Fatal(err)
	}
	bytes, elements, _ := growthScale()
	n := min(elements, bytes/(len(one)+8)) / 2
	if f.Path[0] == "status" && g.hasStatus {
		g.tryStatus(f, n)
		return
	}
	object := func(n int, same bool) map[string]any { return renamed(f.Set(g.base, f.Grown(g.base, n, same)), f) }
	g.compareGrowth(fmt.Sprintf("%s %s: %s", g.kind, f, "create"), n, func(n int) answer { return g.do(http.MethodPost, g.path+"?dryRun=All", jsonType, object(n, false)) })
	g.compareGrowth(fmt.Sprintf("%s %s: %s", g.kind, f, "create of equal elements"), n, func(n int) answer { return g.do(http.MethodPost, g.path+"?dryRun=All", jsonType, object(n, true)) })
	g.compareGrowth(fmt.Sprintf("%s %s: %s", g.kind, f, "apply"), n, func(n int) answer {
		o := object(n, false)
		return g.do(http.MethodPatch, g.on(o)+"?dryRun=All&fieldManager=m", applyType, typed(o, g.kind))
	})
	// The updates change an object that has the elements.
	for _, update := range []struct {
		name, mediaType string
		body            func(f Field, n int) any
	}{
		{"merge patch", mergePatchType, func(f Field, n int) any { return f.Set(map[string]any{}, f.Grown(g.base, n+1, false)) }},
		{"strategic merge patch", strategicType, func(f Field, n int) any { return f.Set(map[string]any{}, f.Grown(g.base, n+1, false)) }},
		{"apply of the stored", applyType, func(f Field, n int) any {
			o := renamed(f.Set(g.base, f.Grown(g.base, n+1, false)), f)
			return typed(o, g.kind)
		}},
		{"removal", mergePatchType, func(f Field, n int) any { return f.Set(map[string]any{}, f.Grown(g.base, n/2, false)) }},
		{"removal by apply", applyType, func(f Field, n int) any {
			o := renamed(f.Set(g.base, f.Grown(g.base, n/2, false)), f)
			return typed(o, g.kind)
		}},
	} {
		stored := 0
		g.compareGrowth(fmt.Sprintf("%s %s: %s", g.kind, f, update.name), n, func(n int) answer {
			o := object(n, false)
			if stored != n {
				g.do(http.MethodDelete, g.on(o)+"?gracePeriodSeconds=0&propagationPolicy=Background", jsonType, nil)
				if a := g.do(http.MethodPatch, g.on(o)+"?fieldManager=m", applyType, typed(o, g.kind)); !a.ok() {
					return a
				}
				stored = n
			}
			return g.send(http.MethodPatch, g.on(o)+"?dryRun=All&fieldManager=m&force="+fmt.Sprint(update.mediaType == applyType), update.mediaType, update.body(f, n))
		})
		g.do(http.MethodDelete, g.on(object(1, false))+"?gracePeriodSeconds=0&propagationPolicy=Background", jsonType, nil)
	}
}

// tryStatus measures updates of the status.
func (g growth) tryStatus(f Field, n int) {
	a := g.do(http.MethodGet, g.on(g.base), jsonType, nil) // that of the previous field
	if !a.ok() {
		a = g.do(http.MethodPost, g.path, jsonType, g.base)
	}
	if !a.ok() {
		g.t.Fatalf("%s: %d %s", g.path, a.code, a.status.Message)
	}
	status := g.on(a.object) + "/status?fieldManager=m"
	g.compareGrowth(fmt.Sprintf("%s %s: %s", g.kind, f, "update"), n, func(n int) answer {
		return g.do(http.MethodPut, status+"&dryRun=All", jsonType, f.Set(a.object, f.Grown(g.base, n, false)))
	})
	stored := 0
	g.compareGrowth(fmt.Sprintf("%s %s: %s", g.kind, f, "second update"), n, func(n int) answer {
		if stored != n {
			if a := g.do(http.MethodPut, status, jsonType, f.Set(g.do(http.MethodGet, g.on(a.object), jsonType, nil).object, f.Grown(g.base, n, false))); !a.ok() {
				return a
			}
			stored = n
		}
		return g.send(http.MethodPatch, status+"&dryRun=All", mergePatchType, f.Set(map[string]any{}, f.Grown(g.base, n+1, false)))
	})
	g.do(http.MethodPatch, status, mergePatchType, f.Set(map[string]any{}, nil))
}

// typed returns the object with its apiVersion and kind.
func typed(o map[string]any, k *kind) map[string]any {
	o["kind"], o["apiVersion"] = k.Kind, strings.TrimPrefix(k.gv.Group+"/"+k.gv.Version, "/")
	return o
}

// compareGrowth fails the test if an attempt with 2n elements costs more than three times the CPU of one with n.
func (c *client) compareGrowth(what string, n int, attempt func(n int) answer) {
	if os.Getenv("GROWTH_LOG") != "" {
		fmt.Fprintln(os.Stderr, time.Now().Format(time.TimeOnly), what, n)
	}
	_, _, ignored := growthScale()
	large, a := cpuOf(func() answer { return attempt(2 * n) })
	if large < ignored {
		return
	}
	if again, _ := cpuOf(func() answer { return attempt(2 * n) }); again < large {
		large = again
	}
	if large < ignored {
		return
	}
	attempt(n)
	small, _ := cpuOf(func() answer { return attempt(n) })
	if again, _ := cpuOf(func() answer { return attempt(n) }); again < small {
		small = again
	}
	ratio := float64(large) / float64(small)
	if ratio > growthTolerated { // again with more elements, of which a square stands out
		attempt(4 * n)
		small = large
		n, large = 2*n, 0
		if large, a = cpuOf(func() answer { return attempt(2 * n) }); large < 4*small {
			again, _ := cpuOf(func() answer { return attempt(2 * n) })
			large = min(large, again)
		}
		ratio = float64(large) / float64(small)
	}
	line := fmt.Sprintf("%s (%d) costs %v with %d elements and %v with %d: %.1f times as much. %.100q", what, a.code,
		small.Round(time.Millisecond), n, large.Round(time.Millisecond), 2*n, ratio, a.status.Message)
	if ratio > growthTolerated {
		c.t.Error(line)
	} else if large > time.Second {
		c.t.Log(line)
	}
}

// cpuOf returns the CPU time of the process while attempt runs.
func cpuOf(attempt func() answer) (time.Duration, answer) {
	before := processCPU()
	a := attempt()
	return processCPU() - before, a
}

func processCPU() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
