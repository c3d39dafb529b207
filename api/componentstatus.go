package api

import corev1 "k8s.io/api/core/v1"

// componentStatus is how a part of the control plane is doing, found out when
// asked.
func componentStatus() *Resource {
	return &Resource{
		Name: "componentstatuses", Singular: "componentstatus", Kind: "ComponentStatus",
		ShortNames: []string{"cs"},
		Verbs:      []string{VerbGet, VerbList},
		Versions:   served(corev1.SchemeGroupVersion),
		New:        func() Object { return &corev1.ComponentStatus{} },
		Rows:       &Table{Columns: componentStatusColumns, Cells: componentStatusCells},
		Virtual:    &Virtual{Source: "componentstatuses"},
		Deprecated: "v1 ComponentStatus is deprecated in v1.19+",
	}
}
