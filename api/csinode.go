package api

import (
	storagev1 "k8s.io/api/storage/v1"
	storagev1beta1 "k8s.io/api/storage/v1beta1"
)

// csiNode is what CSI drivers know of a node.
func csiNode() *Resource {
	return &Resource{
		Name: "csinodes", Singular: "csinode", Kind: "CSINode",
		Versions: older(served(storagev1.SchemeGroupVersion), alike[storagev1.CSINode, storagev1beta1.CSINode](storagev1beta1.SchemeGroupVersion)),
		New:      func() Object { return &storagev1.CSINode{} },
		Rows:     &Table{Columns: csiNodeColumns, Cells: csiNodeCells},
		Prefix:   "csinodes",
		// No drivers are stored as none at all.
		PrepareCreate:          func(obj Object) { noItems(&obj.(*storagev1.CSINode).Spec.Drivers) },
		PrepareUpdate:          func(obj, _ Object) { noItems(&obj.(*storagev1.CSINode).Spec.Drivers) },
		ValidateCreate:         rulesOf(csiNodeRules),
		ValidateUpdate:         changesOf(csiNodeChanges),
		ReturnDeletedObject:    true,
		RequireResourceVersion: true,
	}
}
