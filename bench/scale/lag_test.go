package main

import (
	"testing"
	"time"
)

// TestLedger checks the lags of events before and after the response to their write, of events of other
// writes, and of events of writes that are long past.
func TestLedger(t *testing.T) {
	rec := newRecorder()
	l := &ledger{rec: rec}
	now := time.Now()
	after := func(d time.Duration) time.Time { return now.Add(d) }
	const later = ledgerShards * ledgerSlots

	l.arrived(10, byKubelet, after(0))
	l.arrived(10, byInformer, after(0))
	l.answered(10, after(5*time.Millisecond))
	l.arrived(10, byInformer, after(12*time.Millisecond))
	l.answered(10, after(time.Second)) // a write without a change
	l.arrived(10, byInformer, after(15*time.Millisecond))
	l.arrived(11, byInformer, after(0)) // of another program
	l.answered(10+later, after(time.Minute))
	l.arrived(10, byInformer, after(time.Minute))

	m := rec.total()
	kubelets, informers := &m.lags[byKubelet], &m.lags[byInformer]
	if kubelets.n != 1 || kubelets.max != 0 {
		t.Errorf("%d lags of kubelets, at most %v", kubelets.n, kubelets.max)
	}
	if informers.n != 3 || informers.max != 10*time.Millisecond || informers.percentile(50) < 7*time.Millisecond {
		t.Errorf("%d lags of informers, at most %v, half of them up to %v", informers.n, informers.max,
			informers.percentile(50))
	}
}

// TestRecorder checks intervals, totals and failures.
func TestRecorder(t *testing.T) {
	rec := newRecorder()
	rec.took(getPod, time.Second)
	rec.restart()
	rec.took(getPod, time.Millisecond)
	rec.took(getNode, 3*time.Millisecond)
	first := rec.endInterval()
	rec.took(getPod, 2*time.Millisecond)
	rec.took(openWatch, time.Second)
	second, total := rec.endInterval(), rec.total()
	if n := first.class(getting).n; n != 2 || first.requests() != 2 {
		t.Errorf("%d gets in the first interval", n)
	}
	if n := second.class(getting).n; n != 1 || second.requests() != 1 {
		t.Errorf("%d gets in the second interval", n)
	}
	if h := total.class(getting); h.n != 3 || h.max != 3*time.Millisecond || total.latencies[openWatch].n != 1 {
		t.Errorf("%d gets, at most %v", h.n, h.max)
	}
	for i := range 3 {
		rec.fail(t.Context(), "get", &statusError{404, "pod " + podName(i)})
	}
	var out printed
	if rec.printFailures(&out); rec.count() != 3 || len(out) != 2 {
		t.Errorf("%d failures in %q", rec.count(), out)
	}
}

// printed are the texts of writes.
type printed []string

func (p *printed) Write(text []byte) (int, error) {
	*p = append(*p, string(text))
	return len(text), nil
}

// TestLedgersOfResources checks that revisions of Leases and Events, which may be those of another etcd, are no others'.
func TestLedgersOfResources(t *testing.T) {
	rec := newRecorder()
	l := newLedgers(rec)
	const lease, pods, events = "/apis/coordination.k8s.io/v1/leases", "/api/v1/pods", "/api/v1/namespaces/a/events"
	l.of(lease+"/a").answered(7, time.Now())
	l.of(events).answered(7, time.Now())
	l.of(pods).arrived(7, byInformer, time.Now())
	if n := rec.total().lags[byInformer].n; n != 0 {
		t.Errorf("%d lags of a write to another resource", n)
	}
	l.of(lease).arrived(7, byInformer, time.Now())
	if n := rec.total().lags[byInformer].n; n != 1 {
		t.Errorf("%d lags of the Lease, want 1", n)
	}
}
