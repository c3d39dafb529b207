package request

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
)

// Names of service accounts as users, and of the groups that they are in.
const (
	serviceAccountPrefix = "system:serviceaccount:"
	// GroupServiceAccounts has all service accounts as its members.
	GroupServiceAccounts = "system:serviceaccounts"
)

// ServiceAccountName is the name that a service account has as a user.
func ServiceAccountName(namespace, name string) string {
	return serviceAccountPrefix + namespace + ":" + name
}

// ServiceAccountGroups are the groups of the service accounts of a namespace,
// but for the one of all who are known.
func ServiceAccountGroups(namespace string) []string {
	return []string{GroupServiceAccounts, GroupServiceAccounts + ":" + namespace}
}

// SplitServiceAccountName reads what ServiceAccountName writes; ok is false for
// a user who is no service account.
func SplitServiceAccountName(user string) (namespace, name string, ok bool) {
	rest, ok := strings.CutPrefix(user, serviceAccountPrefix)
	if !ok {
		return "", "", false
	}
	namespace, name, ok = strings.Cut(rest, ":")
	if !ok || len(validation.ValidateNamespaceName(namespace, false)) > 0 || len(validation.ValidateServiceAccountName(name, false)) > 0 {
		return "", "", false
	}
	return namespace, name, true
}

// nodePrefix begins the names of kubelets as users.
const nodePrefix = "system:node:"

// GroupNodes has all kubelets as its members.
const GroupNodes = "system:nodes"

// SplitNodeName reads the name of the node out of that of its kubelet's user.
func SplitNodeName(user string) (node string, ok bool) {
	node, ok = strings.CutPrefix(user, nodePrefix)
	if !ok || len(validation.NameIsDNSSubdomain(node, false)) > 0 {
		return "", false
	}
	return node, true
}

// ExtraNodeName is the attribute of a service account that has the node of the
// pod which its token is bound to.
const ExtraNodeName = "authentication.kubernetes.io/node-name"

// NodeOfAccount returns the node of a service account; "" means that the user is
// no service account, or none whose token is bound to one node. user may be nil.
func NodeOfAccount(user *User) string {
	if user == nil {
		return ""
	}
	nodes := user.Extra[ExtraNodeName]
	if len(nodes) != 1 || len(validation.NameIsDNSSubdomain(nodes[0], false)) > 0 {
		return ""
	}
	if _, _, ok := SplitServiceAccountName(user.Name); !ok {
		return ""
	}
	return nodes[0]
}
