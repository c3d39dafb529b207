package lab

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/miniapiserver/miniapiserver/internal/eventually"
)

// leaderFaults are the faults under which candidates elect leaders.
var leaderFaults = map[string]string{
	"error-500":     "when: {percent: 40, seed: 1}\ninject: {error: {code: 500}}",
	"error-409":     "match: {verbs: [update]}\nwhen: {percent: 40, seed: 2}\ninject: {error: {code: 409}}",
	"error-429":     "when: {percent: 20, seed: 3}\ninject: {error: {code: 429, retryAfterSeconds: 1}}",
	"lose-request":  "when: {percent: 40, seed: 4}\ninject: {lose: Request}",
	"lose-response": "match: {verbs: [create, update, patch]}\nwhen: {percent: 40, seed: 5}\ninject: {lose: Response}",
	"conflict":      "when: {percent: 60, seed: 6}\ninject: {conflict: {}}",
	"delay":         "when: {percent: 50, seed: 7}\ninject: {delay: {min: 100ms, max: 1500ms}}",
}

// The times of the election. A candidate may take over when the leader has not renewed for leaseTime; the leader gives up before.
const (
	leaseTime   = 3 * time.Second
	renewalTime = time.Second
	retryTime   = 100 * time.Millisecond
)

// TestLeaderElection has three candidates elect a leader with each fault. There is never more than one, and after the fault there is
// one that stays.
func TestLeaderElection(t *testing.T) {
	w := startLab(t)
	for name, spec := range leaderFaults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w.in(t).elect(name, spec)
		})
	}
}

// election counts the leaders.
type election struct {
	t              testing.TB
	leaders, terms atomic.Int64
}

func (w *world) elect(name, spec string) {
	t := w.t
	e := &election{t: t}
	ctx, stop := context.WithCancel(t.Context())
	var candidates sync.WaitGroup
	defer candidates.Wait()
	defer stop()
	agent := "candidate-" + name
	end := w.fault("leader-"+name, agent, spec)
	for n := range 3 {
		lock := &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Client: w.typed(agent).CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: fmt.Sprint("candidate", n)}}
		candidates.Go(func() { e.run(ctx, lock) })
	}
	eventually.True(t, "a leader with the fault", func() bool { return e.terms.Load() > 0 })
	select {
	case <-time.After(2 * leaseTime): // terms may end and others begin
	case <-ctx.Done():
	}
	hits := end()
	if hits == 0 {
		t.Error("no request was hit")
	}
	t.Logf("%d hits, %d terms", hits, e.terms.Load())
	// After the fault one leads for longer than a lease.
	eventually.Succeeds(t, "a leader who stays", func() error {
		terms := e.terms.Load()
		select {
		case <-time.After(leaseTime + renewalTime):
		case <-ctx.Done():
		}
		if leaders := e.leaders.Load(); leaders != 1 || e.terms.Load() != terms {
			return fmt.Errorf("%d leaders after %d terms, before %d", leaders, e.terms.Load(), terms)
		}
		return nil
	})
}

// run is a candidate, until ctx ends.
func (e *election) run(ctx context.Context, lock resourcelock.Interface) {
	for ctx.Err() == nil {
		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
			Lock: lock, LeaseDuration: leaseTime, RenewDeadline: renewalTime, RetryPeriod: retryTime,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(leading context.Context) {
					e.terms.Add(1)
					if n := e.leaders.Add(1); n > 1 {
						e.t.Errorf("%d leaders", n)
					}
					<-leading.Done()
					e.leaders.Add(-1)
				},
				OnStoppedLeading: func() {},
			},
		})
	}
}
