package api

import (
	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/miniapiserver/miniapiserver/internal/features"
)

func leaseRules(at *place, l *coordinationv1.Lease) {
	spec := at.of("spec")
	if d := l.Spec.LeaseDurationSeconds; d != nil {
		aboveZero(spec.of("leaseDurationSeconds"), *d)
	}
	if n := l.Spec.LeaseTransitions; n != nil && *n < 0 {
		spec.of("leaseTransitions").invalid(*n, "must be greater than or equal to 0")
	}
	if s := l.Spec.Strategy; s != nil {
		electionStrategyRules(spec.of("strategy"), *s)
	}
	if orEmpty(l.Spec.PreferredHolder) != "" && orEmpty(l.Spec.Strategy) == "" {
		spec.of("preferredHolder").forbidden("may only be specified if `strategy` is defined")
	}
}

// dropElection drops what serves coordinated leader election while its feature
// gate is off, unless it is there already.
func dropElection(gates features.Gates, is, was *coordinationv1.LeaseSpec) {
	if gates.Enabled(features.CoordinatedLeaderElection) {
		return
	}
	if was == nil || was.Strategy == nil {
		is.Strategy = nil
	}
	if was == nil || was.PreferredHolder == nil {
		is.PreferredHolder = nil
	}
}
