package pod

import (
	"errors"
	"fmt"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxDisruptedPods is the maximum number of evictions that the budget's controller has not
// observed yet.
const maxDisruptedPods = 2000

// budgetRetry is the number of seconds in Retry-After while a budget is not up to date.
const budgetRetry = 10

// checkDisruptionAllowed returns the error for a budget that allows no disruption, or nil.
func checkDisruptionAllowed(budget *policyv1.PodDisruptionBudget) error {
	s := &budget.Status
	switch {
	case s.ObservedGeneration < budget.Generation:
		return notYetObserved(budget.Name)
	case s.DisruptionsAllowed < 0:
		const why = "pdb disruptions allowed is negative"
		return forbidDisruption(budget, why, why)
	case len(s.DisruptedPods) > maxDisruptedPods:
		return forbidDisruption(budget, "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
			"too many pending evictions not confirmed by PDB controller")
	case s.DisruptionsAllowed == 0:
		return tooManyDisruptions(noDisruptionReason(budget), 0)
	}
	return nil
}

// forbidDisruption returns the error for a budget whose status is not usable. cause is the
// reason in the status cause, by which clients distinguish budgets from permissions.
func forbidDisruption(budget *policyv1.PodDisruptionBudget, reason, cause string) error {
	err := apierrors.NewForbidden(policyv1.Resource("poddisruptionbudget"), budget.Name, errors.New(reason))
	return withBudgetCause(err, noDisruptionAllowed(budget)+": "+cause)
}

func noDisruptionAllowed(budget *policyv1.PodDisruptionBudget) string {
	return fmt.Sprintf("The disruption budget %s does not allow evicting pods currently", budget.Name)
}

// noDisruptionReason returns the reason why a budget has no disruption left, for the error
// message.
func noDisruptionReason(budget *policyv1.PodDisruptionBudget) string {
	s := &budget.Status
	c := meta.FindStatusCondition(s.Conditions, policyv1.DisruptionAllowedCondition)
	denied := c != nil && c.Status == metav1.ConditionFalse && c.Message != ""
	none := noDisruptionAllowed(budget)
	switch {
	case denied && c.Reason == policyv1.SyncFailedReason:
		return fmt.Sprintf("%s because it failed sync: %s", none, c.Message)
	case s.CurrentHealthy <= s.DesiredHealthy:
		return fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently", budget.Name, s.DesiredHealthy, s.CurrentHealthy)
	case denied:
		return fmt.Sprintf("%s (%s): %s", none, c.Reason, c.Message)
	}
	return none
}

// spendDisruption records in a budget that pod was evicted at the given time.
func spendDisruption(budget *policyv1.PodDisruptionBudget, pod string, at metav1.Time) (*policyv1.PodDisruptionBudget, error) {
	if err := checkDisruptionAllowed(budget); err != nil {
		return nil, err
	}
	s := &budget.Status
	s.DisruptionsAllowed--
	if s.DisruptionsAllowed == 0 {
		meta.SetStatusCondition(&s.Conditions, metav1.Condition{
			Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse,
			Reason: policyv1.InsufficientPodsReason, ObservedGeneration: s.ObservedGeneration, LastTransitionTime: at,
		})
	}
	if s.DisruptedPods == nil {
		s.DisruptedPods = map[string]metav1.Time{}
	}
	s.DisruptedPods[pod] = at.Rfc3339Copy()
	return budget, nil
}

// notYetObserved returns the error for a budget that its controller has not observed yet.
func notYetObserved(budget string) error {
	return tooManyDisruptions(fmt.Sprintf("The disruption budget %s is still being processed by the server.", budget), budgetRetry)
}

// tooManyDisruptions returns the error that refuses an eviction, with Retry-After unless
// seconds is 0.
func tooManyDisruptions(cause string, seconds int) error {
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", seconds)
	return withBudgetCause(err, cause)
}

func withBudgetCause(err *apierrors.StatusError, cause string) error {
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: policyv1.DisruptionBudgetCause, Message: cause})
	return err
}
