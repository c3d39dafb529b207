package api

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func networkPolicyColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		nameColumn(), textColumn("Pod-Selector", doc(networkingv1.NetworkPolicySpec{}, "podSelector")), ageColumn(),
	}
}

func networkPolicyCells(obj Object) []any {
	p := obj.(*networkingv1.NetworkPolicy)
	return []any{p.Name, metav1.FormatLabelSelector(&p.Spec.PodSelector), Age(p)}
}
