package networking

import (
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// ServiceCIDR describes the kind ServiceCIDR, a range from which service addresses are
// allocated. Without the gate ServiceCIDRStatusFieldWiping, each write stores the status.
func ServiceCIDR(gates features.Gates) *api.Resource {
	kept, reset := api.KeepNever, map[string][]string{"status": {"metadata", "spec"}}
	if !gates.Enabled(features.ServiceCIDRStatusFieldWiping) {
		kept, reset[""] = api.KeepAlways, nil
	}
	return api.NewResource(api.Kind[*networkingv1.ServiceCIDR]{
		Names: api.Names{Name: "servicecidrs", Singular: "servicecidr", Kind: "ServiceCIDR"},
		Versions: api.WithOlderVersions(api.Served(networkingv1.SchemeGroupVersion),
			api.SameFields[networkingv1.ServiceCIDR, networkingv1beta1.ServiceCIDR](networkingv1beta1.SchemeGroupVersion)),
		Storage:    api.Storage{Prefix: "servicecidrs"},
		KeepStatus: kept,
		Checks: api.Checks(
			api.Metadata,
			api.Changes(serviceCIDRChanges),
			api.OnCreate(api.Rules(serviceCIDRRules)),
			api.Declared,
		),
		Status: api.NewStatus(api.KeepMetadataOf[*networkingv1.ServiceCIDR]),
		Reset:  reset,
		Table:  api.Rows(serviceCIDRRow),
	})
}

func serviceCIDRRow(row *table.Row, c *networkingv1.ServiceCIDR) {
	row.Name(c.Name)
	row.Text("CIDRs", ".spec.cidrs", strings.Join(c.Spec.CIDRs, ","))
	row.Age(c)
}
