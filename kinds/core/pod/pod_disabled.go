package pod

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// dropDisabledPodFields removes what the table of package gated cannot express: list elements,
// structs and values of disabled features, unless the stored pod uses the feature. old is the stored spec, or
// nil.
func dropDisabledPodFields(gates features.Gates, s, old *corev1.PodSpec) {
	if old == nil {
		old = &corev1.PodSpec{}
	}
	if !gates.Enabled(features.ImageVolume) && !slices.ContainsFunc(old.Volumes, isImageVolume) {
		dropImageVolumes(s)
	}
	if !gates.Enabled(features.ContainerRestartRules) && !hasRestartRules(old) {
		dropRestartRules(s)
	}
	if !gates.Enabled(features.PodLevelResources) && !hasPodResources(old.Resources) {
		s.Resources = nil
	}
	if !gates.Enabled(features.ProcMountType) && !anyContainerOf(old, hasOtherProcMount) {
		eachContainerOf(s, func(ctr *corev1.Container) {
			if hasOtherProcMount(ctr) {
				ctr.SecurityContext.ProcMount = new(corev1.DefaultProcMount)
			}
		})
	}
}

func isImageVolume(v corev1.Volume) bool { return v.Image != nil }

// dropImageVolumes removes the volumes that are images, and their mounts.
func dropImageVolumes(s *corev1.PodSpec) {
	var names validation.Unique[string]
	for _, v := range s.Volumes {
		if isImageVolume(v) {
			names.Insert(v.Name)
		}
	}
	if names.IsEmpty() {
		return
	}
	s.Volumes = without(s.Volumes, isImageVolume)
	eachContainerOf(s, func(ctr *corev1.Container) {
		ctr.VolumeMounts = without(ctr.VolumeMounts, func(m corev1.VolumeMount) bool { return names.Has(m.Name) })
	})
}

// without returns a copy of a list without some elements. The list may be that of a stored object.
func without[E any](list []E, isRemoved func(E) bool) (kept []E) {
	for _, e := range list {
		if !isRemoved(e) {
			kept = append(kept, e)
		}
	}
	return kept
}

// isSidecar reports whether an init container runs beside the others, which needs no feature.
func isSidecar(ctr *corev1.Container) bool {
	return ctr.RestartPolicy != nil && *ctr.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// hasRestartRules reports whether containers have restart policies or rules of their own. As in
// kube-apiserver, ephemeral containers and the rules of containers without a policy do not count.
func hasRestartRules(s *corev1.PodSpec) bool {
	return slices.ContainsFunc(s.Containers, func(ctr corev1.Container) bool { return ctr.RestartPolicy != nil }) ||
		slices.ContainsFunc(s.InitContainers, func(ctr corev1.Container) bool {
			return ctr.RestartPolicy != nil && !isSidecar(&ctr) || len(ctr.RestartPolicyRules) > 0
		})
}

func dropRestartRules(s *corev1.PodSpec) {
	isInit := true
	drop := func(ctr *corev1.Container) {
		if !isInit || !isSidecar(ctr) {
			ctr.RestartPolicy = nil
		}
		ctr.RestartPolicyRules = nil
	}
	for i := range s.InitContainers {
		drop(&s.InitContainers[i])
	}
	isInit = false
	for i := range s.Containers {
		drop(&s.Containers[i])
	}
	for i := range s.EphemeralContainers {
		drop((*corev1.Container)(&s.EphemeralContainers[i].EphemeralContainerCommon))
	}
}

func hasOtherProcMount(ctr *corev1.Container) bool {
	c := ctr.SecurityContext
	return c != nil && c.ProcMount != nil && *c.ProcMount != corev1.DefaultProcMount
}

// eachContainerOf calls visit for every container; visit may change it.
func eachContainerOf(s *corev1.PodSpec, visit func(ctr *corev1.Container)) {
	for _, list := range [][]corev1.Container{s.InitContainers, s.Containers} {
		for i := range list {
			visit(&list[i])
		}
	}
	for i := range s.EphemeralContainers {
		visit((*corev1.Container)(&s.EphemeralContainers[i].EphemeralContainerCommon))
	}
}

// anyContainerOf reports whether a container has a property.
func anyContainerOf(s *corev1.PodSpec, has func(ctr *corev1.Container) bool) bool {
	found := false
	eachContainerOf(s, func(ctr *corev1.Container) { found = found || has(ctr) })
	return found
}

// WithPodTemplate returns k with a DropDisabledFields for its pod template, and with the defaults that
// depend on gates.
func WithPodTemplate[T api.Object](gates features.Gates, template func(T) *corev1.PodTemplateSpec, k api.Kind[T]) api.Kind[T] {
	if setDefaults := k.Default; gates.Enabled(features.ImageVolume) {
		k.Default = func(obj T) {
			setDefaults(obj)
			if t := template(obj); t != nil {
				defaultImageVolumes(t.Spec.Volumes)
			}
		}
	}
	k.DropDisabledFields = func(gates features.Gates, obj, old T) {
		t, previous := template(obj), &corev1.PodTemplateSpec{}
		if t == nil {
			return
		}
		if !api.IsNew(old) {
			if stored := template(old); stored != nil {
				previous = stored
			}
		}
		dropDisabledPodFields(gates, &t.Spec, &previous.Spec)
	}
	return k
}
