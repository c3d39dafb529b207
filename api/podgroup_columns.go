package api

import (
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func podGroupColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		nameColumn(),
		textColumn("Policy", doc(schedulingv1alpha2.PodGroupSpec{}, "schedulingPolicy")),
		textColumn("Workload", "Name of the referenced Workload object"),
		textColumn("Status", "Status of the PodGroup"),
		ageColumn(),
	}
}

func podGroupCells(obj Object) []any {
	g := obj.(*schedulingv1alpha2.PodGroup)
	policy, of := "Basic", cellNone
	if g.Spec.SchedulingPolicy.Gang != nil {
		policy = "Gang"
	}
	if ref := g.Spec.PodGroupTemplateRef; ref != nil && ref.Workload != nil {
		of = ref.Workload.WorkloadName
	}
	return []any{g.Name, policy, of, podGroupState(g.Status.Conditions), Age(g)}
}

// podGroupState is whether the group was scheduled, unless it is to end.
func podGroupState(conditions []metav1.Condition) string {
	state, ending := "Pending", ""
	for _, c := range conditions {
		switch c.Type {
		case schedulingv1alpha2.PodGroupScheduled:
			state = "Unschedulable"
			if c.Status == metav1.ConditionTrue {
				state = "Scheduled"
			}
		case schedulingv1alpha2.DisruptionTarget:
			ending = c.Reason
		}
	}
	return orElse(ending, state)
}
