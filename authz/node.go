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

// Who nodes are: users of a group, by the name of their node.
const (
	groupNodes   = "system:nodes"
	nodeUserName = "system:node:"
)

// Node allows kubelets what they need: their own Node, lease and CSINode, the
// pods that run on them, and what those pods refer to. What else a kubelet may
// do is the same for all of them, and restricted by the admission plugin
// NodeRestriction.
//
// There is no graph to keep: the pods of a node are found by an index of the
// cache, and are few.
type Node struct {
	objects nodeObjects
	gates   features.Gates
	// rules are what any node may do without a look at whose an object is.
	rules []rbacv1.PolicyRule
}

// NewNode makes a Node that finds out from reg which objects are a node's. The gates
// say what there is for nodes at all.
func NewNode(reg *registry.Registry, gates features.Gates) *Node {
	n := &Node{objects: nodeObjects{reg}, gates: gates}
	for _, obj := range Defaults(gates) {
		if role, ok := obj.(*rbacv1.ClusterRole); ok && role.Name == "system:node" {
			n.rules = role.Rules
		}
	}
	return n
}

// NodeOf is the node that a user is. The name is empty when it is none that the
// user says to be; ok is false for who is no node.
func NodeOf(user *request.User) (name string, ok bool) {
	if user == nil {
		return "", false
	}
	name, ok = strings.CutPrefix(user.Name, nodeUserName)
	return name, ok && slices.Contains(user.Groups, groupNodes)
}

// Authorize implements Authorizer.
func (n *Node) Authorize(ctx context.Context, user *request.User, info *request.Info) (Decision, string, error) {
	node, ok := NodeOf(user)
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

// RulesFor implements RuleResolver: what a node may do depends on its pods.
func (n *Node) RulesFor(_ context.Context, user *request.User, _ string) (Rules, error) {
	if _, ok := NodeOf(user); !ok {
		return Rules{}, nil
	}
	return Rules{Incomplete: true}, fmt.Errorf("node authorizer does not support user rule resolution")
}

// nodeRequest is what a node asks for.
type nodeRequest struct {
	*request.Info
	ctx     context.Context
	node    string
	objects nodeObjects
	gates   features.Gates
}

// noReason is a refusal that says nothing to the client.
const noReason = "\x00"

// rule is how a request is decided upon: it returns why not, or nothing. Nil is
// for what is the same for all nodes.
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

// related allows what a pod of the node refers to, or is the node's otherwise.
func (r *nodeRequest) related() string {
	if r.Name == "" {
		return "No Object name found"
	}
	if r.objects.has(r.ctx, r.node, r.Group+"/"+r.Resource, r.Namespace, r.Name) {
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

// writeStatus refuses to read a status too, though the message has it otherwise.
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
		return "" // of its own alone, which NodeRestriction looks after
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
		return "" // mirror pods, and its own, which NodeRestriction looks after
	}
	return noReason
}

// selects tells whether the request is restricted to what has the node in a
// field.
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

// ownVerbs are what a node does with objects that have its name.
func ownVerbs() []string { return []string{"get", "create", "update", "patch", "delete"} }

func (r *nodeRequest) resourceSlice() string {
	if r.Subresource != "" {
		return "cannot authorize ResourceSlice subresources"
	}
	switch r.Verb {
	case "create":
		return "" // NodeRestriction looks at whose it is
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
		return "" // NodeRestriction looks at whose it is
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
