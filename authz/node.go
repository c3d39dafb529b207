package authz

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// groupNodes is the group of all nodes. A node's user name is nodeUserName followed by the name of
// the Node.
const (
	groupNodes   = "system:nodes"
	nodeUserName = "system:node:"
)

// Node authorizes kubelets for their own Node, lease and CSINode, the pods bound to the node, and
// the objects that these pods refer to. The remaining permissions are the same for all nodes; the
// admission plugin NodeRestriction limits them.
//
// kube-apiserver maintains a graph of these references. Here an index of the cache finds the pods
// of a node, which are few.
type Node struct {
	objects nodeObjects
	gates   features.Gates
	// rules are the permissions of all nodes that do not depend on the object.
	rules []rbacv1.PolicyRule
}

// NewNode returns a Node authorizer that reads objects from reg. Feature gates enable the
// permissions for their resources.
func NewNode(reg *registry.Registry, gates features.Gates) *Node {
	n := &Node{objects: nodeObjects{reg}, gates: gates}
	for _, obj := range BootstrapPolicy(gates) {
		if role, ok := obj.(*rbacv1.ClusterRole); ok && role.Name == "system:node" {
			n.rules = role.Rules
		}
	}
	return n
}

// nodeOf returns the name of the node that a user authenticates as. The name is empty if the user
// name does not contain one; ok is false if the user is not a node.
func nodeOf(user *request.User) (name string, ok bool) {
	if user == nil {
		return "", false
	}
	name, ok = strings.CutPrefix(user.Name, nodeUserName)
	return name, ok && slices.Contains(user.Groups, groupNodes)
}

// Authorize implements Authorizer.
func (n *Node) Authorize(ctx context.Context, user *request.User, info *request.Info) (Decision, string, error) {
	node, ok := nodeOf(user)
	switch {
	case !ok:
		return NoOpinion, "", nil
	case node == "":
		return NoOpinion, fmt.Sprintf("unknown node for user %q", user.Name), nil
	}
	ask := &nodeRequest{Info: info, ctx: ctx, node: node, objects: n.objects, gates: n.gates}
	if info.IsResource {
		if decide := ask.rule(); decide != nil {
			if refusal := decide(ask); refusal != "" {
				return NoOpinion, strings.TrimPrefix(refusal, noReason), nil
			}
			return Allow, "", nil
		}
	}
	for i := range n.rules {
		if ruleAllows(&n.rules[i], info) {
			return Allow, "", nil
		}
	}
	return NoOpinion, "", nil
}

// RulesFor implements RuleResolver. The permissions of a node depend on its pods, so they cannot be
// listed.
func (n *Node) RulesFor(_ context.Context, user *request.User, _ string) (Rules, error) {
	if _, ok := nodeOf(user); !ok {
		return Rules{}, nil
	}
	return Rules{Incomplete: true}, fmt.Errorf("node authorizer does not support user rule resolution")
}

// nodeRequest is a request of a node.
type nodeRequest struct {
	*request.Info
	ctx     context.Context
	node    string
	objects nodeObjects
	gates   features.Gates
}

// noReason forbids a request without a reason for the client.
const noReason = "\x00"

// rule returns the function that decides on the request, or nil if the decision is the same for all
// nodes. The function returns the reason to forbid the request, or "" to allow it.
func (r *nodeRequest) rule() func(*nodeRequest) string {
	switch r.Group + "/" + r.Resource {
	case "/secrets", "/configmaps":
		return (*nodeRequest).readNamespaced
	case "/persistentvolumeclaims":
		if r.Subresource == "status" {
			return (*nodeRequest).writeStatus
		}
		return (*nodeRequest).get
	case "/persistentvolumes", "resource.k8s.io/resourceclaims", "storage.k8s.io/volumeattachments":
		return (*nodeRequest).get
	case "/serviceaccounts":
		return (*nodeRequest).serviceAccount
	case "/nodes":
		return (*nodeRequest).ownNode
	case "/pods":
		return (*nodeRequest).pods
	case "coordination.k8s.io/leases":
		return (*nodeRequest).lease
	case "storage.k8s.io/csinodes":
		return (*nodeRequest).csiNode
	case "resource.k8s.io/resourceslices":
		return (*nodeRequest).resourceSlice
	case "certificates.k8s.io/podcertificaterequests":
		if r.gates.Enabled(features.PodCertificateRequest) {
			return (*nodeRequest).podCertificateRequest
		}
	}
	return nil
}

// related allows objects that belong to the node or that a pod of the node refers to.
func (r *nodeRequest) related() string {
	if r.Name == "" {
		return "No Object name found"
	}
	if r.objects.relates(r.ctx, r.node, r.Group+"/"+r.Resource, r.Namespace, r.Name) {
		return ""
	}
	return fmt.Sprintf("no relationship found between node '%s' and this object", r.node)
}

func (r *nodeRequest) readNamespaced() string {
	switch {
	case r.Verb != "get" && r.Verb != "list" && r.Verb != "watch":
		return "can only read resources of this type"
	case r.Subresource != "":
		return "cannot read subresource"
	case r.Namespace == "":
		return "can only read namespaced object of this type"
	}
	return r.related()
}

func (r *nodeRequest) get() string {
	switch {
	case r.Verb != "get":
		return "can only get individual resources of this type"
	case r.Subresource != "":
		return "cannot get subresource"
	}
	return r.related()
}

// writeStatus forbids get as well, although the message of kube-apiserver lists it.
func (r *nodeRequest) writeStatus() string {
	switch r.Verb {
	case "update", "patch":
		return r.related()
	}
	return "can only get/update/patch this type"
}

func (r *nodeRequest) serviceAccount() string {
	switch {
	case r.Verb == "get" && r.Subresource == "":
		if !r.gates.Enabled(features.KubeletServiceAccountTokenForCredentialProviders) && !r.gates.Enabled(features.PodCertificateRequest) {
			return "not allowed to get service accounts"
		}
		return r.readNamespaced()
	case r.Verb != "create" || r.Name == "":
		return "can only create tokens for individual service accounts"
	case r.Subresource != "token":
		return "can only create token subresource of serviceaccount"
	}
	return r.related()
}

func (r *nodeRequest) ownNode() string {
	switch r.Subresource + " " + r.Verb {
	case " create", " update", " patch", "status update", "status patch":
		return "" // NodeRestriction checks that it is the node's own
	case " get", " list", " watch":
		switch r.Name {
		case r.node:
			return ""
		case "":
			return fmt.Sprintf("node '%s' cannot read all nodes, only its own Node object", r.node)
		}
		return fmt.Sprintf("node '%s' cannot read '%s', only its own Node object", r.node, r.Name)
	}
	return noReason
}

func (r *nodeRequest) pods() string {
	switch r.Subresource + " " + r.Verb {
	case " get":
		return r.get()
	case " list", " watch":
		switch {
		case r.selects("spec.nodeName"):
			return ""
		case r.Name != "":
			return r.related()
		}
		return "can only list/watch pods with spec.nodeName field selector"
	case " create", " delete", "status update", "status patch", "eviction create":
		return "" // NodeRestriction checks that it is a mirror pod or a pod of the node
	}
	return noReason
}

// selects reports whether the field selector requires a field to equal the node's name.
func (r *nodeRequest) selects(field string) bool {
	s, err := fields.ParseSelector(r.FieldSelector)
	if err != nil {
		return false
	}
	value, ok := s.RequiresExactMatch(field)
	return ok && value == r.node
}

func (r *nodeRequest) lease() string {
	switch {
	case !slices.Contains(ownVerbs(), r.Verb):
		return "can only get, create, update, patch, or delete a node lease"
	case r.Namespace != corev1.NamespaceNodeLease:
		return fmt.Sprintf("can only access leases in the %q system namespace", corev1.NamespaceNodeLease)
	case r.Verb != "create" && r.Name != r.node:
		return "can only access node lease with the same name as the requesting node"
	}
	return ""
}

func (r *nodeRequest) csiNode() string {
	switch {
	case !slices.Contains(ownVerbs(), r.Verb):
		return "can only get, create, update, patch, or delete a CSINode"
	case r.Subresource != "":
		return "cannot authorize CSINode subresources"
	case r.Verb != "create" && r.Name != r.node:
		return "can only access CSINode with the same name as the requesting node"
	}
	return ""
}

// ownVerbs are the verbs that a node may use on objects with its name.
func ownVerbs() []string { return []string{"get", "create", "update", "patch", "delete"} }

func (r *nodeRequest) resourceSlice() string {
	if r.Subresource != "" {
		return "cannot authorize ResourceSlice subresources"
	}
	switch r.Verb {
	case "create":
		return "" // NodeRestriction checks the object's node
	case "get", "update", "patch", "delete":
		return r.related()
	case "watch", "list", "deletecollection":
		if r.selects(resourcev1.ResourceSliceSelectorNodeName) {
			return ""
		}
		return "can only list/watch/deletecollection resourceslices with nodeName field selector"
	}
	return "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection"
}

func (r *nodeRequest) podCertificateRequest() string {
	if r.Subresource != "" {
		return "nodes may not access the status subresource of PodCertificateRequests"
	}
	switch r.Verb {
	case "create":
		return "" // NodeRestriction checks the object's node
	case "get":
		return r.related()
	case "watch", "list":
		if r.selects("spec.nodeName") {
			return ""
		}
		return "can only list/watch podcertificaterequests with nodeName field selector"
	}
	return fmt.Sprintf("nodes may not %s podcertificaterequests", r.Verb)
}
