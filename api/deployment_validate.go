package api

import (
	appsv1 "k8s.io/api/apps/v1"
)

func deploymentRules(at *place, d *appsv1.Deployment) {
	deploymentSpecRules(at.of("spec"), &d.Spec, nil)
}

func deploymentChanges(at *place, is, was *appsv1.Deployment) {
	spec := at.of("spec")
	deploymentSpecRules(spec, &is.Spec, &was.Spec)
	fixed(spec.of("selector"), is.Spec.Selector, was.Spec.Selector)
}

func deploymentSpecRules(at *place, s, was *appsv1.DeploymentSpec) {
	if was == nil {
		was = &appsv1.DeploymentSpec{}
	}
	nonNegative(at.of("replicas"), *s.Replicas)
	podSelectorRules(at.of("selector"), s.Selector, "empty selector is invalid for deployment")
	pods := appsv1.ReplicaSetSpec{Selector: s.Selector, Template: s.Template}
	if !replicatedPodRules(at.of("template"), &pods, &was.Template) {
		at.of("selector").invalid(s.Selector, "invalid label selector")
	}
	strategyRules(at.of("strategy"), &s.Strategy)
	nonNegative(at.of("minReadySeconds"), s.MinReadySeconds)
	optionalNonNegative(at.of("revisionHistoryLimit"), s.RevisionHistoryLimit)
	if p := s.ProgressDeadlineSeconds; p != nil {
		nonNegative(at.of("progressDeadlineSeconds"), *p)
		if *p <= s.MinReadySeconds {
			at.of("progressDeadlineSeconds").invalid(*p, "must be greater than minReadySeconds")
		}
	}
}

func strategyRules(at *place, s *appsv1.DeploymentStrategy) {
	rolling := at.of("rollingUpdate")
	switch s.Type {
	case appsv1.RecreateDeploymentStrategyType:
		if s.RollingUpdate != nil {
			rolling.forbidden("may not be specified when strategy `type` is 'Recreate'")
		}
	case appsv1.RollingUpdateDeploymentStrategyType:
		if s.RollingUpdate == nil {
			rolling.required("this should be defaulted and never be nil")
			return
		}
		rollingUpdateRules(rolling, s.RollingUpdate)
	default:
		notSupported(at, s, appsv1.RecreateDeploymentStrategyType, appsv1.RollingUpdateDeploymentStrategyType)
	}
}

// rollingUpdateRules: either some pods may be away for a time, or there may be
// some too many.
func rollingUpdateRules(at *place, r *appsv1.RollingUpdateDeployment) {
	if r.MaxUnavailable != nil {
		numberOrPercent(at.of("maxUnavailable"), *r.MaxUnavailable)
	}
	if r.MaxSurge != nil {
		numberOrPercent(at.of("maxSurge"), *r.MaxSurge)
	}
	if nothing(r.MaxUnavailable) && nothing(r.MaxSurge) {
		at.of("maxUnavailable").invalid(r.MaxUnavailable, "may not be 0 when `maxSurge` is 0")
	}
	if r.MaxUnavailable != nil {
		atMostAll(at.of("maxUnavailable"), *r.MaxUnavailable)
	}
}

func deploymentStatusChanges(at *place, is, was *appsv1.Deployment) {
	status, s := at.of("status"), &is.Status
	nonNegative(status.of("observedGeneration"), s.ObservedGeneration)
	countRules(status, count{"replicas", s.Replicas}, count{"updatedReplicas", s.UpdatedReplicas}, count{"readyReplicas", s.ReadyReplicas},
		count{"availableReplicas", s.AvailableReplicas}, count{"unavailableReplicas", s.UnavailableReplicas})
	optionalNonNegative(status.of("terminatingReplicas"), s.TerminatingReplicas)
	optionalNonNegative(status.of("collisionCount"), s.CollisionCount)
	countsWithin(status, s.Replicas, moreThanAll, count{"updatedReplicas", s.UpdatedReplicas},
		count{"readyReplicas", s.ReadyReplicas}, count{"availableReplicas", s.AvailableReplicas})
	countsWithin(status, s.ReadyReplicas, moreThanReady, count{"availableReplicas", s.AvailableReplicas})
	notDecremented(status.of("collisionCount"), s.CollisionCount, was.Status.CollisionCount)
}
