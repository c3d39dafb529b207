package kubectl

import (
	"context"
	"slices"
	"strings"

	rbac "k8s.io/api/rbac/v1"

	"github.com/miniapiserver/miniapiserver/lab/kubectl/client"
)

// access is what RBAC grants, from the roles and bindings of a server.
type access struct {
	roles    map[string][]rbac.PolicyRule // by roleKey
	bindings []binding
}

// binding is a RoleBinding or a ClusterRoleBinding.
type binding struct {
	// namespace is that in which the binding grants its role; empty for all.
	namespace, name string
	role            rbac.RoleRef
	subjects        []rbac.Subject
}

// String returns the binding as Requests name it.
func (b *binding) String() string {
	if b.namespace == "" {
		return "ClusterRoleBinding " + b.name
	}
	return "RoleBinding " + b.namespace + "/" + b.name
}

// roleText returns the role as Requests name it.
func (b *binding) roleText() string {
	if b.role.Kind == "Role" {
		return "Role " + b.namespace + "/" + b.role.Name
	}
	return b.role.Kind + " " + b.role.Name
}

func roleKey(namespace, name string) string { return namespace + "/" + name }

func rbacTarget(resource, namespace string) client.Target {
	return client.Target{Group: rbac.GroupName, Version: "v1", Resource: resource, Namespace: namespace}
}

// readAccess reads what RBAC grants in all namespaces and in one, or in each for "".
func readAccess(ctx context.Context, c *client.Client, namespace string, namespaces bool) (*access, error) {
	a := &access{roles: map[string][]rbac.PolicyRule{}}
	clusterRoles, _, err := client.ListOf[rbac.ClusterRole](ctx, c, rbacTarget("clusterroles", ""), client.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, r := range clusterRoles {
		a.roles[roleKey("", r.Name)] = r.Rules
	}
	clusterBindings, _, err := client.ListOf[rbac.ClusterRoleBinding](ctx, c, rbacTarget("clusterrolebindings", ""), client.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, b := range clusterBindings {
		a.bindings = append(a.bindings, binding{"", b.Name, b.RoleRef, b.Subjects})
	}
	if !namespaces {
		return a, nil
	}
	roles, _, err := client.ListOf[rbac.Role](ctx, c, rbacTarget("roles", namespace), client.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, r := range roles {
		a.roles[roleKey(r.Namespace, r.Name)] = r.Rules
	}
	bindings, _, err := client.ListOf[rbac.RoleBinding](ctx, c, rbacTarget("rolebindings", namespace), client.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, b := range bindings {
		a.bindings = append(a.bindings, binding{b.Namespace, b.Name, b.RoleRef, b.Subjects})
	}
	return a, nil
}

// rules returns the rules that a binding grants.
func (a *access) rules(b *binding) []rbac.PolicyRule {
	if b.role.Kind == "Role" {
		return a.roles[roleKey(b.namespace, b.role.Name)]
	}
	return a.roles[roleKey("", b.role.Name)]
}

// action is what somebody wants to do.
type action struct {
	verb, group, resource, name string
	path                        string // of a request that is not for a resource
}

// allows reports whether a rule allows an action.
func allows(rule *rbac.PolicyRule, a *action) bool {
	if !hasOrAll(rule.Verbs, a.verb) {
		return false
	}
	if a.path != "" {
		return slices.ContainsFunc(rule.NonResourceURLs, func(url string) bool {
			prefix, isPrefix := strings.CutSuffix(url, "*")
			return url == a.path || isPrefix && strings.HasPrefix(a.path, prefix)
		})
	}
	return hasOrAll(rule.APIGroups, a.group) && allowsResource(rule.Resources, a.resource) &&
		(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, a.name) && a.name != "")
}

func hasOrAll(list []string, want string) bool {
	return slices.Contains(list, "*") || slices.Contains(list, want)
}

// allowsResource reports whether resources of a rule have one, where */scale has that subresource of all resources.
func allowsResource(list []string, resource string) bool {
	_, sub, found := strings.Cut(resource, "/")
	return hasOrAll(list, resource) || found && slices.Contains(list, "*/"+sub)
}

// covers reports whether a rule grants all that another one does.
func covers(rule, other *rbac.PolicyRule) bool {
	within := func(list, wanted []string) bool {
		return !slices.ContainsFunc(wanted, func(w string) bool { return !hasOrAll(list, w) })
	}
	if !within(rule.Verbs, other.Verbs) {
		return false
	}
	if len(other.NonResourceURLs) > 0 {
		return !slices.ContainsFunc(other.NonResourceURLs, func(url string) bool {
			return !slices.Contains(rule.NonResourceURLs, url)
		})
	}
	if len(rule.ResourceNames) > 0 && (len(other.ResourceNames) == 0 || slices.ContainsFunc(other.ResourceNames, func(name string) bool {
		return !slices.Contains(rule.ResourceNames, name)
	})) {
		return false
	}
	return len(rule.Resources) > 0 && within(rule.APIGroups, other.APIGroups) &&
		!slices.ContainsFunc(other.Resources, func(r string) bool { return !allowsResource(rule.Resources, r) })
}

// isSubject reports whether a user is a subject of a binding.
func isSubject(b *binding, user string, groups []string) bool {
	return slices.ContainsFunc(b.subjects, func(s rbac.Subject) bool {
		switch s.Kind {
		case rbac.UserKind:
			return s.Name == user
		case rbac.GroupKind:
			return slices.Contains(groups, s.Name)
		case rbac.ServiceAccountKind:
			namespace := s.Namespace
			if namespace == "" {
				namespace = b.namespace
			}
			return user == "system:serviceaccount:"+namespace+":"+s.Name
		}
		return false
	})
}
