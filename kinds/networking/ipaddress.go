package networking

import (
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

// IPAddress describes the kind IPAddress, which records an allocated service address.
func IPAddress() *api.Resource {
	return api.NewResource(api.Kind[*networkingv1.IPAddress]{
		Names: api.Names{Name: "ipaddresses", Singular: "ipaddress", Kind: "IPAddress", ShortNames: []string{"ip"}},
		Versions: api.WithOlderVersions(api.Served(networkingv1.SchemeGroupVersion),
			api.SameFields[networkingv1.IPAddress, networkingv1beta1.IPAddress](networkingv1beta1.SchemeGroupVersion)),
		Storage:          api.Storage{Prefix: "ipaddresses"},
		ValidateName:     validation.IPAddressName,
		KeepGenerateName: true,
		Checks: api.Checks(
			api.Metadata,
			api.Changes(ipAddressChanges),
			api.RevalidatedMetadata,
			api.OnCreate(api.Rules(ipAddressRules)),
			api.Declared,
		),
		Table: api.Rows(ipAddressRow),
	})
}

func ipAddressRow(row *table.Row, a *networkingv1.IPAddress) {
	parent := table.CellNone
	if p := a.Spec.ParentRef; p != nil {
		parent = strings.ToLower(schema.GroupResource{Group: p.Group, Resource: p.Resource}.String()) + "/"
		if p.Namespace != "" {
			parent += p.Namespace + "/"
		}
		parent += p.Name
	}
	row.Name(a.Name)
	row.Text("ParentRef", ".spec.parentRef", parent)
	row.AddCell(table.Age(a)) // as in kube-apiserver; clients ignore it
}
