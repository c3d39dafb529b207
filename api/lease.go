package api

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"

	"github.com/miniapiserver/miniapiserver/internal/features"
)

// lease is a lock with a holder and a time to renew it.
func lease(gates features.Gates) *Resource {
	return &Resource{
		Name: "leases", Singular: "lease", Kind: "Lease",
		Namespaced: true,
		Versions: older(served(coordinationv1.SchemeGroupVersion),
			alike[coordinationv1.Lease, coordinationv1beta1.Lease](coordinationv1beta1.SchemeGroupVersion)),
		New:           func() Object { return &coordinationv1.Lease{} },
		Rows:          &Table{Columns: leaseColumns, Cells: leaseCells},
		Prefix:        "leases",
		PrepareCreate: func(obj Object) { dropElection(gates, &obj.(*coordinationv1.Lease).Spec, nil) },
		PrepareUpdate: func(obj, old Object) {
			dropElection(gates, &obj.(*coordinationv1.Lease).Spec, &old.(*coordinationv1.Lease).Spec)
		},
		Validate:               rulesOf(leaseRules),
		AllowCreateOnUpdate:    true,
		RequireResourceVersion: true,
	}
}
