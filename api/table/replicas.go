package table

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ReplicaColumns returns the columns of ReplicaSet and ReplicationController.
func ReplicaColumns(spec, status documented) []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		NameColumn(),
		NumberColumn("Desired", Doc(spec, "replicas")),
		NumberColumn("Current", Doc(status, "replicas")),
		NumberColumn("Ready", Doc(status, "readyReplicas")),
		AgeColumn(),
		Wide(ContainersColumn()),
		Wide(ImagesColumn()),
		Wide(TextColumn("Selector", Doc(spec, "selector"))),
	}
}
