package authz

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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

// rbacIndex is roles by their key, and bindings by whom they are for.
type rbacIndex struct {
	clusterRoles, roles       roleIndex
	clusterBindings, bindings bindingIndex
}

// roleIndex is roles by their key: "name" or "namespace/name". It has those that
// are there and those that are bound without being there.
type roleIndex map[string]*role

// role is what a decision needs of a role.
type role struct {
	rules []rbacv1.PolicyRule
	// about tells what no rule can be about, so that most roles need no further
	// look: see aboutResource.
	about uint64
	there bool
	bound int // by how many grants
}

// bindingIndex is what is granted, by the name of a user or group and the
// namespace where it is; and which grants a binding has, by its key.
type bindingIndex struct {
	users, groups map[subjectKey][]*grant
	bindings      map[string][]*grant
}

type subjectKey struct{ namespace, name string }

// grant is one subject of one binding. Grants are never changed.
type grant struct {
	binding string // its key
	ref     rbacv1.RoleRef
	role    *role // nil where ref is of no known kind
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

// in finds where a role is that is bound in a namespace, or cluster-wide when
// that is empty; nil for a kind that is no role.
func (x *rbacIndex) in(ref *rbacv1.RoleRef, namespace string) (roles roleIndex, key string) {
	switch ref.Kind {
	case "ClusterRole":
		return x.clusterRoles, ref.Name
	case "Role":
		return x.roles, namespace + "/" + ref.Name
	}
	return nil, ""
}

// rules are those of a role that is bound in a namespace.
func (x *rbacIndex) rules(ref *rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error) {
	roles, key := x.in(ref, namespace)
	if r := roles[key]; r != nil && r.there {
		return r.rules, nil
	}
	return nil, errNoRole(ref)
}

func errNoRole(ref *rbacv1.RoleRef) error {
	switch ref.Kind {
	case "ClusterRole":
		return apierrors.NewNotFound(rbacv1.Resource("clusterrole"), ref.Name)
	case "Role":
		return apierrors.NewNotFound(rbacv1.Resource("role"), ref.Name)
	}
	return fmt.Errorf("unsupported role reference kind: %q", ref.Kind)
}

// Bits of role.about: one for paths, and one of the others for each resource.
const (
	aboutPaths      = 1 << 63
	aboutEverything = aboutPaths - 1
)

// aboutResource is the bit of a resource, or of a pattern without a star. What
// follows a slash does not count: it is a subresource, or part of a name that is used
// as a resource, such as an audience that is a URL.
func aboutResource(resource string) uint64 {
	resource, _, _ = strings.Cut(resource, "/")
	h := uint64(14695981039346656037) // FNV-1a
	for i := range len(resource) {
		h = (h ^ uint64(resource[i])) * 1099511628211
	}
	return 1 << (h >> 32 % 63)
}

func aboutRules(rules []rbacv1.PolicyRule) (bits uint64) {
	for i := range rules {
		if len(rules[i].NonResourceURLs) > 0 {
			bits |= aboutPaths
		}
		for _, pattern := range rules[i].Resources {
			if pattern == "*" || strings.HasPrefix(pattern, "*/") {
				bits |= aboutEverything
			} else {
				bits |= aboutResource(pattern)
			}
		}
	}
	return bits
}

// set makes rules those of a role.
func (x roleIndex) set(key string, rules []rbacv1.PolicyRule) {
	r := x.at(key)
	r.rules, r.about, r.there = rules, aboutRules(rules), true
}

func (x roleIndex) at(key string) *role {
	r := x[key]
	if r == nil {
		r = &role{}
		x[key] = r
	}
	return r
}

// unset forgets a role.
func (x roleIndex) unset(key string) {
	if r := x[key]; r != nil {
		r.rules, r.about, r.there = nil, 0, false
		x.release(key, r)
	}
}

// release drops what nobody needs.
func (x roleIndex) release(key string, r *role) {
	if !r.there && r.bound == 0 {
		delete(x, key)
	}
}

// reset forgets all roles.
func (x roleIndex) reset() {
	for key := range x {
		x.unset(key)
	}
}

// take takes in one change of a role.
func (x roleIndex) take(s storage.Step) error {
	x.unset(s.Item.Key())
	if s.Gone {
		return nil
	}
	obj, err := s.Item.Object()
	if err != nil {
		return err
	}
	switch role := obj.(type) {
	case *rbacv1.ClusterRole:
		x.set(s.Item.Key(), role.Rules)
	case *rbacv1.Role:
		x.set(s.Item.Key(), role.Rules)
	}
	return nil
}

// take takes in one change of a binding.
func (x *rbacIndex) takeBinding(of *bindingIndex, s storage.Step) error {
	key := s.Item.Key()
	x.unbind(of, key)
	if s.Gone {
		return nil
	}
	obj, err := s.Item.Object()
	if err != nil {
		return err
	}
	switch b := obj.(type) {
	case *rbacv1.ClusterRoleBinding:
		x.bind(of, key, "", b.RoleRef, b.Subjects)
	case *rbacv1.RoleBinding:
		x.bind(of, key, b.Namespace, b.RoleRef, b.Subjects)
	}
	return nil
}

// bind adds the grants of a binding.
func (x *rbacIndex) bind(to *bindingIndex, key, namespace string, ref rbacv1.RoleRef, subjects []rbacv1.Subject) {
	var bound *role
	if roles, roleKey := x.in(&ref, namespace); roles != nil {
		bound = roles.at(roleKey)
		defer roles.release(roleKey, bound)
	}
	for _, s := range subjects {
		g := &grant{binding: key, ref: ref, role: bound, subject: s, at: subjectKey{namespace, s.Name}}
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
		if bound != nil {
			bound.bound++
		}
		to.bindings[key] = append(to.bindings[key], g)
		grants := to.of(g)
		at, _ := slices.BinarySearchFunc(grants[g.at], key, func(g *grant, key string) int { return cmp.Compare(g.binding, key) })
		grants[g.at] = slices.Insert(grants[g.at], at, g)
	}
}

// unbind drops the grants of a binding.
func (x *rbacIndex) unbind(from *bindingIndex, key string) {
	for _, g := range from.bindings[key] {
		from.drop(g)
		if roles, roleKey := x.in(&g.ref, g.at.namespace); roles != nil {
			g.role.bound--
			roles.release(roleKey, g.role)
		}
	}
	delete(from.bindings, key)
}

// reset drops all bindings.
func (x *rbacIndex) resetBindings(of *bindingIndex) {
	for key := range of.bindings {
		x.unbind(of, key)
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
	s := fmt.Sprintf("RBAC: allowed by %s %q of %s %q to %s", kind, name, g.ref.Kind, g.ref.Name, describeSubject(&g.subject, g.at.namespace))
	g.said.Store(&s)
	return s
}
