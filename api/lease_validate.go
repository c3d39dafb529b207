package api

import coordinationv1 "k8s.io/api/coordination/v1"

func leaseRules(at *place, l *coordinationv1.Lease) {
	spec := at.of("spec")
	if d := l.Spec.LeaseDurationSeconds; d != nil {
		aboveZero(spec.of("leaseDurationSeconds"), *d)
	}
	if n := l.Spec.LeaseTransitions; n != nil && *n < 0 {
		spec.of("leaseTransitions").invalid(*n, "must be greater than or equal to 0")
	}
}

// dropElection drops what serves coordinated leader election, which is not
// enabled, unless it is there already.
func dropElection(is, was *coordinationv1.LeaseSpec) {
	if was == nil || was.Strategy == nil {
		is.Strategy = nil
	}
	if was == nil || was.PreferredHolder == nil {
		is.PreferredHolder = nil
	}
}
