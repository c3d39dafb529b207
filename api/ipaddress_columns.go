package api

import (
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func ipAddressColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{nameColumn(), textColumn("ParentRef", doc(networkingv1.IPAddressSpec{}, "parentRef"))}
}

// ipAddressCells has an age that no column names, as in kube-apiserver; clients
// leave it out.
func ipAddressCells(obj Object) []any {
	a := obj.(*networkingv1.IPAddress)
	parent := cellNone
	if p := a.Spec.ParentRef; p != nil {
		parent = strings.ToLower(schema.GroupResource{Group: p.Group, Resource: p.Resource}.String()) + "/"
		if p.Namespace != "" {
			parent += p.Namespace + "/"
		}
		parent += p.Name
	}
	return []any{a.Name, parent, Age(a)}
}
