package authz

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/storage"
)

// catchUpTimeout bounds how long a decision waits for a write of roles or
// bindings that is known of but not in the cache. It takes microseconds, unless
// the cache is cut off.
const catchUpTimeout = time.Second

// rbacIndex is roles by their name, and bindings by whom they are for.
type rbacIndex struct {
	clusterRoles, roles       roleIndex
	clusterBindings, bindings bindingIndex
}

// roleIndex is the rules of roles by their key: "name" or "namespace/name".
type roleIndex map[string][]rbacv1.PolicyRule

// bindingIndex is what is granted, by the name of a user or group and the
// namespace where it is; and which subjects a binding has, by its key.
type bindingIndex struct {
	users, groups map[subjectKey][]*grant
	bindings      map[string][]*grant
}

type subjectKey struct{ namespace, name string }

// grant is one subject of one binding. Grants are never changed.
type grant struct {
	binding string // its key
	role    rbacv1.RoleRef
	subject rbacv1.Subject
	at      subjectKey
	group   bool
	said    atomic.Pointer[string] // the reason, once it was asked for
}

func newRBACIndex() *rbacIndex {
	return &rbacIndex{clusterRoles: roleIndex{}, roles: roleIndex{}, clusterBindings: newBindingIndex(), bindings: newBindingIndex()}
}

func newBindingIndex() bindingIndex {
	return bindingIndex{users: map[subjectKey][]*grant{}, groups: map[subjectKey][]*grant{}, bindings: map[string][]*grant{}}
}

// rules are those of a role that is bound in a namespace, or cluster-wide when
// that is empty.
func (x *rbacIndex) rules(ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error) {
	switch ref.Kind {
	case "ClusterRole":
		if rules, ok := x.clusterRoles[ref.Name]; ok {
			return rules, nil
		}
		return nil, apierrors.NewNotFound(rbacv1.Resource("clusterrole"), ref.Name)
	case "Role":
		if rules, ok := x.roles[namespace+"/"+ref.Name]; ok {
			return rules, nil
		}
		return nil, apierrors.NewNotFound(rbacv1.Resource("role"), ref.Name)
	}
	return nil, fmt.Errorf("unsupported role reference kind: %q", ref.Kind)
}

// take takes in one change of a role.
func (x roleIndex) take(s storage.Step) error {
	delete(x, s.Item.Key())
	if s.Gone {
		return nil
	}
	obj, err := s.Item.Object()
	if err != nil {
		return err
	}
	switch role := obj.(type) {
	case *rbacv1.ClusterRole:
		x[s.Item.Key()] = role.Rules
	case *rbacv1.Role:
		x[s.Item.Key()] = role.Rules
	}
	return nil
}

// take takes in one change of a binding.
func (x *bindingIndex) take(s storage.Step) error {
	key := s.Item.Key()
	for _, g := range x.bindings[key] {
		x.drop(g)
	}
	delete(x.bindings, key)
	if s.Gone {
		return nil
	}
	obj, err := s.Item.Object()
	if err != nil {
		return err
	}
	switch b := obj.(type) {
	case *rbacv1.ClusterRoleBinding:
		x.add(key, "", b.RoleRef, b.Subjects)
	case *rbacv1.RoleBinding:
		x.add(key, b.Namespace, b.RoleRef, b.Subjects)
	}
	return nil
}

func (x *bindingIndex) add(key, namespace string, role rbacv1.RoleRef, subjects []rbacv1.Subject) {
	for _, s := range subjects {
		g := &grant{binding: key, role: role, subject: s, at: subjectKey{namespace, s.Name}}
		switch s.Kind {
		case rbacv1.GroupKind:
			g.group = true
		case rbacv1.UserKind:
		case rbacv1.ServiceAccountKind:
			of := cmp.Or(s.Namespace, namespace)
			if of == "" {
				continue
			}
			g.at.name = "system:serviceaccount:" + of + ":" + s.Name
		default:
			continue
		}
		x.bindings[key] = append(x.bindings[key], g)
		grants := x.of(g)
		at, _ := slices.BinarySearchFunc(grants[g.at], key, func(g *grant, key string) int { return cmp.Compare(g.binding, key) })
		grants[g.at] = slices.Insert(grants[g.at], at, g)
	}
}

func (x *bindingIndex) drop(g *grant) {
	grants := x.of(g)
	rest := slices.DeleteFunc(grants[g.at], func(other *grant) bool { return other == g })
	if len(rest) == 0 {
		delete(grants, g.at)
		return
	}
	grants[g.at] = rest
}

func (x *bindingIndex) of(g *grant) map[subjectKey][]*grant {
	if g.group {
		return x.groups
	}
	return x.users
}

// reason says why something is allowed. It is made once, since it is asked for
// at every request.
func (g *grant) reason() string {
	if s := g.said.Load(); s != nil {
		return *s
	}
	kind, name := "ClusterRoleBinding", g.binding
	if g.at.namespace != "" {
		kind, name = "RoleBinding", g.binding[len(g.at.namespace)+1:]+"/"+g.at.namespace
	}
	s := fmt.Sprintf("RBAC: allowed by %s %q of %s %q to %s", kind, name, g.role.Kind, g.role.Name, describeSubject(&g.subject, g.at.namespace))
	g.said.Store(&s)
	return s
}
