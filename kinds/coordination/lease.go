package coordination

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

// Lease describes the kind Lease, a lock with a holder that must renew it.
func Lease() *api.Resource {
	return api.NewResource(api.Kind[*coordinationv1.Lease]{
		Names: api.Names{Name: "leases", Singular: "lease", Kind: "Lease", Namespaced: true},
		Versions: api.WithOlderVersions(api.Served(coordinationv1.SchemeGroupVersion),
			api.SameFields[coordinationv1.Lease, coordinationv1beta1.Lease](coordinationv1beta1.SchemeGroupVersion)),
		Storage:                api.Storage{Prefix: "leases"},
		AllowCreateOnUpdate:    true,
		RequireResourceVersion: true,
		Checks:                 api.Checks(api.ObjectMeta, api.Rules(leaseRules), api.Declared),
		Table:                  api.Rows(leaseRow),
	})
}

func leaseRow(row *table.Row, l *coordinationv1.Lease) {
	row.Name(l.Name)
	row.Text("Holder", ".spec.holderIdentity", table.ValueOrZero(l.Spec.HolderIdentity))
	row.Age(l)
}

func leaseRules(at *validation.Path, l *coordinationv1.Lease) {
	spec := at.Child("spec")
	if d := l.Spec.LeaseDurationSeconds; d != nil {
		validation.AboveZero(spec.Child("leaseDurationSeconds"), *d)
	}
	if n := l.Spec.LeaseTransitions; n != nil && *n < 0 {
		spec.Child("leaseTransitions").Invalid(*n, "must be greater than or equal to 0")
	}
	if s := l.Spec.Strategy; s != nil {
		electionStrategyRules(spec.Child("strategy"), *s)
	}
	if table.ValueOrZero(l.Spec.PreferredHolder) != "" && table.ValueOrZero(l.Spec.Strategy) == "" {
		spec.Child("preferredHolder").Forbidden("may only be specified if `strategy` is defined")
	}
}
