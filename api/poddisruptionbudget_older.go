package api

import (
	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// An empty selector means all pods in v1 and none in v1beta1. Either writes what
// the other means as a requirement of a label that nobody has.
const budgetSelectorLabel = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"

func budgetV1beta1() Version {
	return unlike(policyv1beta1.SchemeGroupVersion,
		func(hub *policyv1.PodDisruptionBudget, old *policyv1beta1.PodDisruptionBudget) {
			hub.Spec.Selector = otherSelector(old.Spec.Selector, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)
		},
		func(old *policyv1beta1.PodDisruptionBudget, hub *policyv1.PodDisruptionBudget) {
			old.Spec.Selector = otherSelector(hub.Spec.Selector, metav1.LabelSelectorOpDoesNotExist, metav1.LabelSelectorOpExists)
		})
}

// otherSelector is a selector as the other version has it: an empty one becomes
// the requirement by the operator empty, and the one by the operator other
// becomes an empty one.
func otherSelector(s *metav1.LabelSelector, empty, other metav1.LabelSelectorOperator) *metav1.LabelSelector {
	switch {
	case equality.Semantic.DeepEqual(s, &metav1.LabelSelector{}):
		return budgetSelector(empty)
	case equality.Semantic.DeepEqual(s, budgetSelector(other)):
		return &metav1.LabelSelector{}
	}
	return s
}

func budgetSelector(o metav1.LabelSelectorOperator) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: budgetSelectorLabel, Operator: o}}}
}
