package core

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api/validation"
)

// taintsAnnotation is the annotation in which taints were before they were fields.
const taintsAnnotation = "scheduler.alpha.kubernetes.io/taints"

// nodeAnnotationRules validates the annotations of a node that have JSON: its taints and the pods
// that it should not have. at is the metadata. The odd paths are those of kube-apiserver's errors.
func nodeAnnotationRules(at *validation.Path, annotations map[string]string) {
	at = at.Child("annotations")
	if text := annotations[taintsAnnotation]; text != "" {
		var taints []corev1.Taint
		if err := json.Unmarshal([]byte(text), &taints); err != nil {
			at.Invalid(taintsAnnotation, err.Error())
		} else {
			taintRules(at.Child(taintsAnnotation), taints)
		}
	}
	text := annotations[corev1.PreferAvoidPodsAnnotationKey]
	if text == "" {
		return
	}
	var avoided corev1.AvoidPods
	if err := json.Unmarshal([]byte(text), &avoided); err != nil {
		at.Child("AvoidPods").Invalid(corev1.PreferAvoidPodsAnnotationKey, err.Error())
		return
	}
	for i := range avoided.PreferAvoidPods {
		signature := at.Child(corev1.PreferAvoidPodsAnnotationKey).Index(i).Child("PodSignature")
		avoidedControllerRules(signature, avoided.PreferAvoidPods[i].PodSignature.PodController)
	}
}

// avoidedControllerRules validates the controller of pods that a node should not have.
func avoidedControllerRules(at *validation.Path, owner *metav1.OwnerReference) {
	switch {
	case owner == nil:
		at.Required("")
	case owner.Controller == nil || !*owner.Controller: // kube-apiserver panics if it is missing
		at.Child("PodController").Child("Controller").Invalid(false, "must point to a controller")
	}
}
