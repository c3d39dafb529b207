package api

import (
	coordinationv1alpha2 "k8s.io/api/coordination/v1alpha2"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
)

// leaseCandidate is somebody who would hold a lease that the server gives to the
// best of its candidates.
func leaseCandidate() *Resource {
	return &Resource{
		Name: "leasecandidates", Singular: "leasecandidate", Kind: "LeaseCandidate",
		Namespaced: true,
		Versions: older(preview[coordinationv1beta1.LeaseCandidate](coordinationv1beta1.SchemeGroupVersion, ""),
			alike[coordinationv1beta1.LeaseCandidate, coordinationv1alpha2.LeaseCandidate](coordinationv1alpha2.SchemeGroupVersion)),
		New:                    func() Object { return &coordinationv1beta1.LeaseCandidate{} },
		Rows:                   &Table{Columns: leaseCandidateColumns, Cells: leaseCandidateCells},
		Prefix:                 "leasecandidates",
		ValidateName:           func(name string, _ bool) []string { return utilvalidation.IsConfigMapKey(name) },
		Validate:               rulesOf(leaseCandidateRules),
		ValidateUpdate:         changesOf(leaseCandidateChanges),
		WholeUpdate:            true,
		AllowCreateOnUpdate:    true,
		RequireResourceVersion: true,
	}
}
