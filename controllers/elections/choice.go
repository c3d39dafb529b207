package elections

import (
	"cmp"
	"fmt"
	"time"

	"github.com/blang/semver/v4"
	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
)

// isElectionNeeded reports whether a Lease, nil if there is none, has no holder that renews it, or
// one that is not the best of the candidates, or whether a candidate must prove that it exists.
func isElectionNeeded(lease *coordinationv1.Lease, candidates []*coordinationv1beta1.LeaseCandidate, now time.Time) (bool, error) {
	if lease == nil || isExpired(lease, now) || holderOf(lease) == "" {
		return true, nil
	}
	for _, c := range candidates {
		if r := c.Spec.RenewTime; r != nil && r.Add(candidateLife/2).Before(now) {
			return true, nil
		}
	}
	strategy, err := strategyOf(candidates)
	if err != nil || strategy != coordinationv1.OldestEmulationVersion {
		return false, err
	}
	best := oldest(candidates)
	return best != nil && best.Name != holderOf(lease), nil
}

// strategyOf returns the strategy of the candidates with the newest binary. Different strategies
// of equal binaries are an error.
func strategyOf(candidates []*coordinationv1beta1.LeaseCandidate) (coordinationv1.CoordinatedLeaseStrategy, error) {
	newest := candidates[0]
	for _, c := range candidates[1:] {
		order := binaryOf(c).Compare(binaryOf(newest))
		if order == 0 && c.Spec.Strategy != newest.Spec.Strategy {
			return "", fmt.Errorf("candidates %q and %q have the same binary version and the different strategies %s and %s",
				newest.Name, c.Name, newest.Spec.Strategy, c.Spec.Strategy)
		}
		if order > 0 {
			newest = c
		}
	}
	return newest.Spec.Strategy, nil
}

// oldest returns the candidate with the oldest emulated version, then the oldest binary, then the
// first one; nil if no candidate has valid versions.
func oldest(candidates []*coordinationv1beta1.LeaseCandidate) *coordinationv1beta1.LeaseCandidate {
	var best *coordinationv1beta1.LeaseCandidate
	for _, c := range candidates {
		_, emulation := semver.ParseTolerant(c.Spec.EmulationVersion)
		_, binary := semver.ParseTolerant(c.Spec.BinaryVersion)
		if emulation == nil && binary == nil && (best == nil || compareAge(c, best) < 0) {
			best = c
		}
	}
	return best
}

func compareAge(a, b *coordinationv1beta1.LeaseCandidate) int {
	return cmp.Or(emulationOf(a).Compare(emulationOf(b)), binaryOf(a).Compare(binaryOf(b)),
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time))
}

func emulationOf(c *coordinationv1beta1.LeaseCandidate) semver.Version {
	return versionOrZero(c.Spec.EmulationVersion)
}

func binaryOf(c *coordinationv1beta1.LeaseCandidate) semver.Version {
	return versionOrZero(c.Spec.BinaryVersion)
}

func versionOrZero(text string) semver.Version {
	v, err := semver.ParseTolerant(text)
	if err != nil {
		return semver.Version{}
	}
	return v
}

// holderOf returns the holder of a Lease; "" if it has none.
func holderOf(l *coordinationv1.Lease) string {
	if l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

// isExpired reports whether the holder has not renewed a Lease in time.
func isExpired(l *coordinationv1.Lease, now time.Time) bool {
	s := &l.Spec
	return s.RenewTime == nil || s.LeaseDurationSeconds == nil ||
		s.RenewTime.Add(time.Duration(*s.LeaseDurationSeconds)*time.Second).Before(now)
}

// expiry returns the time at which a candidate is no longer valid, which counts from its creation
// if it was never renewed.
func expiry(c *coordinationv1beta1.LeaseCandidate) time.Time {
	if c.Spec.RenewTime == nil {
		return c.CreationTimestamp.Add(candidateLife)
	}
	return c.Spec.RenewTime.Add(candidateLife)
}

// answered reports whether a candidate has renewed itself since it was pinged last.
func answered(c *coordinationv1beta1.LeaseCandidate) bool {
	return c.Spec.PingTime == nil || c.Spec.RenewTime != nil && !c.Spec.RenewTime.Before(c.Spec.PingTime)
}

// isAwaited reports whether a candidate still has time to answer a ping.
func isAwaited(c *coordinationv1beta1.LeaseCandidate, now time.Time) bool {
	return !answered(c) && c.Spec.PingTime.Add(answerTime).After(now)
}

// isFresh reports whether a candidate has just renewed itself, so that it takes part in the
// election.
func isFresh(c *coordinationv1beta1.LeaseCandidate, now time.Time) bool {
	return c.Spec.RenewTime != nil && c.Spec.RenewTime.Add(answerTime).After(now)
}
