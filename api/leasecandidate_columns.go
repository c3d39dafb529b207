package api

import (
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func leaseCandidateColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		nameColumn(), textColumn("LeaseName", doc(coordinationv1beta1.LeaseCandidateSpec{}, "leaseName")),
		textColumn("BinaryVersion", ""), textColumn("EmulationVersion", ""), ageColumn(),
	}
}

func leaseCandidateCells(obj Object) []any {
	c := obj.(*coordinationv1beta1.LeaseCandidate)
	return []any{c.Name, c.Spec.LeaseName, c.Spec.BinaryVersion, c.Spec.EmulationVersion, Age(c)}
}
