package api

import (
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func priorityLevelConfigurationColumns() []metav1.TableColumnDefinition {
	queuing := flowcontrolv1.QueuingConfiguration{}
	return []metav1.TableColumnDefinition{
		nameColumn(),
		textColumn("Type", doc(flowcontrolv1.PriorityLevelConfigurationSpec{}, "type")),
		textColumn("NominalConcurrencyShares", doc(flowcontrolv1.LimitedPriorityLevelConfiguration{}, "nominalConcurrencyShares")),
		textColumn("Queues", doc(queuing, "queues")),
		textColumn("HandSize", doc(queuing, "handSize")),
		textColumn("QueueLengthLimit", doc(queuing, "queueLengthLimit")),
		ageColumn(),
	}
}

// priorityLevelConfigurationCells has numbers where the columns say text, as
// kube-apiserver does.
func priorityLevelConfigurationCells(obj Object) []any {
	l := obj.(*flowcontrolv1.PriorityLevelConfiguration)
	cells := []any{l.Name, string(l.Spec.Type), cellNone, cellNone, cellNone, cellNone, Age(l)}
	if limited := l.Spec.Limited; limited != nil {
		cells[2] = int64(orEmpty(limited.NominalConcurrencyShares))
		if q := limited.LimitResponse.Queuing; q != nil {
			cells[3], cells[4], cells[5] = int64(q.Queues), int64(q.HandSize), int64(q.QueueLengthLimit)
		}
	}
	return cells
}
