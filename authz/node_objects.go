package authz

import (
	"context"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/kinds/core"
	podkind "github.com/miniapiserver/miniapiserver/kinds/core/pod"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// nodeObjects finds the relations between nodes and objects in the caches.
type nodeObjects struct{ reg *registry.Registry }

// relates reports whether an object belongs to a node or a pod of the node refers to it; kind is
// "GROUP/RESOURCE".
func (o nodeObjects) relates(ctx context.Context, node, kind, namespace, name string) bool {
	switch kind {
	case "storage.k8s.io/volumeattachments":
		a, ok := o.get(ctx, storagev1.Resource("volumeattachments"), "", name).(*storagev1.VolumeAttachment)
		return ok && a.Spec.NodeName == node
	case "resource.k8s.io/resourceslices":
		s, ok := o.get(ctx, resourcev1.Resource("resourceslices"), "", name).(*resourcev1.ResourceSlice)
		return ok && s.Spec.NodeName != nil && *s.Spec.NodeName == node
	case "certificates.k8s.io/podcertificaterequests":
		c, ok := o.get(ctx, certificatesv1beta1.Resource("podcertificaterequests"), namespace, name).(*certificatesv1beta1.PodCertificateRequest)
		return ok && string(c.Spec.NodeName) == node
	case "/persistentvolumes":
		pv, ok := o.get(ctx, corev1.Resource("persistentvolumes"), "", name).(*corev1.PersistentVolume)
		return ok && pv.Spec.ClaimRef != nil && o.podsRefer(ctx, node, "/persistentvolumeclaims",
			pv.Spec.ClaimRef.Namespace, pv.Spec.ClaimRef.Name)
	case "/pods":
		pod, ok := o.get(ctx, corev1.Resource("pods"), namespace, name).(*corev1.Pod)
		return ok && pod.Spec.NodeName == node
	}
	return o.podsRefer(ctx, node, kind, namespace, name)
}

func (o nodeObjects) get(ctx context.Context, gr schema.GroupResource, namespace, name string) api.Object {
	res, err := o.reg.FindResource(gr)
	if err != nil {
		return nil
	}
	item, err := o.reg.Get(ctx, registry.Target{Resource: res, Version: &res.Versions[0], Namespace: namespace,
		Name: name}, storage.Read{Match: storage.Any})
	if err != nil {
		return nil
	}
	obj, err := item.Object()
	if err != nil {
		return nil
	}
	return obj
}

// podsRefer reports whether a pod on the node refers to an object, directly or by a mounted volume.
func (o nodeObjects) podsRefer(ctx context.Context, node, kind, namespace, name string) bool {
	found := false
	o.pods(ctx, node, namespace, kind, func(pod *corev1.Pod) bool {
		refer := podReferences{pod: pod, found: func(k, n string) bool { return k == kind && n == name && pod.Namespace == namespace }}
		if refer.any() {
			found = true
		} else if kind == "/secrets" {
			found = o.volumesRefer(ctx, pod, namespace, name)
		}
		return !found
	})
	return found
}

// pods calls f with the pods of a node that can grant access to an object, until f returns false.
// Mirror pods grant no access, because the node creates them itself.
func (o nodeObjects) pods(ctx context.Context, node, namespace, kind string, f func(*corev1.Pod) bool) {
	res, err := o.reg.FindResource(corev1.Resource("pods"))
	if err != nil {
		return
	}
	t := registry.Target{Resource: res, Version: &res.Versions[0]}
	if kind != "/secrets" { // volumes may refer to secrets in other namespaces
		t.Namespace = namespace
	}
	list, err := o.reg.List(ctx, t, registry.ListOptions{
		Selection: registry.Selection{Fields: fields.OneTermEqualSelector("spec.nodeName", node)},
		Read:      storage.Read{Match: storage.Any},
	})
	if err != nil {
		return
	}
	for _, item := range list.Items {
		obj, err := item.Object()
		if err != nil {
			continue
		}
		pod := obj.(*corev1.Pod)
		if !podkind.IsMirrorPod(pod) && !f(pod) {
			return
		}
	}
}

// volumesRefer reports whether a volume bound to a claim of the pod needs a secret. The claim
// reference of the volume decides which claim it is bound to, not the claim's volume name.
func (o nodeObjects) volumesRefer(ctx context.Context, pod *corev1.Pod, namespace, name string) bool {
	res, err := o.reg.FindResource(corev1.Resource("persistentvolumes"))
	if err != nil {
		return false
	}
	t := registry.Target{Resource: res, Version: &res.Versions[0]}
	found := false
	claims := podReferences{pod: pod, found: func(kind, claim string) bool {
		if kind != "/persistentvolumeclaims" {
			return false
		}
		list, err := o.reg.List(ctx, t, registry.ListOptions{
			Selection: registry.Selection{Fields: fields.OneTermEqualSelector(core.ClaimRefField, pod.Namespace+"/"+claim)},
			Read:      storage.Read{Match: storage.Any},
		})
		if err != nil {
			return false
		}
		for _, item := range list.Items {
			if obj, err := item.Object(); err == nil {
				volumeSecrets(obj.(*corev1.PersistentVolume), func(ns, secret string) { found = found || ns == namespace && secret == name })
			}
		}
		return found
	}}
	claims.any()
	return found
}

// podReferences visits the objects in the pod's namespace to which the pod refers.
type podReferences struct {
	pod *corev1.Pod
	// found is called with each reference, as "GROUP/RESOURCE" and name, until it returns true.
	found func(kind, name string) bool
}

// any reports whether found returned true.
func (r *podReferences) any() bool {
	s := &r.pod.Spec
	if s.ServiceAccountName != "" && r.found("/serviceaccounts", s.ServiceAccountName) {
		return true
	}
	for _, ref := range s.ImagePullSecrets {
		if r.found("/secrets", ref.Name) {
			return true
		}
	}
	for i := range s.InitContainers {
		if r.container(s.InitContainers[i].EnvFrom, s.InitContainers[i].Env) {
			return true
		}
	}
	for i := range s.Containers {
		if r.container(s.Containers[i].EnvFrom, s.Containers[i].Env) {
			return true
		}
	}
	for i := range s.EphemeralContainers {
		if r.container(s.EphemeralContainers[i].EnvFrom, s.EphemeralContainers[i].Env) {
			return true
		}
	}
	for i := range s.Volumes {
		if r.volume(&s.Volumes[i]) {
			return true
		}
	}
	return r.claims()
}

func (r *podReferences) container(from []corev1.EnvFromSource, env []corev1.EnvVar) bool {
	for _, e := range from {
		if e.SecretRef != nil && r.found("/secrets", e.SecretRef.Name) || e.ConfigMapRef != nil && r.found("/configmaps", e.ConfigMapRef.Name) {
			return true
		}
	}
	for _, e := range env {
		v := e.ValueFrom
		if v == nil {
			continue
		}
		if v.SecretKeyRef != nil && r.found("/secrets", v.SecretKeyRef.Name) ||
			v.ConfigMapKeyRef != nil && r.found("/configmaps", v.ConfigMapKeyRef.Name) {
			return true
		}
	}
	return false
}

func (r *podReferences) volume(v *corev1.Volume) bool {
	local := func(ref *corev1.LocalObjectReference) bool { return ref != nil && r.found("/secrets", ref.Name) }
	switch {
	case v.Secret != nil:
		return r.found("/secrets", v.Secret.SecretName)
	case v.ConfigMap != nil:
		return r.found("/configmaps", v.ConfigMap.Name)
	case v.PersistentVolumeClaim != nil:
		return r.found("/persistentvolumeclaims", v.PersistentVolumeClaim.ClaimName)
	case v.Ephemeral != nil:
		return r.found("/persistentvolumeclaims", r.pod.Name+"-"+v.Name)
	case v.Projected != nil:
		for _, p := range v.Projected.Sources {
			if p.Secret != nil && r.found("/secrets", p.Secret.Name) || p.ConfigMap != nil && r.found("/configmaps", p.ConfigMap.Name) {
				return true
			}
		}
	case v.AzureFile != nil:
		return r.found("/secrets", v.AzureFile.SecretName)
	case v.CephFS != nil:
		return local(v.CephFS.SecretRef)
	case v.Cinder != nil:
		return local(v.Cinder.SecretRef)
	case v.FlexVolume != nil:
		return local(v.FlexVolume.SecretRef)
	case v.RBD != nil:
		return local(v.RBD.SecretRef)
	case v.ScaleIO != nil:
		return local(v.ScaleIO.SecretRef)
	case v.ISCSI != nil:
		return local(v.ISCSI.SecretRef)
	case v.StorageOS != nil:
		return local(v.StorageOS.SecretRef)
	case v.CSI != nil:
		return local(v.CSI.NodePublishSecretRef)
	}
	return false
}

// claims visits the resource claims that the pod names, the ones generated from its templates, and
// the one for its extended resources.
func (r *podReferences) claims() bool {
	const kind = "resource.k8s.io/resourceclaims"
	for i := range r.pod.Spec.ResourceClaims {
		if name := r.claimName(&r.pod.Spec.ResourceClaims[i]); name != nil && r.found(kind, *name) {
			return true
		}
	}
	extended := r.pod.Status.ExtendedResourceClaimStatus
	return extended != nil && extended.ResourceClaimName != "" && r.found(kind, extended.ResourceClaimName)
}

// claimName returns the name of a claim of the pod, or nil if there is none yet. The pod's status
// matters only for claims that are generated from templates.
func (r *podReferences) claimName(c *corev1.PodResourceClaim) *string {
	if c.ResourceClaimName != nil || c.ResourceClaimTemplateName == nil {
		return c.ResourceClaimName
	}
	for _, s := range r.pod.Status.ResourceClaimStatuses {
		if s.Name == c.Name {
			return s.ResourceClaimName
		}
	}
	return nil
}

// volumeSecrets calls visit with the secrets that a node needs to mount a volume. The namespace
// defaults to the one of the claim.
func volumeSecrets(pv *corev1.PersistentVolume, visit func(namespace, name string)) {
	ref := func(s *corev1.SecretReference) {
		switch {
		case s == nil:
		case s.Namespace == "":
			visit(pv.Spec.ClaimRef.Namespace, s.Name)
		default:
			visit(s.Namespace, s.Name)
		}
	}
	switch s := &pv.Spec.PersistentVolumeSource; {
	case s.AzureFile != nil:
		namespace := pv.Spec.ClaimRef.Namespace
		if s.AzureFile.SecretNamespace != nil && *s.AzureFile.SecretNamespace != "" {
			namespace = *s.AzureFile.SecretNamespace
		}
		visit(namespace, s.AzureFile.SecretName)
	case s.CephFS != nil:
		ref(s.CephFS.SecretRef)
	case s.Cinder != nil:
		ref(s.Cinder.SecretRef)
	case s.FlexVolume != nil:
		ref(s.FlexVolume.SecretRef)
	case s.RBD != nil:
		ref(s.RBD.SecretRef)
	case s.ScaleIO != nil:
		ref(s.ScaleIO.SecretRef)
	case s.ISCSI != nil:
		ref(s.ISCSI.SecretRef)
	case s.StorageOS != nil:
		if r := s.StorageOS.SecretRef; r != nil {
			visit(r.Namespace, r.Name)
		}
	case s.CSI != nil:
		// A node has no access to the controller's secrets.
		ref(s.CSI.NodePublishSecretRef)
		ref(s.CSI.NodeStageSecretRef)
		ref(s.CSI.NodeExpandSecretRef)
	}
}
