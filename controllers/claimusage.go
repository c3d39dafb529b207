package controllers

import (
	"context"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// claimUsage records in bound claims, in the condition Unused, whether pods use them.
type claimUsage struct {
	Config
	client       *reconcile.Client
	claims, pods *api.Resource
}

// sync sets the condition of one claim.
func (u *claimUsage) sync(ctx context.Context, key objectName) (reconcile.Result, error) {
	claim, err := reconcile.GetObject[*corev1.PersistentVolumeClaim](ctx, u.BaseConfig, u.claims, key.namespace, key.name)
	if claim == nil || err != nil || claim.DeletionTimestamp != nil || claim.Status.Phase != corev1.ClaimBound {
		return reconcile.Done, err
	}
	used, err := u.isUsed(ctx, claim)
	if err != nil {
		return reconcile.Done, err
	}
	want := corev1.PersistentVolumeClaimCondition{Type: corev1.PersistentVolumeClaimUnused, Status: corev1.ConditionTrue,
		LastTransitionTime: metav1.NewTime(u.Now()), Reason: "NoPodsUsingPVC", Message: "No pods are currently referencing this PVC"}
	if used {
		want.Status, want.Reason, want.Message = corev1.ConditionFalse, "PodUsingPVC", "A pod is currently referencing this PVC"
	}
	i := unusedCondition(claim)
	if i >= 0 && (claim.Status.Conditions[i].Status == corev1.ConditionTrue) == (want.Status == corev1.ConditionTrue) {
		return reconcile.Done, nil
	}
	if claim = claim.DeepCopy(); i >= 0 {
		claim.Status.Conditions[i] = want
	} else {
		claim.Status.Conditions = append(claim.Status.Conditions, want)
	}
	err = u.client.Do(ctx, http.MethodPut, reconcile.ObjectPath(u.claims, key.namespace, key.name)+"/status", "application/json", claim, nil)
	return reconcile.AfterWrite(err)
}

// unusedCondition returns the index of the condition Unused, or -1.
func unusedCondition(claim *corev1.PersistentVolumeClaim) int {
	return slices.IndexFunc(claim.Status.Conditions, func(c corev1.PersistentVolumeClaimCondition) bool {
		return c.Type == corev1.PersistentVolumeClaimUnused
	})
}

// isUsed reports whether a pod uses a claim, also one that is not scheduled yet.
func (u *claimUsage) isUsed(ctx context.Context, claim *corev1.PersistentVolumeClaim) (bool, error) {
	items, err := u.Items(ctx, u.pods, claim.Namespace, registry.Selection{})
	for _, item := range items {
		obj, err := item.Object()
		if err != nil {
			return true, err
		}
		if pod := obj.(*corev1.Pod); !podTerminated(pod) && podHasClaim(pod, claim) {
			return true, nil
		}
	}
	return false, err
}

// podTerminated reports whether no container of a pod runs or will run.
func podTerminated(pod *corev1.Pod) bool {
	return podEnded(pod) || pod.DeletionTimestamp != nil && !slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.State.Terminated == nil && s.State.Waiting == nil
	})
}

// affectedBy returns the claims of a pod that does not end whose conditions may change. Nearly all
// changes of a pod leave its claims in use, so the claims that are in use are not synced again.
func (u *claimUsage) affectedBy(pod *corev1.Pod) []objectName {
	return slices.DeleteFunc(claimsOfPod(pod), func(key objectName) bool {
		t := registry.Target{Resource: u.claims, Version: &u.claims.Versions[0], Namespace: key.namespace, Name: key.name}
		item, err := u.Registry.Get(context.Background(), t, storage.Read{Match: storage.Any})
		if err != nil {
			return true // the claim is synced when it is created
		}
		obj, err := item.Object()
		if err != nil {
			return true
		}
		claim := obj.(*corev1.PersistentVolumeClaim)
		i := unusedCondition(claim)
		return i >= 0 && claim.Status.Conditions[i].Status == corev1.ConditionFalse
	})
}
