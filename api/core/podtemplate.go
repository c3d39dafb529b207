package core

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/core/pod"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// PodTemplate describes the kind PodTemplate, a pod template without a controller.
func PodTemplate(gates features.Gates) *api.Resource {
	strictness := validation.StrictnessOf(gates)
	return api.NewResource(pod.WithPodTemplate(gates, podTemplateOf, api.Kind[*corev1.PodTemplate]{
		Names:    api.Names{Name: "podtemplates", Singular: "podtemplate", Kind: "PodTemplate", Namespaced: true},
		Versions: api.Served(corev1.SchemeGroupVersion),
		Default:  func(obj *corev1.PodTemplate) { pod.DefaultTemplate(&obj.Template) },
		Storage:  api.Storage{Prefix: "podtemplates"},
		Create:   api.CreateStrategy[*corev1.PodTemplate]{Validate: validation.RulesOf(strictness, podTemplateRules), WarningsOnCreate: api.OnCreate(pod.TemplateWarnings(gates, podTemplateOf, "template"))},
		Update: api.UpdateStrategy[*corev1.PodTemplate]{
			ValidateUpdate:           validation.ChangesOf(strictness, podTemplateChanges),
			ValidateUpdateIsComplete: true,
			WarningsOnUpdate:         pod.TemplateWarnings(gates, podTemplateOf, "template"),
			HasGeneration:            true,
		},
		Delete: api.DeleteStrategy[*corev1.PodTemplate]{ReturnDeletedObject: true},
		Table:  api.Table[*corev1.PodTemplate]{Columns: podTemplateColumns, Cells: podTemplateCells},
	}))
}

func podTemplateOf(obj *corev1.PodTemplate) *corev1.PodTemplateSpec { return &obj.Template }

func podTemplateColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		table.NameColumn(), table.ContainersColumn(), table.ImagesColumn(), table.TextColumn("Pod Labels", "The labels for the pod template."),
	}
}

func podTemplateCells(t *corev1.PodTemplate) []any {
	names, images := table.ContainerCells(t.Template.Spec.Containers)
	return []any{t.Name, names, images, labels.FormatLabels(t.Template.Labels)}
}
