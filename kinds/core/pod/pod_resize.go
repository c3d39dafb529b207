package pod

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// validateResize validates an update through the subresource resize, which may change the CPU
// and memory of a running pod.
func validateResize(level podLevel) api.Check[*corev1.Pod] {
	return func(w *api.Write[*corev1.Pod]) {
		pod, old := w.Object, w.Old
		// These pods cannot be resized; other errors don't matter.
		switch _, mirror := old.Annotations[mirrorAnnotation]; {
		case mirror:
			w.Add(field.Forbidden(field.NewPath(""), "static pods cannot be resized"))
			return
		case old.Spec.OS != nil && old.Spec.OS.Name == corev1.Windows:
			w.Add(field.Forbidden(field.NewPath(""), "windows pods cannot be resized"))
			return
		}
		w.Add(validation.CheckWith(w.Gates(), func(at *validation.Path) {
			podRules(at, pod, old)
			resizeRules(at.Child("spec"), pod, old, level)
		})...)
	}
}

func resizeRules(at *validation.Path, pod, old *corev1.Pod, level podLevel) {
	class := old.Status.QOSClass
	if class == "" {
		class = level.class(&old.Spec)
	}
	if level.class(&pod.Spec) != class {
		at.Invalid(pod.Status.QOSClass, "Pod QOS Class may not change as a result of resizing")
	}
	if !isResizable(old) {
		at.Forbidden("Pod running on node without support for resize")
	}
	rest := pod.Spec.DeepCopy()
	if hasPodResources(pod.Spec.Resources) || hasPodResources(old.Spec.Resources) {
		if !at.Enabled(features.InPlacePodLevelResourcesVerticalScaling) {
			at.Add(field.Forbidden(field.NewPath(""), "resize of pods with pod-level resources is forbidden when InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled"))
			return
		}
		podResize(at, rest, &old.Spec)
	}
	named := containersStay(at.Child("containers"), pod.Spec.Containers, old.Spec.Containers)
	if !containersStay(at.Child("initContainers"), pod.Spec.InitContainers, old.Spec.InitContainers) || !named {
		return
	}
	for i := range old.Spec.InitContainers {
		if isResizableInit(at, &old.Spec.InitContainers[i]) {
			containerResize(at.Child("initContainers").Index(i).Child("resources"), &pod.Spec.InitContainers[i], &old.Spec.InitContainers[i])
		}
	}
	for i := range old.Spec.Containers {
		containerResize(at.Child("containers").Index(i).Child("resources"), &pod.Spec.Containers[i], &old.Spec.Containers[i])
	}
	onlyCompute(at, rest, &old.Spec)
}

// containersStay validates that the names and the order of containers are unchanged.
func containersStay(at *validation.Path, list, old []corev1.Container) bool {
	if len(list) != len(old) {
		at.Forbidden(at.Name + " may not be added or removed on resize")
		return false
	}
	same := true
	for i := range old {
		if list[i].Name != old[i].Name {
			at.Index(i).Child("name").Forbidden(at.Name + " may not be renamed or reordered on resize")
			same = false
		}
	}
	return same
}

// onlyCompute refuses changes of rest other than CPU and memory of containers.
func onlyCompute(at *validation.Path, rest, stored *corev1.PodSpec) {
	const only = "only cpu and memory resources are mutable"
	for i := range rest.Containers {
		putBackCompute(&rest.Containers[i], &stored.Containers[i])
		if !equality.Semantic.DeepEqual(rest.Containers[i], stored.Containers[i]) {
			at.Forbidden(only)
		}
	}
	for i := range rest.InitContainers {
		ctr, old := &rest.InitContainers[i], &stored.InitContainers[i]
		changed := !equality.Semantic.DeepEqual(ctr, old)
		if !isResizableInit(at, ctr) {
			if changed {
				at.Forbidden("resources for non-sidecar init containers are immutable")
			}
			continue
		}
		putBackCompute(ctr, old)
		if !equality.Semantic.DeepEqual(ctr, old) {
			at.Child("initContainers").Index(i).Forbidden("only cpu and memory resources for init or sidecar containers are mutable")
		}
		if changed && !IsSidecar(ctr) && restartsOnResize(ctr) {
			at.Child("initContainers").Index(i).Forbidden("non-sidecar init containers with a resize policy of RestartContainer cannot be resized")
		}
	}
	if at.Enabled(features.InPlacePodVerticalScalingMemoryBackedVolumes) {
		volumesResize(at.Child("volumes"), rest.Volumes, stored.Volumes)
		rest.Volumes = stored.Volumes
	}
	if at.IsValid() && !equality.Semantic.DeepEqual(*rest, *stored) {
		at.Forbidden(only)
	}
}

// isResizableInit reports whether an init container can be resized.
func isResizableInit(at *validation.Path, ctr *corev1.Container) bool {
	return IsSidecar(ctr) || at.Enabled(features.InPlacePodVerticalScalingInitContainers)
}

// volumesResize validates that of volumes, only the size limits of those in memory change.
func volumesResize(at *validation.Path, list, old []corev1.Volume) {
	if len(list) != len(old) {
		at.Forbidden("volumes may not be added or removed on resize")
		return
	}
	for i := range list {
		v, stored, at := list[i].DeepCopy(), &old[i], at.Index(i)
		if v.Name != stored.Name {
			at.Child("name").Forbidden("volumes may not be renamed or reordered on resize")
			continue
		}
		var limit, before *resource.Quantity
		if v.EmptyDir != nil && stored.EmptyDir != nil {
			limit, before = v.EmptyDir.SizeLimit, stored.EmptyDir.SizeLimit
			v.EmptyDir.SizeLimit = before
		}
		switch size := at.Child("emptyDir").Child("sizeLimit"); {
		case !equality.Semantic.DeepEqual(v, stored):
			at.Forbidden("only sizeLimit of memory-backed emptyDir volumes is mutable on resize")
		case isLimit(limit) != isLimit(before):
			size.Forbidden("adding or removing sizeLimit on an existing volume is not allowed")
		case limit != nil && before != nil && limit.Cmp(*before) != 0 && v.EmptyDir.Medium != corev1.StorageMediumMemory:
			size.Forbidden("sizeLimit is only mutable for memory-backed emptyDir volumes")
		}
	}
}

func isLimit(q *resource.Quantity) bool { return q != nil && !q.IsZero() }

// hasPodResources reports whether a pod has resources at pod level.
func hasPodResources(r *corev1.ResourceRequirements) bool {
	return r != nil && len(r.Requests)+len(r.Limits) > 0
}

// podResize validates changes of resources at pod level, and undoes the allowed ones in rest.
func podResize(at *validation.Path, rest, stored *corev1.PodSpec) {
	if rest.Resources == nil {
		if stored.Resources != nil {
			at.Child("resources").Forbidden("pod-level resources cannot be removed")
		}
		return
	}
	var old corev1.ResourceRequirements
	if stored.Resources != nil {
		old = *stored.Resources
		if removesResource(rest.Resources.Requests, old.Requests) {
			at.Child("resources").Child("requests").Forbidden("pod-level resource requests cannot be removed")
		}
		if removesResource(rest.Resources.Limits, old.Limits) {
			at.Child("resources").Child("limits").Forbidden("pod-level resource limits cannot be removed")
		}
	}
	rest.Resources.Requests = withoutCompute(rest.Resources.Requests, old.Requests)
	rest.Resources.Limits = withoutCompute(rest.Resources.Limits, old.Limits)
	if stored.Resources == nil && !hasPodResources(rest.Resources) && len(rest.Resources.Claims) == 0 {
		rest.Resources = nil
	}
	if !equality.Semantic.DeepEqual(rest.Resources, stored.Resources) {
		at.Forbidden("only cpu and memory resources are mutable at pod-level")
	}
}

// isResizable reports whether the kubelet supports resizing, which it shows by reporting the
// resources of containers.
func isResizable(pod *corev1.Pod) bool {
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Running != nil {
			return c.Resources != nil
		}
	}
	return true
}

func containerResize(at *validation.Path, ctr, old *corev1.Container) {
	if removesResource(ctr.Resources.Requests, old.Resources.Requests) {
		at.Child("requests").Forbidden("resource requests cannot be removed")
	}
	if removesResource(ctr.Resources.Limits, old.Resources.Limits) {
		at.Child("limits").Forbidden("resource limits cannot be removed")
	}
}

func removesResource(list, old corev1.ResourceList) bool {
	for name := range old {
		if _, ok := list[name]; !ok {
			return true
		}
	}
	return false
}

// putBackCompute undoes the changes that a resize may make.
func putBackCompute(ctr, old *corev1.Container) {
	ctr.Resources = corev1.ResourceRequirements{
		Limits:   withoutCompute(ctr.Resources.Limits, old.Resources.Limits),
		Requests: withoutCompute(ctr.Resources.Requests, old.Resources.Requests),
		Claims:   ctr.Resources.Claims,
	}
}

// withoutCompute returns list with the CPU and memory of old.
func withoutCompute(list, old corev1.ResourceList) corev1.ResourceList {
	if list == nil && old == nil {
		return nil
	}
	out := corev1.ResourceList{}
	for name, q := range list {
		if name != corev1.ResourceCPU && name != corev1.ResourceMemory {
			out[name] = q
		}
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if q, ok := old[name]; ok {
			out[name] = q
		}
	}
	return out
}
