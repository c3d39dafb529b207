package core

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/core/pod"
)

// PodTemplate describes the kind PodTemplate, a pod template without a controller.
func PodTemplate(gates features.Gates) *api.Resource {
	return api.NewResource(pod.WithPodTemplate(gates, podTemplateOf, api.Kind[*corev1.PodTemplate]{
		Names:    api.Names{Name: "podtemplates", Singular: "podtemplate", Kind: "PodTemplate", Namespaced: true},
		Versions: api.Served(corev1.SchemeGroupVersion),
		Default:  func(obj *corev1.PodTemplate) { pod.DefaultTemplate(&obj.Template) },
		Storage:  api.Storage{Prefix: "podtemplates"},
		Checks: api.Checks(
			api.Metadata,
			api.OnCreate(api.Rules(podTemplateRules)),
			api.Changes(podTemplateChanges),
			api.Declared,
			api.WarnOfChange(pod.TemplateWarnings(gates, podTemplateOf, "template")),
		),
		HasGeneration: true,
		Delete:        api.Deletion{ReturnDeletedObject: true},
		Table:         api.Rows(podTemplateRow),
	}))
}

func podTemplateOf(obj *corev1.PodTemplate) *corev1.PodTemplateSpec { return &obj.Template }

func podTemplateRow(row *table.Row, t *corev1.PodTemplate) {
	row.Name(t.Name)
	row.Containers(t.Template.Spec.Containers)
	row.Text("Pod Labels", "The labels for the pod template.", labels.FormatLabels(t.Template.Labels))
}
