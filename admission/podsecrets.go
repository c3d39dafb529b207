package admission

import (
	corev1 "k8s.io/api/core/v1"
)

// secretsOf are the names of all secrets that a pod mentions.
func secretsOf(spec *corev1.PodSpec) (names []string) {
	note := func(name string) {
		if name != "" {
			names = append(names, name)
		}
	}
	refer := func(r *corev1.LocalObjectReference) {
		if r != nil {
			note(r.Name)
		}
	}
	for i := range spec.ImagePullSecrets {
		refer(&spec.ImagePullSecrets[i])
	}
	environment := func(env []corev1.EnvVar, from []corev1.EnvFromSource) {
		for _, e := range env {
			if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
				note(e.ValueFrom.SecretKeyRef.Name)
			}
		}
		for _, f := range from {
			if f.SecretRef != nil {
				note(f.SecretRef.Name)
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
			note(v.Secret.SecretName)
		case v.AzureFile != nil:
			note(v.AzureFile.SecretName)
		case v.CephFS != nil:
			refer(v.CephFS.SecretRef)
		case v.Cinder != nil:
			refer(v.Cinder.SecretRef)
		case v.FlexVolume != nil:
			refer(v.FlexVolume.SecretRef)
		case v.RBD != nil:
			refer(v.RBD.SecretRef)
		case v.ScaleIO != nil:
			refer(v.ScaleIO.SecretRef)
		case v.ISCSI != nil:
			refer(v.ISCSI.SecretRef)
		case v.StorageOS != nil:
			refer(v.StorageOS.SecretRef)
		case v.CSI != nil:
			refer(v.CSI.NodePublishSecretRef)
		case v.Projected != nil:
			for _, s := range v.Projected.Sources {
				if s.Secret != nil {
					note(s.Secret.Name)
				}
			}
		}
	}
	return names
}
