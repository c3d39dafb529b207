package api

import corev1 "k8s.io/api/core/v1"

// podTemplate is a pattern for pods that stands for itself.
func podTemplate() *Resource {
	return withPodTemplate(podTemplateOf, &Resource{
		Name: "podtemplates", Singular: "podtemplate", Kind: "PodTemplate",
		Namespaced:          true,
		Versions:            served(corev1.SchemeGroupVersion),
		New:                 func() Object { return &corev1.PodTemplate{} },
		ObjectWarnings:      templateWarnings(podTemplateOf, "template"),
		Rows:                &Table{Columns: podTemplateColumns, Cells: podTemplateCells},
		Prefix:              "podtemplates",
		ReturnDeletedObject: true,
		Generation:          true,
		Validate:            rulesOf(podTemplateRules),
		ValidateUpdate:      changesOf(podTemplateChanges),
		WholeUpdate:         true,
		Default:             func(obj Object) { defaultTemplate(&obj.(*corev1.PodTemplate).Template) },
	})
}

func podTemplateOf(obj Object) *corev1.PodTemplateSpec { return &obj.(*corev1.PodTemplate).Template }
