package api

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func podDisruptionBudgetColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		nameColumn(),
		textColumn("Min Available", "The minimum number of pods that must be available."),
		textColumn("Max Unavailable", "The maximum number of pods that may be unavailable."),
		numberColumn("Allowed Disruptions", "Calculated number of pods that may be disrupted at this time."),
		ageColumn(),
	}
}

func podDisruptionBudgetCells(obj Object) []any {
	b := obj.(*policyv1.PodDisruptionBudget)
	limit := func(n *intstr.IntOrString) string {
		if n == nil {
			return "N/A"
		}
		return n.String()
	}
	return []any{b.Name, limit(b.Spec.MinAvailable), limit(b.Spec.MaxUnavailable), int64(b.Status.DisruptionsAllowed), Age(b)}
}
