package admission

import (
	"context"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
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

// nodeRestriction restricts the writes of kubelets to their own node, the pods
// on it, and the objects that belong to either.
func nodeRestriction(o *Objects, allowed Allowed) Plugin {
	n := restriction{
		allowed:  allowed,
		nodes:    nodesOf(o),
		pods:     read[*corev1.Pod](o, corev1.Resource("pods")),
		claims:   read[*corev1.PersistentVolumeClaim](o, corev1.Resource("persistentvolumeclaims")),
		volumes:  read[*corev1.PersistentVolume](o, corev1.Resource("persistentvolumes")),
		drivers:  read[*storagev1.CSIDriver](o, storagev1.Resource("csidrivers")),
		accounts: read[*corev1.ServiceAccount](o, corev1.Resource("serviceaccounts")),
	}
	rules := []nodeRule{
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
		{signingRequests(""), n.signingRequest},
	}
	if requests := certificatesv1beta1.Resource("podcertificaterequests"); o.serves(requests) {
		rules = append(rules, nodeRule{[]groupResource{requests, certificatesv1beta1.Resource("podcertificaterequests/status")}, n.podCertificate})
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

// nodeRule checks the writes of a node to some resources.
type nodeRule struct {
	resources []groupResource
	check     func(ctx context.Context, a *registry.Attributes, node string) error
}

type restriction struct {
	allowed  Allowed
	nodes    *reader[*corev1.Node]
	pods     *reader[*corev1.Pod]
	claims   *reader[*corev1.PersistentVolumeClaim]
	volumes  *reader[*corev1.PersistentVolume]
	drivers  *reader[*storagev1.CSIDriver]
	accounts *reader[*corev1.ServiceAccount]
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

// podStatus keeps a node from changing the fields of a status by which the Node
// authorizer finds the claims that the node may read.
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
		return forbid(a, "node %q cannot update resource claim statues", node)
	case !equality.Semantic.DeepEqual(old.Status.ExtendedResourceClaimStatus, pod.Status.ExtendedResourceClaimStatus):
		return forbid(a, "node %q cannot update extended resource claim status", node)
	}
	return nil
}

func (n restriction) eviction(ctx context.Context, a *registry.Attributes, node string) error {
	if a.Verb != api.VerbCreate {
		return unexpectedOperation(a)
	}
	pod, err := n.pods.listed(ctx, a.Namespace, a.Name)
	if err != nil {
		return err
	}
	if pod.Spec.NodeName != node {
		return forbid(a, "node %s can only evict pods with spec.nodeName set to itself", node)
	}
	return nil
}

// claimStatus allows a node to report the size of a claim's volume.
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
	if old, is := strip(a.Old), strip(a.Object); !equality.Semantic.DeepEqual(old, is) {
		return forbid(a, "node %q is not allowed to update fields other than status.quantity and status.conditions: %v", node, api.InternalDiff(old, is))
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

// slice checks what the Node authorizer cannot see: the node of a new slice, and
// those of the slices of a deletecollection.
func (restriction) slice(_ context.Context, a *registry.Attributes, node string) error {
	of := func(obj api.Object) bool {
		name := obj.(*resourcev1.ResourceSlice).Spec.NodeName
		return name != nil && *name == node
	}
	switch {
	case a.Verb == api.VerbCreate && !of(a.Object):
		return forbid(a, "can only create ResourceSlice with the same NodeName as the requesting node")
	case a.Verb == api.VerbDelete && !of(a.Old):
		return forbid(a, "can only delete ResourceSlice with the same NodeName as the requesting node")
	}
	return nil
}

// signingRequest refuses requests for the certificate of another node. Other
// attributes are checked by the signer.
func (restriction) signingRequest(_ context.Context, a *registry.Attributes, node string) error {
	if a.Verb != api.VerbCreate {
		return nil
	}
	csr := a.Object.(*certificatesv1.CertificateSigningRequest)
	switch csr.Spec.SignerName {
	case certificatesv1.KubeletServingSignerName, certificatesv1.KubeAPIServerClientKubeletSignerName:
	default:
		return nil
	}
	parsed, err := parseSigningRequest(csr.Spec.Request)
	if err != nil {
		return forbid(a, "unable to parse csr: %w", err)
	}
	if parsed.Subject.CommonName != "system:node:"+node {
		return forbid(a, "can only create a node CSR with CN=system:node:%s", node)
	}
	return nil
}
