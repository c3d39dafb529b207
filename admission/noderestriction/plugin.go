// Package noderestriction is the admission plugin NodeRestriction, which restricts the writes of kubelets
// to their own node, the pods bound to it, and objects that belong to either.
package noderestriction

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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/certificates"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// New returns the plugin NodeRestriction. It restricts the writes of kubelets to their own node, the pods bound to it, and
// objects that belong to either.
func New(o *admission.Objects, allowed admission.Allowed, gates features.Gates) admission.Plugin {
	n := nodeRestrictionPlugin{
		restrictsAudience: gates.Enabled(features.ServiceAccountNodeAudienceRestriction),

		allowed:  allowed,
		nodes:    admission.NodesOf(o),
		pods:     admission.NewReader[*corev1.Pod](o, corev1.Resource("pods")),
		claims:   admission.NewReader[*corev1.PersistentVolumeClaim](o, corev1.Resource("persistentvolumeclaims")),
		volumes:  admission.NewReader[*corev1.PersistentVolume](o, corev1.Resource("persistentvolumes")),
		drivers:  admission.NewReader[*storagev1.CSIDriver](o, storagev1.Resource("csidrivers")),
		accounts: admission.NewReader[*corev1.ServiceAccount](o, corev1.Resource("serviceaccounts")),
	}
	rules := []nodeRule{
		{admission.CoreResources("pods"), n.pod},
		{admission.CoreResources("pods/status"), n.podStatus},
		{admission.CoreResources("pods/eviction"), n.eviction},
		{admission.CoreResources("pods/resize", "pods/ephemeralcontainers", "pods/binding"), unexpectedSubresource},
		{admission.CoreResources("nodes", "nodes/status"), n.node},
		{admission.CoreResources("persistentvolumeclaims/status"), n.claimStatus},
		{admission.CoreResources("persistentvolumeclaims"), func(_ context.Context, a *registry.Attributes, _ string) error {
			return admission.Forbiddenf(a, "may only update PVC status")
		}},
		{admission.CoreResources("serviceaccounts/token"), n.token},
		{[]schema.GroupResource{coordinationv1.Resource("leases")}, n.lease},
		{[]schema.GroupResource{storagev1.Resource("csinodes")}, n.named("can only access CSINode with the same name as the requesting node")},
		{[]schema.GroupResource{resourcev1.Resource("resourceslices")}, n.slice},
	}
	if !gates.Enabled(features.AllowInsecureKubeletCertificateSigningRequests) {
		rules = append(rules, nodeRule{[]schema.GroupResource{certificatesv1.Resource("certificatesigningrequests")}, n.signingRequest})
	}
	if requests := certificatesv1beta1.Resource("podcertificaterequests"); o.Serves(requests) {
		rules = append(rules, nodeRule{[]schema.GroupResource{requests,
			certificatesv1beta1.Resource("podcertificaterequests/status")}, n.podCertificate})
	}
	check := map[string]func(context.Context, *registry.Attributes, string) error{}
	var all []schema.GroupResource
	for _, r := range rules {
		all = append(all, r.resources...)
		for _, gr := range r.resources {
			check[gr.Resource] = r.check
		}
	}
	return admission.Plugin{
		Handles: admission.HandlesFor(all, admission.WriteVerbs()...),
		Mutate: func(ctx context.Context, a *registry.Attributes) error {
			node, is := nodeOf(a.User)
			if !is {
				return nil
			}
			if node == "" {
				return admission.Forbiddenf(a, "could not determine node from user %q", a.User.Name)
			}
			name := a.Resource.Name
			if a.Subresource != "" {
				name += "/" + a.Subresource
			}
			return check[name](ctx, a, node)
		},
	}
}

// nodeOf returns the node name of a kubelet's user.
func nodeOf(user *request.User) (node string, is bool) {
	node, is = strings.CutPrefix(user.Name, "system:node:")
	return node, is && slices.Contains(user.Groups, "system:nodes")
}

// nodeRule checks the writes of a node to some resources.
type nodeRule struct {
	resources []schema.GroupResource
	check     func(ctx context.Context, a *registry.Attributes, node string) error
}

type nodeRestrictionPlugin struct {
	allowed  admission.Allowed
	nodes    *admission.Reader[*corev1.Node]
	pods     *admission.Reader[*corev1.Pod]
	claims   *admission.Reader[*corev1.PersistentVolumeClaim]
	volumes  *admission.Reader[*corev1.PersistentVolume]
	drivers  *admission.Reader[*storagev1.CSIDriver]
	accounts *admission.Reader[*corev1.ServiceAccount]
	// restrictsAudience: a node gets a token only for an audience that its pod requires.
	restrictsAudience bool
}

func unexpectedSubresource(_ context.Context, a *registry.Attributes, _ string) error {
	return admission.Forbiddenf(a, "unexpected pod subresource %q, only 'status' and 'eviction' are allowed", a.Subresource)
}

func unexpectedOperation(a *registry.Attributes) error {
	return admission.Forbiddenf(a, "unexpected operation %q", strings.ToUpper(a.Verb))
}

func (n nodeRestrictionPlugin) pod(ctx context.Context, a *registry.Attributes, node string) error {
	switch a.Verb {
	case api.VerbCreate:
		return n.mirror(ctx, a, node)
	case api.VerbDelete:
		if a.Old.(*corev1.Pod).Spec.NodeName != node {
			return admission.Forbiddenf(a, "node %q can only delete pods with spec.nodeName set to itself", node)
		}
		return nil
	}
	return admission.Forbiddenf(a, "unexpected operation %q, node %q can only create and delete mirror pods", strings.ToUpper(a.Verb), node)
}

// podStatus prevents a node from changing the status fields by which the Node authorizer finds the
// claims that the node may read.
func (n nodeRestrictionPlugin) podStatus(_ context.Context, a *registry.Attributes, node string) error {
	if a.Verb != api.VerbUpdate {
		return unexpectedOperation(a)
	}
	old, pod := a.Old.(*corev1.Pod), a.Object.(*corev1.Pod)
	switch {
	case old.Spec.NodeName != node:
		return admission.Forbiddenf(a, "node %q can only update pod status for pods with spec.nodeName set to itself", node)
	case !labels.Equals(old.Labels, pod.Labels):
		return admission.Forbiddenf(a, "node %q cannot update labels through pod status", node)
	case !equality.Semantic.DeepEqual(old.Status.ResourceClaimStatuses, pod.Status.ResourceClaimStatuses):
		return admission.Forbiddenf(a, "node %q cannot update resource claim statues", node)
	case !equality.Semantic.DeepEqual(old.Status.ExtendedResourceClaimStatus, pod.Status.ExtendedResourceClaimStatus):
		return admission.Forbiddenf(a, "node %q cannot update extended resource claim status", node)
	}
	return nil
}

func (n nodeRestrictionPlugin) eviction(ctx context.Context, a *registry.Attributes, node string) error {
	if a.Verb != api.VerbCreate {
		return unexpectedOperation(a)
	}
	pod, err := n.pods.GetSingular(ctx, a.Namespace, a.Name)
	if err != nil {
		return err
	}
	if pod.Spec.NodeName != node {
		return admission.Forbiddenf(a, "node %s can only evict pods with spec.nodeName set to itself", node)
	}
	return nil
}

// claimStatus allows a node to report the size of a claim's volume.
func (n nodeRestrictionPlugin) claimStatus(_ context.Context, a *registry.Attributes, node string) error {
	if a.Verb != api.VerbUpdate {
		return unexpectedOperation(a)
	}
	strip := func(obj api.Object) *corev1.PersistentVolumeClaim {
		c := obj.DeepCopyObject().(*corev1.PersistentVolumeClaim)
		c.TypeMeta, c.ResourceVersion, c.ManagedFields = metav1.TypeMeta{}, "", nil // a sent object may name its type
		c.Status.Capacity, c.Status.Conditions = nil, nil
		c.Status.AllocatedResources, c.Status.AllocatedResourceStatuses = nil, nil
		return c
	}
	if old, is := strip(a.Old), strip(a.Object); !equality.Semantic.DeepEqual(old, is) {
		return admission.Forbiddenf(a, "node %q is not allowed to update fields other than status.quantity and status.conditions: %v",
			node, validation.InternalDiff(old, is))
	}
	return nil
}

func (n nodeRestrictionPlugin) lease(ctx context.Context, a *registry.Attributes, node string) error {
	if a.Namespace != corev1.NamespaceNodeLease {
		return admission.Forbiddenf(a, "can only access leases in the %q system namespace", corev1.NamespaceNodeLease)
	}
	return n.named("can only access node lease with the same name as the requesting node")(ctx, a, node)
}

// named returns the check that an object has the name of the node.
func (nodeRestrictionPlugin) named(refusal string) func(context.Context, *registry.Attributes, string) error {
	return func(_ context.Context, a *registry.Attributes, node string) error {
		name := a.Name
		if a.Verb == api.VerbCreate {
			name = a.Object.GetName()
		}
		if name != node {
			return admission.Forbiddenf(a, "%s", refusal)
		}
		return nil
	}
}

// slice checks the writes that the Node authorizer cannot: the node of a new slice, and of each
// slice that a deletecollection deletes.
func (nodeRestrictionPlugin) slice(_ context.Context, a *registry.Attributes, node string) error {
	belongsToNode := func(obj api.Object) bool {
		name := obj.(*resourcev1.ResourceSlice).Spec.NodeName
		return name != nil && *name == node
	}
	switch {
	case a.Verb == api.VerbCreate && !belongsToNode(a.Object):
		return admission.Forbiddenf(a, "can only create ResourceSlice with the same NodeName as the requesting node")
	case a.Verb == api.VerbDelete && !belongsToNode(a.Old):
		return admission.Forbiddenf(a, "can only delete ResourceSlice with the same NodeName as the requesting node")
	}
	return nil
}

// signingRequest rejects requests for the certificate of another node. The signer checks all other
// attributes.
func (nodeRestrictionPlugin) signingRequest(_ context.Context, a *registry.Attributes, node string) error {
	if a.Verb != api.VerbCreate {
		return nil
	}
	csr := a.Object.(*certificatesv1.CertificateSigningRequest)
	switch csr.Spec.SignerName {
	case certificatesv1.KubeletServingSignerName, certificatesv1.KubeAPIServerClientKubeletSignerName:
	default:
		return nil
	}
	parsed, err := certificates.ParseRequest(csr.Spec.Request)
	if err != nil {
		return admission.Forbiddenf(a, "unable to parse csr: %w", err)
	}
	if parsed.Subject.CommonName != "system:node:"+node {
		return admission.Forbiddenf(a, "can only create a node CSR with CN=system:node:%s", node)
	}
	return nil
}
