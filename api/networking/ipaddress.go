package networking

import (
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
		Storage: api.Storage{Prefix: "ipaddresses"},
		Create:  api.CreateStrategy[*networkingv1.IPAddress]{ValidateName: validation.IPAddressName, KeepGenerateName: true, ValidateOnCreate: validation.Rules(ipAddressRules)},
		Update:  api.UpdateStrategy[*networkingv1.IPAddress]{ValidateUpdate: validation.Changes(ipAddressChanges), RevalidateMetadata: true},
		Table:   api.Table[*networkingv1.IPAddress]{Columns: ipAddressColumns, Cells: ipAddressCells},
	})
}

func ipAddressColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{table.NameColumn(), table.TextColumn("ParentRef", table.Doc(networkingv1.IPAddressSpec{}, "parentRef"))}
}

// ipAddressCells returns an age without a column, like kube-apiserver. Clients ignore it.
func ipAddressCells(a *networkingv1.IPAddress) []any {
	parent := table.CellNone
	if p := a.Spec.ParentRef; p != nil {
		parent = strings.ToLower(schema.GroupResource{Group: p.Group, Resource: p.Resource}.String()) + "/"
		if p.Namespace != "" {
			parent += p.Namespace + "/"
		}
		parent += p.Name
	}
	return []any{a.Name, parent, table.Age(a)}
}
