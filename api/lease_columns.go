package api

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func leaseColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		nameColumn(), textColumn("Holder", doc(coordinationv1.LeaseSpec{}, "holderIdentity")), ageColumn(),
	}
}

func leaseCells(obj Object) []any {
	l := obj.(*coordinationv1.Lease)
	return []any{l.Name, orEmpty(l.Spec.HolderIdentity), Age(l)}
}
