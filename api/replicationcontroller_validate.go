package api

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func replicationControllerRules(at *place, c *corev1.ReplicationController) {
	replicationSpecRules(at.of("spec"), &c.Spec, nil)
}

// replicationControllerChanges: anything may change.
func replicationControllerChanges(at *place, is, was *corev1.ReplicationController) {
	replicationSpecRules(at.of("spec"), &is.Spec, was.Spec.Template)
}

func replicationSpecRules(at *place, s *corev1.ReplicationControllerSpec, was *corev1.PodTemplateSpec) {
	nonNegative(at.of("minReadySeconds"), s.MinReadySeconds)
	if len(s.Selector) == 0 {
		at.of("selector").required("")
	}
	if s.Replicas == nil {
		at.of("replicas").required("")
	} else {
		nonNegative(at.of("replicas"), *s.Replicas)
	}
	template := at.of("template")
	if s.Template == nil {
		template.required("")
		return
	}
	if len(s.Selector) > 0 && !labels.SelectorFromSet(s.Selector).Matches(labels.Set(s.Template.Labels)) {
		template.of("metadata").of("labels").invalid(s.Template.Labels, mismatch)
	}
	templateRules(template, s.Template, was)
	alwaysRestarted(template.of("spec"), &s.Template.Spec)
	noDeadline(template.of("spec"), &s.Template.Spec, "ReplicationController")
}

func replicationControllerStatusChanges(at *place, is, _ *corev1.ReplicationController) {
	status, s := at.of("status"), &is.Status
	countRules(status, count{"replicas", s.Replicas}, count{"fullyLabeledReplicas", s.FullyLabeledReplicas},
		count{"readyReplicas", s.ReadyReplicas}, count{"availableReplicas", s.AvailableReplicas})
	nonNegative(status.of("observedGeneration"), s.ObservedGeneration)
	countsWithin(status, s.Replicas, moreThanAll, count{"fullyLabeledReplicas", s.FullyLabeledReplicas},
		count{"readyReplicas", s.ReadyReplicas}, count{"availableReplicas", s.AvailableReplicas})
	countsWithin(status, s.ReadyReplicas, moreThanReady, count{"availableReplicas", s.AvailableReplicas})
}

func podTemplateRules(at *place, t *corev1.PodTemplate) {
	templateRules(at.of("template"), &t.Template, nil)
}

func podTemplateChanges(at *place, is, was *corev1.PodTemplate) {
	templateRules(at.of("template"), &is.Template, &was.Template)
}
