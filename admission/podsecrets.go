package admission

import (
	corev1 "k8s.io/api/core/v1"
)

// secretsOf returns the names of all secrets that a pod refers to.
func secretsOf(spec *corev1.PodSpec) (names []string) {
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
