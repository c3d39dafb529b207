package policy

import (
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestDropBudgetLabel checks that clients cannot use the label of converted selectors.
func TestDropBudgetLabel(t *testing.T) {
	with := func(requirements ...metav1.LabelSelectorRequirement) *policyv1.PodDisruptionBudget {
		return &policyv1.PodDisruptionBudget{Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchExpressions: requirements}}}
	}
	label := metav1.LabelSelectorRequirement{Key: budgetSelectorLabel, Operator: metav1.LabelSelectorOpDoesNotExist}
	exists := metav1.LabelSelectorRequirement{Key: budgetSelectorLabel, Operator: metav1.LabelSelectorOpExists}
	other := metav1.LabelSelectorRequirement{Key: "a", Operator: metav1.LabelSelectorOpExists}
	for name, c := range map[string]struct{ sent, old, want *policyv1.PodDisruptionBudget }{
		"new":       {with(label, other), nil, with(other)},
		"none":      {with(exists), nil, with(exists)},
		"unchanged": {with(label, other), with(label, other), with(label, other)},
		"changed":   {with(label, other), with(other), with(other)},
	} {
		if dropBudgetLabel(c.sent, c.old); !equality.Semantic.DeepEqual(c.sent, c.want) {
			t.Errorf("%s: got %v, want %v", name, c.sent.Spec.Selector, c.want.Spec.Selector)
		}
	}
}
