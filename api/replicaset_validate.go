package api

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

func replicaSetRules(at *place, r *appsv1.ReplicaSet) {
	replicaSetSpecRules(at.of("spec"), &r.Spec, nil)
}

func replicaSetChanges(at *place, is, was *appsv1.ReplicaSet) {
	spec := at.of("spec")
	replicaSetSpecRules(spec, &is.Spec, &was.Spec)
	fixed(spec.of("selector"), is.Spec.Selector, was.Spec.Selector)
}

func replicaSetSpecRules(at *place, s, was *appsv1.ReplicaSetSpec) {
	if was == nil {
		was = &appsv1.ReplicaSetSpec{}
	}
	nonNegative(at.of("replicas"), *s.Replicas)
	nonNegative(at.of("minReadySeconds"), s.MinReadySeconds)
	podSelectorRules(at.of("selector"), s.Selector, "empty selector is invalid for deployment")
	if !replicatedPodRules(at.of("template"), s, &was.Template) {
		at.of("selector").invalid(s.Selector, "invalid label selector")
	}
}

// replicatedPodRules are for the pods of a ReplicaSet and of a Deployment, which
// makes ReplicaSets. They tell whether the selector can be used.
func replicatedPodRules(at *place, s *appsv1.ReplicaSetSpec, was *corev1.PodTemplateSpec) bool {
	if !matchesTemplate(at, s.Selector, &s.Template) {
		return false
	}
	templateRules(at, &s.Template, was)
	alwaysRestarted(at.of("spec"), &s.Template.Spec)
	noDeadline(at.of("spec"), &s.Template.Spec, "ReplicaSet")
	return true
}

func replicaSetStatusChanges(at *place, is, _ *appsv1.ReplicaSet) {
	status, s := at.of("status"), &is.Status
	countRules(status, count{"replicas", s.Replicas}, count{"fullyLabeledReplicas", s.FullyLabeledReplicas},
		count{"readyReplicas", s.ReadyReplicas}, count{"availableReplicas", s.AvailableReplicas})
	nonNegative(status.of("observedGeneration"), s.ObservedGeneration)
	if s.TerminatingReplicas != nil {
		nonNegative(status.of("terminatingReplicas"), *s.TerminatingReplicas)
	}
	countsWithin(status, s.Replicas, moreThanAll, count{"fullyLabeledReplicas", s.FullyLabeledReplicas},
		count{"readyReplicas", s.ReadyReplicas}, count{"availableReplicas", s.AvailableReplicas})
	countsWithin(status, s.ReadyReplicas, moreThanReady, count{"availableReplicas", s.AvailableReplicas})
}
