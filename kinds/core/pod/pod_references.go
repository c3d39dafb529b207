package pod

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

// IsMirrorPod reports whether a pod is the image of a static pod, which a kubelet creates.
func IsMirrorPod(pod *corev1.Pod) bool {
	_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return mirror
}

// PodTemplateOf returns the pod template of a workload, or nil if obj has none.
func PodTemplateOf(obj api.Object) *corev1.PodTemplateSpec {
	switch o := obj.(type) {
	case *corev1.PodTemplate:
		return &o.Template
	case *corev1.ReplicationController:
		return o.Spec.Template
	case *appsv1.ReplicaSet:
		return &o.Spec.Template
	case *appsv1.Deployment:
		return &o.Spec.Template
	case *appsv1.DaemonSet:
		return &o.Spec.Template
	case *appsv1.StatefulSet:
		return &o.Spec.Template
	case *batchv1.Job:
		return &o.Spec.Template
	case *batchv1.CronJob:
		return &o.Spec.JobTemplate.Spec.Template
	}
	return nil
}

// HasNewImages reports whether a pod is created or an update changes its images.
func HasNewImages(pod *corev1.Pod, old api.Object) bool {
	was, ok := old.(*corev1.Pod)
	return !ok || changesImages(pod, was)
}

// changesImages reports whether an update changes the images of a pod.
func changesImages(pod, old *corev1.Pod) bool {
	sameImage := func(a, b corev1.Container) bool { return a.Image == b.Image }
	if !slices.EqualFunc(pod.Spec.Containers, old.Spec.Containers, sameImage) ||
		!slices.EqualFunc(pod.Spec.InitContainers, old.Spec.InitContainers, sameImage) {
		return true
	}
	was := validation.IndexOf(old.Spec.EphemeralContainers, func(c *corev1.EphemeralContainer) [2]string { return [2]string{c.Name, c.Image} })
	return slices.ContainsFunc(pod.Spec.EphemeralContainers, func(c corev1.EphemeralContainer) bool {
		return !was.Has([2]string{c.Name, c.Image})
	})
}

// SecretsOf returns the names of all secrets that a pod refers to.
func SecretsOf(spec *corev1.PodSpec) (names []string) {
	add := func(name string) {
		if name != "" {
			names = append(names, name)
		}
	}
	addRef := func(r *corev1.LocalObjectReference) {
		if r != nil {
			add(r.Name)
		}
	}
	for i := range spec.ImagePullSecrets {
		addRef(&spec.ImagePullSecrets[i])
	}
	environment := func(env []corev1.EnvVar, from []corev1.EnvFromSource) {
		for _, e := range env {
			if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
				add(e.ValueFrom.SecretKeyRef.Name)
			}
		}
		for _, f := range from {
			if f.SecretRef != nil {
				add(f.SecretRef.Name)
			}
		}
	}
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for _, c := range list {
			environment(c.Env, c.EnvFrom)
		}
	}
	for _, c := range spec.EphemeralContainers {
		environment(c.Env, c.EnvFrom)
	}
	for i := range spec.Volumes {
		switch v := &spec.Volumes[i].VolumeSource; {
		case v.Secret != nil:
			add(v.Secret.SecretName)
		case v.AzureFile != nil:
			add(v.AzureFile.SecretName)
		case v.CephFS != nil:
			addRef(v.CephFS.SecretRef)
		case v.Cinder != nil:
			addRef(v.Cinder.SecretRef)
		case v.FlexVolume != nil:
			addRef(v.FlexVolume.SecretRef)
		case v.RBD != nil:
			addRef(v.RBD.SecretRef)
		case v.ScaleIO != nil:
			addRef(v.ScaleIO.SecretRef)
		case v.ISCSI != nil:
			addRef(v.ISCSI.SecretRef)
		case v.StorageOS != nil:
			addRef(v.StorageOS.SecretRef)
		case v.CSI != nil:
			addRef(v.CSI.NodePublishSecretRef)
		case v.Projected != nil:
			for _, s := range v.Projected.Sources {
				if s.Secret != nil {
					add(s.Secret.Name)
				}
			}
		}
	}
	return names
}
