package request

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
)

const (
	// ServiceAccountPrefix is the prefix of the user names of service accounts.
	ServiceAccountPrefix = "system:serviceaccount:"
	// GroupServiceAccounts is the group of all service accounts.
	GroupServiceAccounts = "system:serviceaccounts"
)

// ServiceAccountName returns the user name of a service account.
func ServiceAccountName(namespace, name string) string {
	return ServiceAccountPrefix + namespace + ":" + name
}

// ServiceAccountGroups returns the groups of the service accounts in a namespace, without
// system:authenticated.
func ServiceAccountGroups(namespace string) []string {
	return []string{GroupServiceAccounts, GroupServiceAccounts + ":" + namespace}
}

// SplitServiceAccountName parses the user name of a service account; ok is false for other
// users.
func SplitServiceAccountName(user string) (namespace, name string, ok bool) {
	rest, ok := strings.CutPrefix(user, ServiceAccountPrefix)
	if !ok {
		return "", "", false
	}
	namespace, name, ok = strings.Cut(rest, ":")
	if !ok || len(validation.ValidateNamespaceName(namespace, false)) > 0 || len(validation.ValidateServiceAccountName(name, false)) > 0 {
		return "", "", false
	}
	return namespace, name, true
}

// nodeUserPrefix is the prefix of the user names of kubelets.
const nodeUserPrefix = "system:node:"

// GroupNodes is the group of all kubelets.
const GroupNodes = "system:nodes"

// SplitNodeName returns the node of a kubelet's user name; ok is false for other users.
func SplitNodeName(user string) (node string, ok bool) {
	node, ok = strings.CutPrefix(user, nodeUserPrefix)
	if !ok || len(validation.NameIsDNSSubdomain(node, false)) > 0 {
		return "", false
	}
	return node, true
}

// ExtraNodeName is the extra attribute of a service account with the node to whose pod its
// token is bound.
const ExtraNodeName = "authentication.kubernetes.io/node-name"

// NodeOfAccount returns the node to which the token of a service account is bound, or "" for
// other users and unbound tokens. user may be nil.
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
