package pod

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// dropDisabledPodFields removes the fields of disabled features from s, unless the stored pod
// uses the feature. old is the stored spec, or nil.
func dropDisabledPodFields(gates features.Gates, s, old *corev1.PodSpec) {
	if old == nil {
		old = &corev1.PodSpec{}
	}
	if !gates.Enabled(features.GenericWorkload) && old.SchedulingGroup == nil {
		s.SchedulingGroup = nil
	}
	dropProjections(gates, s, old)
	if !hasStopSignal(old) {
		eachContainerOf(s, dropStopSignal)
	}
}

// dropProjections removes trust bundles and pod certificates from projected
// volumes.
func dropProjections(gates features.Gates, s, old *corev1.PodSpec) {
	bundles, certificates := gates.Enabled(features.ClusterTrustBundleProjection), gates.Enabled(features.PodCertificateRequest)
	eachProjection(old, func(p *corev1.VolumeProjection) {
		bundles = bundles || p.ClusterTrustBundle != nil
		certificates = certificates || p.PodCertificate != nil
	})
	eachProjection(s, func(p *corev1.VolumeProjection) {
		if !bundles {
			p.ClusterTrustBundle = nil
		}
		if !certificates {
			p.PodCertificate = nil
		}
	})
}

func eachProjection(s *corev1.PodSpec, visit func(p *corev1.VolumeProjection)) {
	for i := range s.Volumes {
		if p := s.Volumes[i].Projected; p != nil {
			for j := range p.Sources {
				visit(&p.Sources[j])
			}
		}
	}
}

func dropStopSignal(ctr *corev1.Container) {
	if l := ctr.Lifecycle; l != nil && l.StopSignal != nil {
		l.StopSignal = nil
		if *l == (corev1.Lifecycle{}) {
			ctr.Lifecycle = nil
		}
	}
}

func hasStopSignal(s *corev1.PodSpec) bool {
	found := false
	eachContainerOf(s, func(ctr *corev1.Container) {
		found = found || ctr.Lifecycle != nil && ctr.Lifecycle.StopSignal != nil
	})
	return found
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

// dropDisabledPodStatus removes the fields of disabled features from a status, unless the
// stored status has them.
func dropDisabledPodStatus(s, old *corev1.PodStatus) {
	if len(old.NodeAllocatableResourceClaimStatuses) == 0 {
		s.NodeAllocatableResourceClaimStatuses = nil
	}
	digests := false
	eachMountStatus(old, func(m *corev1.VolumeMountStatus) { digests = digests || m.VolumeStatus != nil })
	if !digests {
		eachMountStatus(s, func(m *corev1.VolumeMountStatus) { m.VolumeStatus = nil })
	}
}

func eachMountStatus(s *corev1.PodStatus, visit func(m *corev1.VolumeMountStatus)) {
	for _, list := range [][]corev1.ContainerStatus{s.ContainerStatuses, s.InitContainerStatuses, s.EphemeralContainerStatuses} {
		for i := range list {
			for j := range list[i].VolumeMounts {
				visit(&list[i].VolumeMounts[j])
			}
		}
	}
}

// WithPodTemplate returns k with a DropDisabledFields for its pod template.
func WithPodTemplate[T api.Object](template func(T) *corev1.PodTemplateSpec, k api.Kind[T]) api.Kind[T] {
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
