package api

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// eviction deletes a pod if the disruption budgets that cover it allow that.
func eviction() *Subresource {
	return &Subresource{
		Name: "eviction", Verbs: []string{VerbCreate},
		Kind: &Resource{
			Name: "evictions", Singular: "eviction", Kind: "Eviction",
			Namespaced: true,
			Versions:   evictionVersions(),
			New:        func() Object { return &policyv1.Eviction{} },
		},
		Act: evict,
	}
}

// evictionVersions are those that a client may send, whatever versions of its
// group are served.
func evictionVersions() []Version {
	v1beta1 := alike[policyv1.Eviction, policyv1beta1.Eviction](policyv1beta1.SchemeGroupVersion)
	v1beta1.Accepted, v1beta1.NotServed = true, true
	return append(served(policyv1.SchemeGroupVersion), v1beta1)
}

// severalBudgets is what a client is told of a pod that several budgets cover.
const severalBudgets = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."

// Seconds after which a client may try an eviction again that was refused.
const evictionRetry = 10

func evict(_ context.Context, do Actions, name string, asked Object) error {
	obj, err := do.Get("pods", "", name)
	if err != nil {
		return err
	}
	pod := obj.(*corev1.Pod)
	how := evictionOptions(asked.(*policyv1.Eviction), pod)
	if pod.DeletionTimestamp != nil || unbudgeted(pod.Status.Phase) {
		return do.Delete("pods", "", name, how)
	}
	budget, err := budgetOf(do, pod)
	switch {
	case err != nil:
		return err
	case budget == nil || healthyWithout(budget, pod):
		return do.Delete("pods", "", name, how)
	}
	err = do.Update("poddisruptionbudgets", policyv1.GroupName, budget.Name, func(obj Object) (Object, error) {
		return spend(obj.(*policyv1.PodDisruptionBudget), pod.Name)
	})
	if err != nil {
		return err
	}
	return do.Delete("pods", "", name, how)
}

// evictionOptions are those the client gave, bound to the pod that was looked
// at.
func evictionOptions(e *policyv1.Eviction, pod *corev1.Pod) *DeleteRequest {
	how := &DeleteRequest{UID: string(pod.UID)}
	o := e.DeleteOptions
	if o == nil {
		return how
	}
	how.GracePeriodSeconds = o.GracePeriodSeconds
	if p := o.Preconditions; p != nil {
		if p.UID != nil {
			how.UID = string(*p.UID)
		}
		if p.ResourceVersion != nil {
			how.ResourceVersion = *p.ResourceVersion
		}
	}
	return how
}

// unbudgeted tells of pods that no budget counts, since they do not serve.
func unbudgeted(phase corev1.PodPhase) bool {
	return phase == corev1.PodSucceeded || phase == corev1.PodFailed || phase == corev1.PodPending
}

// budgetOf is the one budget that covers pod; nil when there is none.
func budgetOf(do Actions, pod *corev1.Pod) (*policyv1.PodDisruptionBudget, error) {
	all, err := do.List("poddisruptionbudgets", policyv1.GroupName)
	if err != nil {
		return nil, err
	}
	var found *policyv1.PodDisruptionBudget
	for _, obj := range all {
		budget := obj.(*policyv1.PodDisruptionBudget)
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err != nil || !selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("%s", severalBudgets)
		}
		found = budget
	}
	return found, nil
}

// healthyWithout tells whether a pod may go because it is not ready, and so is
// not among those that the budget protects.
func healthyWithout(budget *policyv1.PodDisruptionBudget, pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return false
		}
	}
	if p := budget.Spec.UnhealthyPodEvictionPolicy; p != nil && *p == policyv1.AlwaysAllow {
		return true
	}
	return budget.Status.CurrentHealthy >= budget.Status.DesiredHealthy && budget.Status.DesiredHealthy > 0
}

// spend takes one disruption from a budget for the pod.
func spend(budget *policyv1.PodDisruptionBudget, pod string) (Object, error) {
	s := &budget.Status
	switch {
	case s.ObservedGeneration < budget.Generation:
		return nil, tooManyDisruptions(fmt.Sprintf("The disruption budget %s is still being processed by the server.", budget.Name))
	case s.DisruptionsAllowed < 0:
		return nil, errors.NewForbidden(policyv1.Resource("poddisruptionbudget"), budget.Name, fmt.Errorf("pdb disruptions allowed is negative"))
	case s.DisruptionsAllowed == 0:
		return nil, tooManyDisruptions(fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently", budget.Name, s.DesiredHealthy, s.CurrentHealthy))
	}
	s.DisruptionsAllowed--
	if s.DisruptedPods == nil {
		s.DisruptedPods = map[string]metav1.Time{}
	}
	s.DisruptedPods[pod] = metav1.NewTime(time.Now()).Rfc3339Copy()
	return budget, nil
}

func tooManyDisruptions(cause string) error {
	err := errors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", evictionRetry)
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: policyv1.DisruptionBudgetCause, Message: cause})
	return err
}
