package api

import (
	apiserverinternalv1alpha1 "k8s.io/api/apiserverinternal/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func storageVersionColumns() []metav1.TableColumnDefinition {
	status := apiserverinternalv1alpha1.StorageVersionStatus{}
	return []metav1.TableColumnDefinition{
		nameColumn(),
		textColumn("CommonEncodingVersion", doc(status, "commonEncodingVersion")),
		textColumn("StorageVersions", doc(status, "storageVersions")),
		ageColumn(),
	}
}

func storageVersionCells(obj Object) []any {
	v := obj.(*apiserverinternalv1alpha1.StorageVersion)
	common := cellUnset
	if c := v.Status.CommonEncodingVersion; c != nil {
		common = *c
	}
	var servers []string
	for i, s := range v.Status.StorageVersions {
		if i < cellMost {
			servers = append(servers, s.APIServerID+"="+s.EncodingVersion)
		}
	}
	return []any{v.Name, common, more(servers, len(v.Status.StorageVersions)), Age(v)}
}
