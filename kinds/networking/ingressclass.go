package networking

import (
	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
)

// IngressClass describes the kind IngressClass, which selects the controller of an Ingress.
func IngressClass() *api.Resource {
	return api.NewResource(api.Kind[*networkingv1.IngressClass]{
		Names: api.Names{Name: "ingressclasses", Singular: "ingressclass", Kind: "IngressClass"},
		Versions: api.WithOlderVersions(api.Served(networkingv1.SchemeGroupVersion),
			api.SameFields[networkingv1.IngressClass, networkingv1beta1.IngressClass](networkingv1beta1.SchemeGroupVersion)),
		Default: defaultIngressClass,
		Storage: api.Storage{Prefix: "ingressclasses"},
		Checks: api.Checks(
			api.Metadata,
			api.RevalidatedMetadata,
			api.OnCreate(api.Rules(ingressClassRules)),
			api.Changes(ingressClassChanges),
			api.Declared,
		),
		HasGeneration: true,
		Table:         api.Rows(ingressClassRow),
	})
}

func ingressClassRow(row *table.Row, c *networkingv1.IngressClass) {
	parameters := table.CellNone
	if p := c.Spec.Parameters; p != nil {
		parameters = p.Kind
		if p.APIGroup != nil {
			parameters += "." + *p.APIGroup
		}
		parameters += "/" + p.Name
	}
	row.Name(c.Name)
	row.Text("Controller", "Controller that is responsible for handling this class", c.Spec.Controller)
	row.Text("Parameters", "A reference to a resource with additional parameters", parameters)
	row.Age(c)
}
