package api

import (
	"maps"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// daemonSet is a pod on each node.
func daemonSet() *Resource {
	return withPodTemplate(daemonSetTemplate, &Resource{
		Name: "daemonsets", Singular: "daemonset", Kind: "DaemonSet",
		ShortNames:           []string{"ds"},
		Categories:           []string{"all"},
		Namespaced:           true,
		Versions:             served(appsv1.SchemeGroupVersion),
		Gone:                 gone("apps/v1beta2", "extensions/v1beta1"),
		Complete:             func(obj Object) { setTemplateGeneration(obj, 0) },
		New:                  func() Object { return &appsv1.DaemonSet{} },
		ObjectWarnings:       templateWarnings(daemonSetTemplate, "spec", "template"),
		HiddenAnnotations:    []string{appsv1.DeprecatedTemplateGeneration},
		Rows:                 &Table{Columns: daemonSetColumns, Cells: daemonSetCells},
		Prefix:               "daemonsets",
		Generation:           true,
		HasStatus:            true,
		Default:              defaultDaemonSet,
		Validate:             rulesOf(daemonSetRules),
		ValidateUpdate:       changesOf(daemonSetChanges),
		WholeUpdate:          true,
		ValidateStatusUpdate: changesOf(daemonSetStatusChanges),
		PrepareCreate: func(obj Object) {
			setTemplateGeneration(obj, max(1, templateGeneration(obj)))
		},
		PrepareStatusUpdate: func(obj, old Object) { setTemplateGeneration(obj, templateGeneration(old)) },
		PrepareUpdate: func(obj, old Object) {
			generation := templateGeneration(old)
			if !equality.Semantic.DeepEqual(obj.(*appsv1.DaemonSet).Spec.Template, old.(*appsv1.DaemonSet).Spec.Template) {
				generation++
			}
			setTemplateGeneration(obj, generation)
		},
	})
}

func daemonSetTemplate(obj Object) *corev1.PodTemplateSpec {
	return &obj.(*appsv1.DaemonSet).Spec.Template
}

// templateGeneration counts the changes of the pod template. It was a field of
// older versions and lives on in an annotation, which clients cannot set.
func templateGeneration(obj Object) int64 {
	n, err := strconv.ParseInt(obj.GetAnnotations()[appsv1.DeprecatedTemplateGeneration], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func setTemplateGeneration(obj Object, generation int64) {
	annotations := maps.Clone(obj.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[appsv1.DeprecatedTemplateGeneration] = strconv.FormatInt(generation, 10)
	obj.SetAnnotations(annotations)
}

func defaultDaemonSet(obj Object) {
	// There from the beginning, so that whoever writes the object owns it.
	if _, ok := obj.GetAnnotations()[appsv1.DeprecatedTemplateGeneration]; !ok {
		setTemplateGeneration(obj, 0)
	}
	s := &obj.(*appsv1.DaemonSet).Spec
	defaultTemplate(&s.Template)
	setDefault(&s.RevisionHistoryLimit, 10)
	if s.UpdateStrategy.Type == "" {
		s.UpdateStrategy.Type = appsv1.RollingUpdateDaemonSetStrategyType
	}
	if s.UpdateStrategy.Type != appsv1.RollingUpdateDaemonSetStrategyType {
		return
	}
	if s.UpdateStrategy.RollingUpdate == nil {
		s.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{}
	}
	setDefault(&s.UpdateStrategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
	setDefault(&s.UpdateStrategy.RollingUpdate.MaxSurge, intstr.FromInt32(0))
}
