package elections

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var start = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// candidate returns a candidate that was created some seconds after the start, and has just renewed
// itself.
func candidate(name, emulation, binary string, created int) *coordinationv1beta1.LeaseCandidate {
	c := &coordinationv1beta1.LeaseCandidate{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	c.CreationTimestamp = metav1.NewTime(start.Add(time.Duration(created) * time.Second))
	c.Spec = coordinationv1beta1.LeaseCandidateSpec{LeaseName: "lock", EmulationVersion: emulation, BinaryVersion: binary,
		Strategy: coordinationv1.OldestEmulationVersion, RenewTime: &metav1.MicroTime{Time: start}}
	return c
}

// TestOldest checks the order of candidates.
func TestOldest(t *testing.T) {
	for want, list := range map[string][]*coordinationv1beta1.LeaseCandidate{
		"emulates less": {candidate("a", "1.36.0", "1.36.0", 0), candidate("emulates less", "1.35.0", "1.37.0", 1)},
		"older binary":  {candidate("a", "1.35.0", "1.37.0", 0), candidate("older binary", "1.35.0", "1.36.0", 1)},
		"first":         {candidate("a", "1.35.0", "1.36.0", 2), candidate("first", "1.35.0", "1.36.0", 1)},
		"valid":         {candidate("a", "", "1.36.0", 0), candidate("valid", "1.37.0", "1.37.0", 1), candidate("b", "1.0.0", "x", 0)},
	} {
		if got := oldest(list); got == nil || got.Name != want {
			t.Errorf("got %v, want %s", got, want)
		}
	}
	if got := oldest([]*coordinationv1beta1.LeaseCandidate{candidate("a", "", "", 0)}); got != nil {
		t.Errorf("got %s", got.Name)
	}
}

// TestStrategyOf checks that the newest binary determines the strategy.
func TestStrategyOf(t *testing.T) {
	old, young, other := candidate("old", "1.36.0", "1.36.0", 0), candidate("young", "1.36.0", "1.37.0", 0), candidate("other", "1.36.0", "1.37.0", 0)
	old.Spec.Strategy, other.Spec.Strategy = "example.com/old", "example.com/other"
	if got, err := strategyOf([]*coordinationv1beta1.LeaseCandidate{old, young}); err != nil || got != coordinationv1.OldestEmulationVersion {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := strategyOf([]*coordinationv1beta1.LeaseCandidate{young, other}); err == nil {
		t.Error("different strategies of equal binaries are accepted")
	}
}

// TestIsElectionNeeded checks when candidates are asked to renew themselves.
func TestIsElectionNeeded(t *testing.T) {
	lease := func(holder string, renewed time.Duration) *coordinationv1.Lease {
		return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &metav1.MicroTime{Time: start.Add(renewed)}, LeaseDurationSeconds: new(leaseSeconds)}}
	}
	best, silent, foreign := candidate("best", "1.36.0", "1.36.0", 0), candidate("silent", "1.37.0", "1.37.0", 0), candidate("foreign", "1.36.0", "1.38.0", 0)
	silent.Spec.RenewTime.Time = start.Add(-16 * time.Minute)
	foreign.Spec.Strategy = "example.com/own"
	for name, c := range map[string]struct {
		lease      *coordinationv1.Lease
		candidates []*coordinationv1beta1.LeaseCandidate
		want       bool
	}{
		"no lease":                 {nil, []*coordinationv1beta1.LeaseCandidate{best}, true},
		"no holder":                {lease("", 0), []*coordinationv1beta1.LeaseCandidate{best}, true},
		"not renewed":              {lease("best", -time.Minute), []*coordinationv1beta1.LeaseCandidate{best}, true},
		"held by the best":         {lease("best", 0), []*coordinationv1beta1.LeaseCandidate{best}, false},
		"held by another":          {lease("x", 0), []*coordinationv1beta1.LeaseCandidate{best}, true},
		"silent for long":          {lease("best", 0), []*coordinationv1beta1.LeaseCandidate{best, silent}, true},
		"strategy of another":      {lease("x", 0), []*coordinationv1beta1.LeaseCandidate{best, foreign}, false},
		"nobody with valid values": {lease("x", 0), []*coordinationv1beta1.LeaseCandidate{candidate("a", "", "1.0.0", 0)}, false},
	} {
		if got, err := isElectionNeeded(c.lease, c.candidates, start); err != nil || got != c.want {
			t.Errorf("%s: got %t, %v", name, got, err)
		}
	}
}
