package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
	"github.com/miniapiserver/miniapiserver/server"
)

// refusing begins the names of the Faults that refuse requests.
const refusing = "refuses-"

// isRefused reports whether a Fault refused the request.
func (a answer) isRefused() bool {
	return strings.HasPrefix(a.fault, refusing) && (a.code == http.StatusTooManyRequests || a.code >= http.StatusInternalServerError)
}

// requests are the verbs of the workload's requests, without watches.
var requests = []string{"get", "list", "create", "update", "delete"}

// randomFaults returns a Fault of each sort for the objects of the workload, by name.
func randomFaults(r *rand.Rand) map[string]v1alpha1.FaultSpec {
	watches := []string{"watch"}
	milliseconds := func(n int) string { return fmt.Sprint(1+r.IntN(n), "ms") }
	fault := func(inject v1alpha1.FaultInjection, verbs ...string) v1alpha1.FaultSpec {
		return v1alpha1.FaultSpec{Match: v1alpha1.FaultMatch{Verbs: verbs}, Inject: inject}
	}
	watchFault := func(w v1alpha1.FaultWatch) v1alpha1.FaultSpec { return fault(v1alpha1.FaultInjection{Watch: &w}) }
	failure := func(code int32) v1alpha1.FaultInjection {
		return v1alpha1.FaultInjection{Error: &v1alpha1.FaultError{Code: code}}
	}
	specs := map[string]v1alpha1.FaultSpec{
		"loses-requests":     fault(v1alpha1.FaultInjection{Lose: v1alpha1.LoseRequest}, append(watches, requests...)...),
		"loses-responses":    fault(v1alpha1.FaultInjection{Lose: v1alpha1.LoseResponse}, requests...),
		"conflicts":          fault(v1alpha1.FaultInjection{Conflict: &v1alpha1.FaultConflict{}}),
		"compacts":           fault(v1alpha1.FaultInjection{Compact: &v1alpha1.FaultCompact{}}),
		"delays":             fault(v1alpha1.FaultInjection{Delay: &v1alpha1.FaultDelay{Min: "1ms", Max: milliseconds(200)}}, requests...),
		"closes-watches":     watchFault(v1alpha1.FaultWatch{Close: &v1alpha1.FaultClose{AfterEvents: r.Int64N(5)}}),
		"freezes-watches":    watchFault(v1alpha1.FaultWatch{Freeze: milliseconds(500)}),
		"delays-watches":     watchFault(v1alpha1.FaultWatch{Delay: milliseconds(50)}),
		"expires-watches":    watchFault(v1alpha1.FaultWatch{Expire: &v1alpha1.FaultExpire{}}),
		"without-bookmarks":  watchFault(v1alpha1.FaultWatch{NoBookmarks: &v1alpha1.FaultNoBookmarks{}}),
		refusing + "watches": fault(failure(503), watches...),
	}
	for _, code := range []int32{429, 500, 503, 504} {
		specs[fmt.Sprint(refusing, code)] = fault(failure(code), requests...)
	}
	for _, name := range slices.Sorted(maps.Keys(specs)) { // in their order, so that a seed gives the same Faults
		spec := specs[name]
		spec.Match.Namespaces = []string{namespace}
		spec.When = v1alpha1.FaultWhen{Percent: 5 + r.Int64N(40), Seed: r.Int64N(1000)}
		if spec.Inject.Watch != nil || name == refusing+"watches" {
			spec.When = v1alpha1.FaultWhen{Times: 1 + r.Int64N(8)} // watches are rarer than requests
		}
		specs[name] = spec
	}
	return specs
}

const faultsPath = "/apis/lab.miniapiserver.io/v1alpha1/faults"

// misbehave has a server inject random Faults, a few at a time, and returns how often each Fault hit.
func misbehave(ctx context.Context, t *testing.T, tg *target, r *rand.Rand, rounds int) map[string]int64 {
	t.Helper()
	ask := func(method, path string, body any) []byte {
		a := tg.do(ctx, method, path, body)
		if a.err != nil || a.code >= http.StatusBadRequest {
			t.Fatalf("%s %s: %d %s %v", method, path, a.code, a.body, a.err)
		}
		return a.body
	}
	hits := map[string]int64{}
	const atOnce = 3
	for range rounds {
		specs := randomFaults(r)
		names := slices.Sorted(maps.Keys(specs))
		r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for len(names) > 0 {
			some := names[:min(atOnce, len(names))]
			names = names[len(some):]
			for _, name := range some {
				f := v1alpha1.Fault{Spec: specs[name]}
				f.APIVersion, f.Kind, f.Name = v1alpha1.GroupVersion.String(), "Fault", name
				ask(http.MethodPost, faultsPath, f)
			}
			wait(ctx, 700*time.Millisecond)
			for _, name := range some {
				var f v1alpha1.Fault
				if err := json.Unmarshal(ask(http.MethodGet, faultsPath+"/"+name, nil), &f); err != nil {
					t.Fatal(err)
				}
				hits[name] += f.Status.Injected
				ask(http.MethodDelete, faultsPath+"/"+name, nil)
			}
		}
	}
	return hits
}

// TestFaultsOfTheLab has the lab of a server inject random Faults into the requests of clients, watchers and an informer. Nothing
// acknowledged is lost, nothing refused has an effect, a write whose response was lost has happened or not, and watchers and the
// informer end with what etcd has.
func TestFaultsOfTheLab(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 1, 0)
	s, tg := startServer(t, server.Options{Etcd: server.Etcd{Servers: c.network().endpoints()}, Lab: server.Lab{Enabled: true},
		Limits: server.Limits{RequestTimeout: requestTimeout}})
	createNamespace(t, tg)
	tr := followTruth(t.Context(), c.client)
	victim := &target{}
	victim.use(t, s.RESTConfig())
	victim.mortal.Store(true) // connections break
	w := startCrew(t, true, victim, victim)
	informer := startInformer(t, s.RESTConfig())
	const seed = 52
	hits := misbehave(t.Context(), t, tg, rand.New(rand.NewPCG(seed, seed)), 2*factor())
	wait(t.Context(), time.Second/2)
	w.rest()
	w.settle(tg)
	events := tr.now(t)
	w.check(events)
	w.checkWatchers(events)
	checkInformer(t, "of the server that misbehaves", informer, events)
	t.Logf("hits: %v", hits)
	for name, n := range hits {
		if n == 0 {
			t.Errorf("%s hit nothing", name)
		}
	}
}
