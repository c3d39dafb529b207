package main

import (
	"math"
	"strings"
	"testing"
	"time"
)

// TestPlan checks the sizes and the rates at the full size, and that others are in proportion.
func TestPlan(t *testing.T) {
	full := newPlan(fullSize, 1, usualChurn, time.Second)
	if full.namespaces() != 10_000 || full.pods() != 150_000 || full.nodes*watchesPerNode != 15_000 {
		t.Errorf("%d namespaces, %d pods", full.namespaces(), full.pods())
	}
	reads := full.sum(getting, listingNamespace, listingPage)
	if full.rates[renewLease] != 500 || full.rates[createPod] != 20 || math.Abs(reads-200) > 0.001 {
		t.Errorf("%v Leases, %v pods, %v reads per second", full.rates[renewLease], full.rates[createPod], reads)
	}
	few := newPlan(fullSize, 1, 3.3, time.Second)
	if others := few.sum(mutating) - few.rates[renewLease]; math.Abs(others-50) > 1 {
		t.Errorf("%v other writes per second with few pods, want 50", others)
	}
	for o := range operation(operationCount) {
		if planned := operations[o].class != unclassified; planned != (full.rates[o] > 0) {
			t.Errorf("%s: %v per second", operations[o].name, full.rates[o])
		}
		busy, small := newPlan(fullSize, 3, usualChurn, 0).rates[o], newPlan(fullSize/10, 1, usualChurn, 0).rates[o]
		if math.Abs(busy-3*full.rates[o]) > 1e-9 {
			t.Errorf("%s: %v per second when busy, want three times %v", operations[o].name, busy, full.rates[o])
		}
		// All pods are listed as often in a small cluster.
		if o != listAll && math.Abs(small-full.rates[o]/10) > 1e-9 {
			t.Errorf("%s: %v per second with 500 nodes, want a tenth of %v", operations[o].name, small, full.rates[o])
		}
	}
	if newPlan(1, 1, usualChurn, 0).customObjects != 1 {
		t.Error("a small cluster has no custom objects")
	}
}

// TestSpread checks that each number has its turn.
func TestSpread(t *testing.T) {
	for _, size := range []int{1, 2, 30, 10_000, 150_000} {
		seen := map[int]bool{}
		for n := range size {
			seen[spread(n, size)] = true
		}
		if len(seen) != size {
			t.Errorf("%d of %d numbers", len(seen), size)
		}
	}
}

// TestFlags checks the combinations of flags that are refused.
func TestFlags(t *testing.T) {
	for args, refused := range map[string]bool{
		"":                                  false,
		"-size 100 -load busy":              false,
		"-server https://a,https://b":       false,
		"-- --v=2":                          false,
		"-size 0":                           true,
		"-churn -1":                         true,
		"-load idle":                        true,
		"-server https://a -data-dir d":     true,
		"-server https://a -- --v=2":        true,
		"-server https://a -client-key key": true,
		"-servers 2 -members 3 -own-etcd events,leases": false,
		"-servers 2":                   true,
		"-servers 0 -members 3":        true,
		"-own-etcd events":             true,
		"-members 3 -own-etcd pods":    true,
		"-server https://a -members 3": true,
	} {
		if _, err := parseFlags(strings.Fields(args)); (err != nil) != refused {
			t.Errorf("%q: %v", args, err)
		}
	}
}
