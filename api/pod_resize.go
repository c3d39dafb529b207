package api

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateResize: what a running pod uses may change within bounds.
func validateResize(obj, old Object) field.ErrorList {
	is, was := obj.(*corev1.Pod), old.(*corev1.Pod)
	// These are refused as a whole, whatever else is wrong.
	switch _, mirror := was.Annotations[mirrorAnnotation]; {
	case mirror:
		return field.ErrorList{field.Forbidden(field.NewPath(""), "static pods cannot be resized")}
	case was.Spec.OS != nil && was.Spec.OS.Name == corev1.Windows:
		return field.ErrorList{field.Forbidden(field.NewPath(""), "windows pods cannot be resized")}
	}
	return check(func(at *place) {
		podRules(at, is, was)
		resizeRules(at.of("spec"), is, was)
	})
}

func resizeRules(at *place, is, was *corev1.Pod) {
	class := was.Status.QOSClass
	if class == "" {
		class = podQOS(&was.Spec)
	}
	if podQOS(&is.Spec) != class {
		at.invalid(is.Status.QOSClass, "Pod QOS Class may not change as a result of resizing")
	}
	if !resizable(was) {
		at.forbidden("Pod running on node without support for resize")
	}
	for i := range was.Spec.InitContainers {
		if sidecar(&was.Spec.InitContainers[i]) {
			containerResize(at.of("initContainers").item(i).of("resources"), &is.Spec.InitContainers[i], &was.Spec.InitContainers[i])
		}
	}
	for i := range was.Spec.Containers {
		containerResize(at.of("containers").item(i).of("resources"), &is.Spec.Containers[i], &was.Spec.Containers[i])
	}
	rest := is.Spec.DeepCopy()
	for i := range rest.Containers {
		putBackCompute(&rest.Containers[i], &was.Spec.Containers[i])
		if !equality.Semantic.DeepEqual(rest.Containers[i], was.Spec.Containers[i]) {
			at.forbidden("only cpu and memory resources are mutable")
		}
	}
	for i := range rest.InitContainers {
		ctr, old := &rest.InitContainers[i], &was.Spec.InitContainers[i]
		message := "resources for non-sidecar init containers are immutable"
		if sidecar(ctr) {
			putBackCompute(ctr, old)
			message = "only cpu and memory resources for sidecar containers are mutable"
		}
		if !equality.Semantic.DeepEqual(ctr, old) {
			at.forbidden(message)
		}
	}
	if at.clean() && !equality.Semantic.DeepEqual(*rest, was.Spec) {
		at.forbidden("only cpu and memory resources are mutable")
	}
}

// resizable: the kubelet shows that it can by telling what containers have.
func resizable(pod *corev1.Pod) bool {
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Running != nil {
			return c.Resources != nil
		}
	}
	return true
}

func containerResize(at *place, is, was *corev1.Container) {
	if removed(is.Resources.Requests, was.Resources.Requests) {
		at.of("requests").forbidden("resource requests cannot be removed")
	}
	if removed(is.Resources.Limits, was.Resources.Limits) {
		at.of("limits").forbidden("resource limits cannot be removed")
	}
}

func removed(is, was corev1.ResourceList) bool {
	for name := range was {
		if _, ok := is[name]; !ok {
			return true
		}
	}
	return false
}

// putBackCompute undoes what a resize may do.
func putBackCompute(ctr, old *corev1.Container) {
	for _, l := range []struct{ list, old *corev1.ResourceList }{
		{&ctr.Resources.Limits, &old.Resources.Limits}, {&ctr.Resources.Requests, &old.Resources.Requests},
	} {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			q, ok := (*l.old)[name]
			switch {
			case !ok:
				delete(*l.list, name)
			case *l.list == nil:
				*l.list = corev1.ResourceList{name: q}
			default:
				(*l.list)[name] = q
			}
		}
		if *l.old == nil && len(*l.list) == 0 {
			*l.list = nil
		}
	}
}
