package api

import (
	appsv1 "k8s.io/api/apps/v1"
)

// controllerRevision is an immutable snapshot of state that a controller keeps for rollbacks.
func controllerRevision() *Resource {
	return &Resource{
		Name: "controllerrevisions", Singular: "controllerrevision", Kind: "ControllerRevision",
		Namespaced:          true,
		Versions:            served(appsv1.SchemeGroupVersion),
		Gone:                gone("apps/v1beta1", "apps/v1beta2"),
		New:                 func() Object { return &appsv1.ControllerRevision{} },
		Rows:                &Table{Columns: controllerRevisionColumns, Cells: controllerRevisionCells},
		Prefix:              "controllerrevisions",
		MetadataRevalidated: true,
		Validate:            rulesOf(revisionRules),
		ValidateUpdate:      changesOf(revisionChanges),
		WholeUpdate:         true,
	}
}
