package api

import (
	policyv1 "k8s.io/api/policy/v1"
)

func disruptionBudgetRules(at *place, b *policyv1.PodDisruptionBudget) { budgetSpecRules(at, b, nil) }

func disruptionBudgetChanges(at *place, is, was *policyv1.PodDisruptionBudget) {
	budgetSpecRules(at, is, was)
}

func budgetSpecRules(at *place, b, was *policyv1.PodDisruptionBudget) {
	at = at.of("spec")
	s := &b.Spec
	if s.MinAvailable != nil && s.MaxUnavailable != nil {
		at.invalid(*s, "minAvailable and maxUnavailable cannot be both set")
	}
	if s.MinAvailable != nil {
		numberOrPercent(at.of("minAvailable"), *s.MinAvailable)
		atMostAll(at.of("minAvailable"), *s.MinAvailable)
	}
	if s.MaxUnavailable != nil {
		numberOrPercent(at.of("maxUnavailable"), *s.MaxUnavailable)
		atMostAll(at.of("maxUnavailable"), *s.MaxUnavailable)
	}
	lenientSelectorRules(at.of("selector"), s.Selector, was != nil && brokenSelector(was.Spec.Selector))
	optionalEnum(at.of("unhealthyPodEvictionPolicy"), s.UnhealthyPodEvictionPolicy, policyv1.AlwaysAllow, policyv1.IfHealthyBudget)
}

func disruptionStatusChanges(at *place, is, _ *policyv1.PodDisruptionBudget) {
	status, s := at.of("status"), &is.Status
	conditionRules(status.of("conditions"), s.Conditions)
	countRules(status, count{"disruptionsAllowed", s.DisruptionsAllowed}, count{"currentHealthy", s.CurrentHealthy},
		count{"desiredHealthy", s.DesiredHealthy}, count{"expectedPods", s.ExpectedPods})
}
