package api

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
		Kept:       keepSystemPriorityClass,
	}
}

func defaultPriorityClass(obj Object) {
	setDefault(&obj.(*schedulingv1.PriorityClass).PreemptionPolicy, corev1.PreemptLowerPriority)
}

func keepSystemPriorityClass(name string) error {
	for _, c := range SystemPriorityClasses() {
		if c.Name == name {
			return errors.New("this is a system priority class and cannot be deleted")
		}
	}
	return nil
}

// SystemPriorityClasses are for what a cluster itself needs, and are there from
// the start.
func SystemPriorityClasses() []*schedulingv1.PriorityClass {
	class := func(name string, value int32, description string) *schedulingv1.PriorityClass {
		c := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value, Description: description}
		defaultPriorityClass(c)
		return c
	}
	return []*schedulingv1.PriorityClass{
		class("system-node-critical", 2*maxUserPriority+1000, "Used for system critical pods that must not be moved from their current node."),
		class("system-cluster-critical", 2*maxUserPriority, "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."),
	}
}
