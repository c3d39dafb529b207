package noderestriction

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/admission"
	podkind "github.com/miniapiserver/miniapiserver/kinds/core/pod"
	"github.com/miniapiserver/miniapiserver/registry"
)

// mirror checks a mirror pod: it must belong to the node, and must not refer to an API object,
// since that would give the node access to the object.
func (n nodeRestrictionPlugin) mirror(ctx context.Context, a *registry.Attributes, node string) error {
	pod := a.Object.(*corev1.Pod)
	switch {
	case !podkind.IsMirrorPod(pod):
		return admission.Forbiddenf(a, "pod does not have %q annotation, node %q can only create mirror pods",
			corev1.MirrorPodAnnotationKey, node)
	case pod.Spec.NodeName != node:
		return admission.Forbiddenf(a, "node %q can only create pods with spec.nodeName set to itself", node)
	}
	if err := n.owned(ctx, a, pod, node); err != nil {
		return err
	}
	reference, err := apiReference(&pod.Spec)
	switch {
	case err != nil:
		return admission.Forbidden(a, err)
	case reference != "":
		return admission.Forbiddenf(a, "node %q can not create pods that reference %s", node, reference)
	}
	return nil
}

func (n nodeRestrictionPlugin) owned(ctx context.Context, a *registry.Attributes, pod *corev1.Pod, node string) error {
	switch len(pod.OwnerReferences) {
	case 0:
		return admission.Forbiddenf(a, "node %q can only create pods with an owner reference set to itself", node)
	case 1:
	default:
		return admission.Forbiddenf(a, "node %q can only create pods with a single owner reference set to itself", node)
	}
	owner := pod.OwnerReferences[0]
	switch {
	case owner.APIVersion != "v1" || owner.Kind != "Node" || owner.Name != node:
		return admission.Forbiddenf(a, "node %q can only create pods with an owner reference set to itself", node)
	case owner.Controller == nil || !*owner.Controller:
		return admission.Forbiddenf(a, "node %q can only create pods with a controller owner reference set to itself", node)
	case owner.BlockOwnerDeletion != nil && *owner.BlockOwnerDeletion:
		return admission.Forbiddenf(a, "node %q must not set blockOwnerDeletion on an owner reference", node)
	}
	is, err := n.nodes.GetSingular(ctx, "", node)
	if err != nil {
		return err
	}
	if owner.UID != is.UID {
		return admission.Forbiddenf(a, "node %s UID mismatch: expected %s got %s", node, owner.UID, is.UID)
	}
	return nil
}

// apiReference returns the resource of an API object that a pod refers to, in the wording of
// kube-apiserver. It returns an error for an unknown type of volume, which may refer to any object.
func apiReference(spec *corev1.PodSpec) (string, error) {
	switch {
	case spec.ServiceAccountName != "":
		return "serviceaccounts", nil
	case len(podkind.SecretsOf(spec)) > 0:
		return "secrets", nil
	case refersToConfigMap(spec):
		return "configmaps", nil
	case len(spec.ResourceClaims) > 0:
		return "resourceclaims", nil
	}
	for i := range spec.Volumes {
		if reference, err := volumeReference(&spec.Volumes[i]); reference != "" || err != nil {
			return reference, err
		}
	}
	return "", nil
}

func volumeReference(v *corev1.Volume) (string, error) {
	switch s := v.VolumeSource; {
	case s.ConfigMap != nil:
		return "configmaps (via configmap volumes)", nil
	case s.Secret != nil:
		return "secrets (via secret volumes)", nil
	case s.CSI != nil:
		return "csidrivers (via CSI volumes)", nil
	case s.Glusterfs != nil:
		return "endpoints (via glusterFS volumes)", nil
	case s.PersistentVolumeClaim != nil:
		return "persistentvolumeclaims", nil
	case s.Ephemeral != nil:
		return "persistentvolumeclaims (via ephemeral volumes)", nil
	case s.AzureFile != nil:
		return "secrets (via azureFile volumes)", nil
	case s.Projected != nil:
		return projectionReference(v)
	case s == corev1.VolumeSource{}:
		return "", fmt.Errorf("unknown volume type for volume  %q", v.Name)
	}
	return "", nil
}

func projectionReference(v *corev1.Volume) (string, error) {
	for _, s := range v.Projected.Sources {
		switch {
		case s.ConfigMap != nil:
			return "configmaps (via projected volumes)", nil
		case s.Secret != nil:
			return "secrets (via projected volumes)", nil
		case s.ServiceAccountToken != nil:
			return "serviceaccounts (via projected volumes)", nil
		case s.ClusterTrustBundle != nil:
			return "clustertrustbundles", nil
		case s.PodCertificate != nil:
			return "podcertificates", nil
		case s.DownwardAPI == nil:
			return "", fmt.Errorf("unknown source for projected volume %q", v.Name)
		}
	}
	return "", nil
}

// refersToConfigMap reports whether a container or a volume refers to a ConfigMap.
func refersToConfigMap(spec *corev1.PodSpec) bool {
	inEnv := func(env []corev1.EnvVar, from []corev1.EnvFromSource) bool {
		return slices.ContainsFunc(env, func(e corev1.EnvVar) bool {
			return e.ValueFrom != nil && e.ValueFrom.ConfigMapKeyRef != nil && e.ValueFrom.ConfigMapKeyRef.Name != ""
		}) || slices.ContainsFunc(from, func(f corev1.EnvFromSource) bool { return f.ConfigMapRef != nil && f.ConfigMapRef.Name != "" })
	}
	inContainer := func(c corev1.Container) bool { return inEnv(c.Env, c.EnvFrom) }
	inProjection := func(s corev1.VolumeProjection) bool { return s.ConfigMap != nil && s.ConfigMap.Name != "" }
	return slices.ContainsFunc(spec.Containers, inContainer) || slices.ContainsFunc(spec.InitContainers, inContainer) ||
		slices.ContainsFunc(spec.EphemeralContainers, func(c corev1.EphemeralContainer) bool { return inEnv(c.Env, c.EnvFrom) }) ||
		slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool {
			return v.ConfigMap != nil && v.ConfigMap.Name != "" || v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, inProjection)
		})
}
