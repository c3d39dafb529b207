package api

import (
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
)

// priorityClass is a name for a pod priority.
func priorityClass() *Resource {
	return &Resource{
		Name: "priorityclasses", Singular: "priorityclass", Kind: "PriorityClass",
		ShortNames: []string{"pc"},
		Versions: older(served(schedulingv1.SchemeGroupVersion),
			alike[schedulingv1.PriorityClass, schedulingv1beta1.PriorityClass](schedulingv1beta1.SchemeGroupVersion)),
		New:            func() Object { return &schedulingv1.PriorityClass{} },
		Rows:           &Table{Columns: priorityClassColumns, Cells: priorityClassCells},
		Prefix:         "priorityclasses",
		ValidateCreate: rulesOf(priorityClassRules),
		ValidateUpdate: changesOf(priorityClassChanges),
		// Nothing in it can be changed that would count.
		Generation: true,
		Changed:    never,
		Default:    defaultPriorityClass,
	}
}

func defaultPriorityClass(obj Object) {
	setDefault(&obj.(*schedulingv1.PriorityClass).PreemptionPolicy, corev1.PreemptLowerPriority)
}
