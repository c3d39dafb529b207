package admission

import (
	"context"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// nodeRestriction keeps kubelets to what is theirs: their node, the pods on it,
// and what belongs to both.
func nodeRestriction(o *Objects) Plugin {
	n := restriction{nodes: nodesOf(o), pods: read[*corev1.Pod](o, corev1.Resource("pods"))}
	rules := []struct {
		resources []groupResource
		check     func(context.Context, *registry.Attributes, string) error
	}{
		{core("pods"), n.pod},
		{core("pods/status"), n.podStatus},
		{core("pods/eviction"), n.eviction},
		{core("pods/resize", "pods/ephemeralcontainers", "pods/binding"), unexpectedSubresource},
		{core("nodes", "nodes/status"), n.node},
		{core("persistentvolumeclaims/status"), n.claimStatus},
		{core("persistentvolumeclaims"), func(_ context.Context, a *registry.Attributes, _ string) error {
			return forbid(a, "may only update PVC status")
		}},
		{core("serviceaccounts/token"), n.token},
		{[]groupResource{coordinationv1.Resource("leases")}, n.lease},
		{[]groupResource{storagev1.Resource("csinodes")}, n.named("can only access CSINode with the same name as the requesting node")},
		{[]groupResource{resourcev1.Resource("resourceslices")}, n.slice},
	}
	check := map[string]func(context.Context, *registry.Attributes, string) error{}
	var all []groupResource
	for _, r := range rules {
		all = append(all, r.resources...)
		for _, gr := range r.resources {
			check[gr.Resource] = r.check
		}
	}
	return Plugin{
		Handles: on(all, writes()...),
		Mutate: func(ctx context.Context, a *registry.Attributes) error {
			node, is := nodeOf(a.User)
			if !is {
				return nil
			}
			if node == "" {
				return forbid(a, "could not determine node from user %q", a.User.Name)
			}
			name := a.Resource.Name
			if a.Subresource != "" {
				name += "/" + a.Subresource
			}
			return check[name](ctx, a, node)
		},
	}
}

// nodeOf is the node whose kubelet a user is.
func nodeOf(user *request.User) (node string, is bool) {
	node, is = strings.CutPrefix(user.Name, "system:node:")
	return node, is && slices.Contains(user.Groups, "system:nodes")
}

type restriction struct {
	nodes *reader[*corev1.Node]
	pods  *reader[*corev1.Pod]
}

func unexpectedSubresource(_ context.Context, a *registry.Attributes, _ string) error {
	return forbid(a, "unexpected pod subresource %q, only 'status' and 'eviction' are allowed", a.Subresource)
}

func unexpectedOperation(a *registry.Attributes) error {
	return forbid(a, "unexpected operation %q", strings.ToUpper(a.Verb))
}

func (n restriction) pod(ctx context.Context, a *registry.Attributes, node string) error {
	switch a.Verb {
	case api.VerbCreate:
		return n.mirror(ctx, a, node)
	case api.VerbDelete:
		if a.Old.(*corev1.Pod).Spec.NodeName != node {
			return forbid(a, "node %q can only delete pods with spec.nodeName set to itself", node)
		}
		return nil
	}
	return forbid(a, "unexpected operation %q, node %q can only create and delete mirror pods", strings.ToUpper(a.Verb), node)
}

// mirror: a node tells of what it runs by itself, and nothing of that is the
// cluster's.
func (n restriction) mirror(ctx context.Context, a *registry.Attributes, node string) error {
	pod := a.Object.(*corev1.Pod)
	switch {
	case !isMirror(pod):
		return forbid(a, "pod does not have %q annotation, node %q can only create mirror pods", corev1.MirrorPodAnnotationKey, node)
	case pod.Spec.NodeName != node:
		return forbid(a, "node %q can only create pods with spec.nodeName set to itself", node)
	}
	if err := n.owned(ctx, a, pod, node); err != nil {
		return err
	}
	refers := ""
	switch {
	case pod.Spec.ServiceAccountName != "":
		refers = "a service account"
	case len(secretsOf(&pod.Spec)) > 0:
		refers = "secrets"
	case mentionsConfigMaps(&pod.Spec):
		refers = "configmaps"
	case slices.ContainsFunc(pod.Spec.Volumes, projectsBundle):
		refers = "clustertrustbundles"
	case slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil || v.Ephemeral != nil }):
		refers = "persistentvolumeclaims"
	case len(pod.Spec.ResourceClaims) > 0:
		refers = "resourceclaims"
	default:
		return nil
	}
	return forbid(a, "node %q can not create pods that reference %s", node, refers)
}

func (n restriction) owned(ctx context.Context, a *registry.Attributes, pod *corev1.Pod, node string) error {
	switch len(pod.OwnerReferences) {
	case 0:
		return forbid(a, "node %q can only create pods with an owner reference set to itself", node)
	case 1:
	default:
		return forbid(a, "node %q can only create pods with a single owner reference set to itself", node)
	}
	owner := pod.OwnerReferences[0]
	switch {
	case owner.APIVersion != "v1" || owner.Kind != "Node" || owner.Name != node:
		return forbid(a, "node %q can only create pods with an owner reference set to itself", node)
	case owner.Controller == nil || !*owner.Controller:
		return forbid(a, "node %q can only create pods with a controller owner reference set to itself", node)
	case owner.BlockOwnerDeletion != nil && *owner.BlockOwnerDeletion:
		return forbid(a, "node %q must not set blockOwnerDeletion on an owner reference", node)
	}
	is, err := n.nodes.get(ctx, "", node)
	if err != nil {
		return err
	}
	if owner.UID != is.UID {
		return forbid(a, "node %s UID mismatch: expected %s got %s", node, owner.UID, is.UID)
	}
	return nil
}

func projectsBundle(v corev1.Volume) bool {
	return v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(s corev1.VolumeProjection) bool { return s.ClusterTrustBundle != nil })
}

func mentionsConfigMaps(spec *corev1.PodSpec) bool {
	inEnv := func(env []corev1.EnvVar, from []corev1.EnvFromSource) bool {
		return slices.ContainsFunc(env, func(e corev1.EnvVar) bool { return e.ValueFrom != nil && e.ValueFrom.ConfigMapKeyRef != nil }) ||
			slices.ContainsFunc(from, func(f corev1.EnvFromSource) bool { return f.ConfigMapRef != nil })
	}
	inContainer := func(c corev1.Container) bool { return inEnv(c.Env, c.EnvFrom) }
	return slices.ContainsFunc(spec.Containers, inContainer) || slices.ContainsFunc(spec.InitContainers, inContainer) ||
		slices.ContainsFunc(spec.EphemeralContainers, func(c corev1.EphemeralContainer) bool { return inEnv(c.Env, c.EnvFrom) }) ||
		slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool {
			return v.ConfigMap != nil || v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(s corev1.VolumeProjection) bool { return s.ConfigMap != nil })
		})
}

func (n restriction) podStatus(_ context.Context, a *registry.Attributes, node string) error {
	if a.Verb != api.VerbUpdate {
		return unexpectedOperation(a)
	}
	old, pod := a.Old.(*corev1.Pod), a.Object.(*corev1.Pod)
	switch {
	case old.Spec.NodeName != node:
		return forbid(a, "node %q can only update pod status for pods with spec.nodeName set to itself", node)
	case !labels.Equals(old.Labels, pod.Labels):
		return forbid(a, "node %q cannot update labels through pod status", node)
	case !equality.Semantic.DeepEqual(old.Status.ResourceClaimStatuses, pod.Status.ResourceClaimStatuses):
		return forbid(a, "node %q cannot update resource claim statuses", node)
	}
	return nil
}

func (n restriction) eviction(ctx context.Context, a *registry.Attributes, node string) error {
	if a.Verb != api.VerbCreate {
		return unexpectedOperation(a)
	}
	pod, err := n.pods.get(ctx, a.Namespace, a.Name)
	if err != nil {
		return err
	}
	if pod.Spec.NodeName != node {
		return forbid(a, "node %s can only evict pods with spec.nodeName set to itself", node)
	}
	return nil
}

// claimStatus lets a node tell how large a claim's volume has become on it.
func (n restriction) claimStatus(_ context.Context, a *registry.Attributes, node string) error {
	if a.Verb != api.VerbUpdate {
		return unexpectedOperation(a)
	}
	strip := func(obj api.Object) *corev1.PersistentVolumeClaim {
		c := obj.DeepCopyObject().(*corev1.PersistentVolumeClaim)
		c.ResourceVersion, c.ManagedFields = "", nil
		c.Status.Capacity, c.Status.Conditions = nil, nil
		c.Status.AllocatedResources, c.Status.AllocatedResourceStatuses = nil, nil
		return c
	}
	if !equality.Semantic.DeepEqual(strip(a.Old), strip(a.Object)) {
		return forbid(a, "node %q is not allowed to update fields other than status.quantity and status.conditions", node)
	}
	return nil
}

// token: a node gets tokens for the pods on it.
func (n restriction) token(ctx context.Context, a *registry.Attributes, node string) error {
	tr, ok := a.Object.(*authenticationv1.TokenRequest)
	if !ok || a.Verb != api.VerbCreate {
		return nil
	}
	ref := tr.Spec.BoundObjectRef
	switch {
	case ref == nil || ref.APIVersion != "v1" || ref.Kind != "Pod" || ref.Name == "":
		return forbid(a, "node requested token not bound to a pod")
	case ref.UID == "":
		return forbid(a, "node requested token with a pod binding without a uid")
	}
	pod, err := n.pods.get(ctx, a.Namespace, ref.Name)
	switch {
	case err != nil:
		return err
	case ref.UID != pod.UID:
		return forbid(a, "the UID in the bound object reference (%s) does not match the UID in record. The object might have been deleted and then recreated", ref.UID)
	case pod.Spec.NodeName != node:
		return forbid(a, "node requested token bound to a pod scheduled on a different node")
	}
	return nil
}

func (n restriction) lease(ctx context.Context, a *registry.Attributes, node string) error {
	if a.Namespace != corev1.NamespaceNodeLease {
		return forbid(a, "can only access leases in the %q system namespace", corev1.NamespaceNodeLease)
	}
	return n.named("can only access node lease with the same name as the requesting node")(ctx, a, node)
}

// named is the rule for objects that have the name of their node.
func (restriction) named(refusal string) func(context.Context, *registry.Attributes, string) error {
	return func(_ context.Context, a *registry.Attributes, node string) error {
		name := a.Name
		if a.Verb == api.VerbCreate {
			name = a.Object.GetName()
		}
		if name != node {
			return forbid(a, "%s", refusal)
		}
		return nil
	}
}

func (restriction) slice(_ context.Context, a *registry.Attributes, node string) error {
	obj := a.Object
	if obj == nil {
		obj = a.Old
	}
	if s := obj.(*resourcev1.ResourceSlice); s.Spec.NodeName == nil || *s.Spec.NodeName != node {
		return forbid(a, "can only access ResourceSlice with the same NodeName as the requesting node")
	}
	return nil
}
