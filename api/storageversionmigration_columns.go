package api

import (
	storagemigrationv1beta1 "k8s.io/api/storagemigration/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func storageVersionMigrationColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		textColumn("Name", doc(metav1.ObjectMeta{}, "name")),
		textColumn("Resource", "GroupResource to migrate"),
		textColumn("Status", "Status of the migration"),
	}
}

func storageVersionMigrationCells(obj Object) []any {
	m := obj.(*storagemigrationv1beta1.StorageVersionMigration)
	state := "Unknown"
	for _, c := range m.Status.Conditions {
		if c.Status == metav1.ConditionTrue && among(storagemigrationv1beta1.MigrationConditionType(c.Type),
			storagemigrationv1beta1.MigrationRunning, storagemigrationv1beta1.MigrationFailed, storagemigrationv1beta1.MigrationSucceeded) {
			state = c.Type
		}
	}
	return []any{m.Name, m.Spec.Resource.String(), state}
}
