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
		Default: func(obj Object) {
			if n := obj.(*storagev1.CSINode); len(n.Spec.Drivers) == 0 {
				n.Spec.Drivers = nil
			}
		},
		ValidateCreate:         rulesOf(csiNodeRules),
		ValidateUpdate:         changesOf(csiNodeChanges),
		ReturnDeletedObject:    true,
		RequireResourceVersion: true,
	}
}
