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

	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/storage"
)

// catchUpTimeout is the maximum time for which a decision waits until the cache has received a
// known write of roles or bindings. That takes microseconds, unless the cache is disconnected.
const catchUpTimeout = time.Second

// rbacIndex holds roles by key and grants by subject.
type rbacIndex struct {
	clusterRoles, roles       roleIndex
	clusterBindings, bindings bindingIndex
}

// roleIndex holds roles by key: "name" or "namespace/name". Besides existing roles it contains
// missing ones that bindings refer to.
type roleIndex map[string]*role

// role is the part of a role that decisions need.
type role struct {
	rules []rbacv1.PolicyRule
	// resources is a Bloom filter of the resources in rules, by which decisions skip most roles:
	// see resourceBit.
	resources uint64
	exists    bool
	grants    int // number of grants that refer to the role
}

// bindingIndex holds the grants by user or group name and namespace, and the grants of each binding
// by its key.
type bindingIndex struct {
	users, groups map[subjectKey][]*grant
	bindings      map[string][]*grant
}

type subjectKey struct{ namespace, name string }

// grant is one subject of one binding. Grants are immutable.
type grant struct {
	binding      string // its key
	position     int    // of the subject in the binding
	ref          rbacv1.RoleRef
	role         *role // nil if the kind of ref is unknown
	subject      rbacv1.Subject
	key          subjectKey
	isGroup      bool
	cachedReason atomic.Pointer[string]
}

func newRBACIndex() *rbacIndex {
	return &rbacIndex{clusterRoles: roleIndex{}, roles: roleIndex{}, clusterBindings: newBindingIndex(), bindings: newBindingIndex()}
}

func newBindingIndex() bindingIndex {
	return bindingIndex{users: map[subjectKey][]*grant{}, groups: map[subjectKey][]*grant{}, bindings: map[string][]*grant{}}
}

// roleKey returns the index and key of a role that is referenced from a namespace, which is empty
// for a cluster role binding. The index is nil if the kind is not a role.
func (x *rbacIndex) roleKey(ref *rbacv1.RoleRef, namespace string) (roles roleIndex, key string) {
	switch ref.Kind {
	case "ClusterRole":
		return x.clusterRoles, ref.Name
	case "Role":
		return x.roles, namespace + "/" + ref.Name
	}
	return nil, ""
}

// rules returns the rules of a role that is referenced from a namespace.
func (x *rbacIndex) rules(ref *rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error) {
	roles, key := x.roleKey(ref, namespace)
	if r := roles[key]; r != nil && r.exists {
		return r.rules, nil
	}
	return nil, roleNotFound(ref)
}

func roleNotFound(ref *rbacv1.RoleRef) error {
	switch ref.Kind {
	case "ClusterRole":
		return apierrors.NewNotFound(rbacv1.Resource("clusterrole"), ref.Name)
	case "Role":
		return apierrors.NewNotFound(rbacv1.Resource("role"), ref.Name)
	}
	return fmt.Errorf("unsupported role reference kind: %q", ref.Kind)
}

// Bits of role.resources: one for paths, the others for resources by hash.
const (
	pathsBit        = 1 << 63
	allResourceBits = pathsBit - 1
)

// resourceBit returns the bit of a resource, or of a pattern without a star. It ignores the part
// after a slash, which is a subresource, or part of a name that is used as a resource, such as the
// URL of an audience.
func resourceBit(resource string) uint64 {
	resource, _, _ = strings.Cut(resource, "/")
	h := uint64(14695981039346656037) // FNV-1a
	for i := range len(resource) {
		h = (h ^ uint64(resource[i])) * 1099511628211
	}
	return 1 << (h >> 32 % 63)
}

func ruleBits(rules []rbacv1.PolicyRule) (bits uint64) {
	for i := range rules {
		if len(rules[i].NonResourceURLs) > 0 {
			bits |= pathsBit
		}
		for _, pattern := range rules[i].Resources {
			if pattern == "*" || strings.HasPrefix(pattern, "*/") {
				bits |= allResourceBits
			} else {
				bits |= resourceBit(pattern)
			}
		}
	}
	return bits
}

// set adds or replaces a role.
func (x roleIndex) set(key string, rules []rbacv1.PolicyRule) {
	r := x.at(key)
	r.rules, r.resources, r.exists = rules, ruleBits(rules), true
}

func (x roleIndex) at(key string) *role {
	r := x[key]
	if r == nil {
		r = &role{}
		x[key] = r
	}
	return r
}

// unset removes the rules of a role.
func (x roleIndex) unset(key string) {
	if r := x[key]; r != nil {
		r.rules, r.resources, r.exists = nil, 0, false
		x.release(key, r)
	}
}

// release deletes the entry of a missing role that no binding refers to.
func (x roleIndex) release(key string, r *role) {
	if !r.exists && r.grants == 0 {
		delete(x, key)
	}
}

func (x roleIndex) reset() {
	for key := range x {
		x.unset(key)
	}
}

// apply applies one change of a role.
func (x roleIndex) apply(s storage.Step) error {
	x.unset(s.Item.Key())
	if s.Deleted {
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

// applyBinding applies one change of a binding.
func (x *rbacIndex) applyBinding(bindings *bindingIndex, s storage.Step) error {
	key := s.Item.Key()
	x.unbind(bindings, key)
	if s.Deleted {
		return nil
	}
	obj, err := s.Item.Object()
	if err != nil {
		return err
	}
	switch b := obj.(type) {
	case *rbacv1.ClusterRoleBinding:
		x.bind(bindings, key, "", b.RoleRef, b.Subjects)
	case *rbacv1.RoleBinding:
		x.bind(bindings, key, b.Namespace, b.RoleRef, b.Subjects)
	}
	return nil
}

// bind adds the grants of a binding.
func (x *rbacIndex) bind(bindings *bindingIndex, key, namespace string, ref rbacv1.RoleRef, subjects []rbacv1.Subject) {
	var bound *role
	if roles, roleKey := x.roleKey(&ref, namespace); roles != nil {
		bound = roles.at(roleKey)
		defer roles.release(roleKey, bound)
	}
	for i, s := range subjects {
		g := &grant{binding: key, position: i, ref: ref, role: bound, subject: s, key: subjectKey{namespace, s.Name}}
		switch s.Kind {
		case rbacv1.GroupKind:
			g.isGroup = true
		case rbacv1.UserKind:
		case rbacv1.ServiceAccountKind:
			accountNamespace := cmp.Or(s.Namespace, namespace)
			if accountNamespace == "" {
				continue
			}
			g.key.name = request.ServiceAccountName(accountNamespace, s.Name)
		default:
			continue
		}
		if bound != nil {
			bound.grants++
		}
		bindings.bindings[key] = append(bindings.bindings[key], g)
		grants := bindings.bySubject(g)
		i, _ := slices.BinarySearchFunc(grants[g.key], key, func(g *grant, key string) int { return cmp.Compare(g.binding, key) })
		grants[g.key] = slices.Insert(grants[g.key], i, g)
	}
}

// unbind removes the grants of a binding.
func (x *rbacIndex) unbind(bindings *bindingIndex, key string) {
	for _, g := range bindings.bindings[key] {
		bindings.drop(g)
		if roles, roleKey := x.roleKey(&g.ref, g.key.namespace); roles != nil {
			g.role.grants--
			roles.release(roleKey, g.role)
		}
	}
	delete(bindings.bindings, key)
}

func (x *rbacIndex) resetBindings(bindings *bindingIndex) {
	for key := range bindings.bindings {
		x.unbind(bindings, key)
	}
}

func (x *bindingIndex) drop(g *grant) {
	grants := x.bySubject(g)
	rest := slices.DeleteFunc(grants[g.key], func(other *grant) bool { return other == g })
	if len(rest) == 0 {
		delete(grants, g.key)
		return
	}
	grants[g.key] = rest
}

func (x *bindingIndex) bySubject(g *grant) map[subjectKey][]*grant {
	if g.isGroup {
		return x.groups
	}
	return x.users
}

// reason returns the reason of a decision. It is cached, since every allowed request uses it.
func (g *grant) reason() string {
	if s := g.cachedReason.Load(); s != nil {
		return *s
	}
	kind, name := "ClusterRoleBinding", g.binding
	if g.key.namespace != "" {
		kind, name = "RoleBinding", g.binding[len(g.key.namespace)+1:]+"/"+g.key.namespace
	}
	s := fmt.Sprintf("RBAC: allowed by %s %q of %s %q to %s", kind, name, g.ref.Kind, g.ref.Name, describeSubject(&g.subject, g.key.namespace))
	g.cachedReason.Store(&s)
	return s
}
