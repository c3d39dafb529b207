package api

import (
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// replicationController is a number of equal pods, in the way of before
// ReplicaSets.
func replicationController() *Resource {
	return withPodTemplate(controllerTemplate, &Resource{
		Name: "replicationcontrollers", Singular: "replicationcontroller", Kind: "ReplicationController",
		ShortNames:           []string{"rc"},
		Categories:           []string{"all"},
		Namespaced:           true,
		Versions:             selectable(served(corev1.SchemeGroupVersion), nameLabel, namespaceLabel, "status.replicas"),
		New:                  func() Object { return &corev1.ReplicationController{} },
		ObjectWarnings:       replicationControllerWarnings,
		Rows:                 &Table{Columns: replicationControllerColumns, Cells: replicationControllerCells},
		Subresources:         []*Subresource{scaleReplicationController()},
		Prefix:               "controllers",
		MetadataRevalidated:  true,
		Generation:           true,
		OrphanByDefault:      true,
		HasStatus:            true,
		Default:              defaultReplicationController,
		Validate:             rulesOf(replicationControllerRules),
		ValidateUpdate:       changesOf(replicationControllerChanges),
		WholeUpdate:          true,
		ValidateStatusUpdate: changesOf(replicationControllerStatusChanges),
		Fields: func(obj Object) map[string]string {
			replicas := obj.(*corev1.ReplicationController).Status.Replicas
			return map[string]string{"status.replicas": strconv.Itoa(int(replicas))}
		},
	})
}

func controllerTemplate(obj Object) *corev1.PodTemplateSpec {
	return obj.(*corev1.ReplicationController).Spec.Template
}

// defaultReplicationController lets labels be given once, with the pods.
func defaultReplicationController(obj Object) {
	c := obj.(*corev1.ReplicationController)
	setDefault(&c.Spec.Replicas, 1)
	if c.Spec.Template == nil {
		return
	}
	defaultTemplate(c.Spec.Template)
	if len(c.Spec.Template.Labels) == 0 {
		return
	}
	if len(c.Spec.Selector) == 0 {
		c.Spec.Selector = maps.Clone(c.Spec.Template.Labels)
	}
	if len(c.Labels) == 0 {
		c.Labels = maps.Clone(c.Spec.Template.Labels)
	}
}

// scaleReplicationController is where the replicas of a ReplicationController are.
func scaleReplicationController() *Subresource {
	return scale(scaled{
		replicas: map[string]string{"v1": replicasPath},
		wanted:   func(obj Object) **int32 { return &obj.(*corev1.ReplicationController).Spec.Replicas },
		current:  func(obj Object) int32 { return obj.(*corev1.ReplicationController).Status.Replicas },
		selector: func(obj Object) (string, error) {
			return labels.SelectorFromSet(obj.(*corev1.ReplicationController).Spec.Selector).String(), nil
		},
	})
}
