package api

import (
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func daemonSetRules(at *place, d *appsv1.DaemonSet) { daemonSetSpecRules(at.of("spec"), &d.Spec, nil) }

func daemonSetChanges(at *place, is, was *appsv1.DaemonSet) {
	spec := at.of("spec")
	fixed(spec.of("selector"), is.Spec.Selector, was.Spec.Selector)
	daemonSetSpecRules(spec, &is.Spec, &was.Spec)
}

func daemonSetSpecRules(at *place, s, was *appsv1.DaemonSetSpec) {
	if was == nil {
		was = &appsv1.DaemonSetSpec{}
	}
	template, selector := at.of("template"), at.of("selector")
	// A selector that is missing is refused because it matches nothing.
	lenientSelectorRules(selector, s.Selector, brokenSelector(was.Selector))
	if parsed, err := metav1.LabelSelectorAsSelector(s.Selector); err == nil && !parsed.Matches(labels.Set(s.Template.Labels)) {
		template.of("metadata").of("labels").invalid(s.Template.Labels, mismatch)
	}
	if s.Selector != nil && len(s.Selector.MatchLabels)+len(s.Selector.MatchExpressions) == 0 {
		selector.invalid(s.Selector, "empty selector is invalid for daemonset")
	}
	templateRules(template, &s.Template, &was.Template)
	alwaysRestarted(template.of("spec"), &s.Template.Spec)
	noDeadline(template.of("spec"), &s.Template.Spec, "DaemonSet")
	nonNegative(at.of("minReadySeconds"), s.MinReadySeconds)
	daemonStrategyRules(at.of("updateStrategy"), &s.UpdateStrategy)
	optionalNonNegative(at.of("revisionHistoryLimit"), s.RevisionHistoryLimit)
}

func daemonStrategyRules(at *place, s *appsv1.DaemonSetUpdateStrategy) {
	switch s.Type {
	case appsv1.OnDeleteDaemonSetStrategyType:
	case appsv1.RollingUpdateDaemonSetStrategyType:
		if s.RollingUpdate == nil {
			at.of("rollingUpdate").required("")
			return
		}
		daemonRollingRules(at.of("rollingUpdate"), s.RollingUpdate)
	default:
		notSupported(at, s, appsv1.RollingUpdateDaemonSetStrategyType, appsv1.OnDeleteDaemonSetStrategyType)
	}
}

// daemonRollingRules: on a node either the old pod goes first or the new one comes
// first.
func daemonRollingRules(at *place, r *appsv1.RollingUpdateDaemonSet) {
	unavailable, surge := at.of("maxUnavailable"), at.of("maxSurge")
	if r.MaxUnavailable != nil {
		numberOrPercent(unavailable, *r.MaxUnavailable)
	}
	if r.MaxSurge != nil {
		numberOrPercent(surge, *r.MaxSurge)
	}
	if r.MaxUnavailable != nil {
		atMostAll(unavailable, *r.MaxUnavailable)
	}
	if r.MaxSurge != nil {
		atMostAll(surge, *r.MaxSurge)
	}
	switch away, more := !nothing(r.MaxUnavailable), !nothing(r.MaxSurge); {
	case away && more:
		surge.invalid(r.MaxSurge, "may not be set when maxUnavailable is non-zero")
	case !away && !more:
		unavailable.required("cannot be 0 when maxSurge is 0")
	}
}

func daemonSetStatusChanges(at *place, is, was *appsv1.DaemonSet) {
	status, s := at.of("status"), &is.Status
	countRules(status, count{"currentNumberScheduled", s.CurrentNumberScheduled}, count{"numberMisscheduled", s.NumberMisscheduled},
		count{"desiredNumberScheduled", s.DesiredNumberScheduled}, count{"numberReady", s.NumberReady})
	nonNegative(status.of("observedGeneration"), s.ObservedGeneration)
	countRules(status, count{"updatedNumberScheduled", s.UpdatedNumberScheduled}, count{"numberAvailable", s.NumberAvailable},
		count{"numberUnavailable", s.NumberUnavailable})
	optionalNonNegative(status.of("collisionCount"), s.CollisionCount)
	notDecremented(status.of("collisionCount"), s.CollisionCount, was.Status.CollisionCount)
}
