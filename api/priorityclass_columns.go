package api

import (
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func priorityClassColumns() []metav1.TableColumnDefinition {
	class := schedulingv1.PriorityClass{}
	return []metav1.TableColumnDefinition{
		nameColumn(),
		numberColumn("Value", doc(class, "value")),
		boolColumn("Global-Default", doc(class, "globalDefault")),
		ageColumn(),
		textColumn("PreemptionPolicy", doc(class, "preemptionPolicy")),
	}
}

func priorityClassCells(obj Object) []any {
	c := obj.(*schedulingv1.PriorityClass)
	return []any{c.Name, int64(c.Value), c.GlobalDefault, Age(c), string(orEmpty(c.PreemptionPolicy))}
}
