package pod

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapiserver/miniapiserver/api"
)

// podEviction returns the subresource eviction, which deletes a pod if its disruption budget
// allows that. now is the clock.
func podEviction(now func() time.Time) *api.Action {
	return &api.Action{
		Name: "eviction",
		Kind: api.NewResource(api.Kind[*policyv1.Eviction]{
			Names:    api.Names{Name: "evictions", Singular: "eviction", Kind: "Eviction", Namespaced: true},
			Versions: evictionVersions(),
		}),
		Check: api.Checking(checkEviction),
		Do: api.Doing(func(ctx context.Context, do api.Actions, name string, requested *policyv1.Eviction) error {
			return evictPod(ctx, do, name, requested, now)
		}),
	}
}

// evictionVersions returns the versions of Eviction that a client may send, whether or not
// their group is enabled.
func evictionVersions() []api.Version {
	v1beta1 := api.SameFields[policyv1.Eviction, policyv1beta1.Eviction](policyv1beta1.SchemeGroupVersion)
	v1beta1.AcceptsBodyOf, v1beta1.NotServed = true, true
	return append(api.Served(policyv1.SchemeGroupVersion), v1beta1)
}

// severalBudgets is the error for a pod that matches several budgets.
const severalBudgets = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."

// evictionTries is the maximum number of attempts if the pod changes concurrently.
const evictionTries = 20

// checkEviction validates the options, and sets p.DryRun if the query or the body asks for a
// dry run.
func checkEviction(p *api.ActionRequest, e *policyv1.Eviction) error {
	if err := p.CheckName("Eviction"); err != nil {
		return err
	}
	o := e.DeleteOptions
	if o == nil { // admission sees none
		return nil
	}
	if ptr.Deref(o.IgnoreStoreReadErrorWithClusterBreakingPotential, false) {
		return apierrors.NewInvalid(schema.GroupKind{Group: policyv1.GroupName, Kind: "Eviction"}, e.Name, field.ErrorList{field.Invalid(
			field.NewPath("deleteOptions", "ignoreStoreReadErrorWithClusterBreakingPotential"), true,
			"can not be set for pod eviction, try after removing the option")})
	}
	var query []string
	if p.DryRun {
		query = []string{metav1.DryRunAll}
	}
	switch {
	case len(o.DryRun) == 0:
		o.DryRun = query
	case len(query) > 0 && !slices.Equal(query, o.DryRun):
		//lint:ignore ST1005 kube-apiserver's words
		return fmt.Errorf("Non-matching dry-run options in request and content: %v and %v", query, o.DryRun)
	}
	p.DryRun = len(o.DryRun) > 0
	return nil
}

// evicted is the state of an eviction. pinned: the client's options contain a resourceVersion
// of the pod.
type evicted struct {
	do      api.Actions
	pod     *corev1.Pod
	options metav1.DeleteOptions
	pinned  bool
	now     func() time.Time
}

func evictPod(ctx context.Context, do api.Actions, name string, requested *policyv1.Eviction, now func() time.Time) error {
	e := &evicted{do: do, now: now, options: ptr.Deref(requested.DeleteOptions, metav1.DeleteOptions{})}
	e.pinned = resourceVersionOf(&e.options) != ""
	for try := 1; ; try++ {
		obj, err := do.Get("pods", "", name)
		if err != nil {
			return err
		}
		e.pod = obj.(*corev1.Pod)
		if !needsNoBudget(e.pod) {
			return e.withinBudget()
		}
		// The pod must not have started to run in the meantime.
		err = e.delete(e.pod.DeletionTimestamp == nil && !isTerminal(e.pod))
		if !apierrors.IsConflict(err) || e.pinned || try == evictionTries || ctx.Err() != nil {
			return err
		}
	}
}

// withinBudget evicts a pod that a disruption budget may protect.
func (e *evicted) withinBudget() error {
	budget, err := budgetOf(e.do, e.pod)
	switch {
	case err != nil:
		return err
	case budget == nil:
		return e.delete(false)
	case healthyWithout(budget, e.pod):
		// The pod must not have become ready in the meantime.
		err := e.delete(true)
		if apierrors.IsConflict(err) && !e.pinned {
			return notYetObserved(budget.Name)
		}
		return err
	}
	if err := e.spend(budget); err != nil {
		return err
	}
	return e.delete(false)
}

// spend takes one disruption from a budget. A dry run only checks that there is one.
func (e *evicted) spend(budget *policyv1.PodDisruptionBudget) error {
	if e.do.DryRun() {
		return checkDisruptionAllowed(budget)
	}
	return e.do.UpdateStatus("poddisruptionbudgets", policyv1.GroupName, budget.Name,
		api.Typed(func(obj *policyv1.PodDisruptionBudget) (*policyv1.PodDisruptionBudget, error) {
			return spendDisruption(obj, e.pod.Name, metav1.NewTime(e.now()))
		}))
}

// delete deletes the pod, after a condition of its status has recorded the reason. As in
// kube-apiserver, the condition stays if the deletion is refused, for its options too. With same,
// the pod must not have changed since it was read.
func (e *evicted) delete(same bool) error {
	o := *e.options.DeepCopy()
	if same && !e.pinned {
		if o.Preconditions == nil {
			o.Preconditions = &metav1.Preconditions{}
		}
		o.Preconditions.ResourceVersion = &e.pod.ResourceVersion
	}
	if e.do.DryRun() {
		return e.do.Delete("pods", "", e.pod.Name, &o)
	}
	obj, err := e.do.Update("pods", "", e.pod.Name, api.Typed(func(pod *corev1.Pod) (*corev1.Pod, error) {
		if err := checkPreconditions(pod, o.Preconditions); err != nil {
			return nil, err
		}
		setPodCondition(pod, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(e.now()),
			Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting",
		})
		return pod, nil
	}))
	if err != nil {
		return err
	}
	if resourceVersionOf(&o) != "" {
		o.Preconditions.ResourceVersion = ptr.To(obj.GetResourceVersion())
	}
	return e.do.Delete("pods", "", e.pod.Name, &o)
}

// checkPreconditions returns an error if a pod does not meet the preconditions. Empty values
// are ignored.
func checkPreconditions(pod *corev1.Pod, p *metav1.Preconditions) error {
	if p == nil {
		return nil
	}
	set := metav1.Preconditions{UID: p.UID, ResourceVersion: p.ResourceVersion}
	if ptr.Deref(set.UID, "") == "" {
		set.UID = nil
	}
	if ptr.Deref(set.ResourceVersion, "") == "" {
		set.ResourceVersion = nil
	}
	return api.CheckPreconditions(schema.GroupResource{Resource: "Pod"}, pod, &set)
}

func resourceVersionOf(o *metav1.DeleteOptions) string {
	if o.Preconditions == nil {
		return ""
	}
	return ptr.Deref(o.Preconditions.ResourceVersion, "")
}

// needsNoBudget reports whether a pod can be evicted without regard to budgets, because it does
// not serve requests.
func needsNoBudget(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil || isTerminal(pod) || pod.Status.Phase == corev1.PodPending
}

// isTerminal reports whether the containers of a pod have ended for good.
func isTerminal(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// budgetOf returns the budget that matches pod, or nil; more than one is an error.
func budgetOf(do api.Actions, pod *corev1.Pod) (*policyv1.PodDisruptionBudget, error) {
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
			//lint:ignore ST1005 kube-apiserver's words
			return nil, errors.New(severalBudgets)
		}
		found = budget
	}
	return found, nil
}

// healthyWithout reports whether a pod can be evicted without a disruption, because it is not
// ready and the budget has enough healthy pods.
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
