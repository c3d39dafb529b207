package api

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// deployment is a number of equal pods that are replaced step by step.
func deployment() *Resource {
	return withPodTemplate(deploymentTemplate, &Resource{
		Name: "deployments", Singular: "deployment", Kind: "Deployment",
		ShortNames:        []string{"deploy"},
		Categories:        []string{"all"},
		Namespaced:        true,
		Versions:          served(appsv1.SchemeGroupVersion),
		Gone:              gone("apps/v1beta1", "apps/v1beta2", "extensions/v1beta1"),
		Complete:          func(obj Object) { obj.(*appsv1.Deployment).Spec.Replicas = new(int32) },
		New:               func() Object { return &appsv1.Deployment{} },
		ObjectWarnings:    templateWarnings(deploymentTemplate, "spec", "template"),
		HiddenAnnotations: []string{appsv1.DeprecatedRollbackTo},
		Rows:              &Table{Columns: deploymentColumns, Cells: deploymentCells},
		Subresources:      []*Subresource{scaleDeployment()},
		Prefix:            "deployments",
		Generation:        true,
		HasStatus:         true,
		Default:           defaultDeployment,
		// Labels are for those who own the object, not for those who report.
		PrepareStatusUpdate:  func(obj, old Object) { obj.SetLabels(old.GetLabels()) },
		ResetFields:          map[string][]string{"status": {"metadata.labels", "spec"}},
		Validate:             rulesOf(deploymentRules),
		ValidateUpdate:       changesOf(deploymentChanges),
		WholeUpdate:          true,
		ValidateStatusUpdate: changesOf(deploymentStatusChanges),
		// Annotations are copied to the ReplicaSets, so they count as well.
		Changed: func(obj, old Object) bool {
			return bodyChanged(obj, old) || !equality.Semantic.DeepEqual(obj.GetAnnotations(), old.GetAnnotations())
		},
	})
}

func deploymentTemplate(obj Object) *corev1.PodTemplateSpec {
	return &obj.(*appsv1.Deployment).Spec.Template
}

func defaultDeployment(obj Object) {
	s := &obj.(*appsv1.Deployment).Spec
	defaultTemplate(&s.Template)
	setDefault(&s.Replicas, 1)
	setDefault(&s.RevisionHistoryLimit, 10)
	setDefault(&s.ProgressDeadlineSeconds, 600)
	if s.Strategy.Type == "" {
		s.Strategy.Type = appsv1.RollingUpdateDeploymentStrategyType
	}
	if s.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType {
		return
	}
	if s.Strategy.RollingUpdate == nil {
		s.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{}
	}
	setDefault(&s.Strategy.RollingUpdate.MaxUnavailable, intstr.FromString("25%"))
	setDefault(&s.Strategy.RollingUpdate.MaxSurge, intstr.FromString("25%"))
}

// scaleDeployment is where the replicas of a Deployment are.
func scaleDeployment() *Subresource {
	return scale(scaled{
		replicas: appsReplicas(),
		wanted:   func(obj Object) **int32 { return &obj.(*appsv1.Deployment).Spec.Replicas },
		current:  func(obj Object) int32 { return obj.(*appsv1.Deployment).Status.Replicas },
		selector: func(obj Object) (string, error) { return selectorText(obj.(*appsv1.Deployment).Spec.Selector) },
	})
}
