package api

import apiserverinternalv1alpha1 "k8s.io/api/apiserverinternal/v1alpha1"

// storageVersion tells in which version each server stores a resource.
func storageVersion() *Resource {
	return &Resource{
		Name: "storageversions", Singular: "storageversion", Kind: "StorageVersion",
		Versions:               preview[apiserverinternalv1alpha1.StorageVersion](apiserverinternalv1alpha1.SchemeGroupVersion, ""),
		New:                    func() Object { return &apiserverinternalv1alpha1.StorageVersion{} },
		Rows:                   &Table{Columns: storageVersionColumns, Cells: storageVersionCells},
		Prefix:                 "storageversions",
		ValidateName:           storageVersionName,
		HasStatus:              true,
		PrepareStatusUpdate:    keepMetadataOf,
		ValidateStatusUpdate:   changesOf(storageVersionStatusRules),
		ResetFields:            map[string][]string{"status": {"metadata", "spec"}},
		RequireResourceVersion: true,
	}
}
