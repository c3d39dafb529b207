package authz

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/miniapiserver/miniapiserver/internal/monotonic"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/storage"
)

// RBAC allows the requests that roles allow which are bound to the user or one of its groups.
//
// It decides by an index that it updates from the caches of the four kinds: the first decision
// after a change applies the change. Each decision therefore reflects every role and binding
// written through this server before, and costs only as much as the user's own bindings.
type RBAC struct {
	// mu guards the index and the cursors: decisions read the index, catchUp writes it.
	mu      sync.RWMutex
	index   *rbacIndex
	sources []rbacSource
	// staleUntil is the reading of package monotonic until which decisions do not wait for the cache,
	// because it has timed out.
	staleUntil atomic.Int64
}

// rbacSource updates the index from one kind.
type rbacSource struct {
	cursor *storage.Cursor
	reset  func()
	apply  func(storage.Step) error
}

// NewRBAC returns an authorizer by the roles and bindings in reg.
func NewRBAC(reg *registry.Registry) (*RBAC, error) {
	x := newRBACIndex()
	r := &RBAC{index: x}
	for _, kind := range []struct {
		resource string
		reset    func()
		apply    func(storage.Step) error
	}{
		{"clusterroles", func() { x.clusterRoles.reset() }, x.clusterRoles.apply},
		{"roles", func() { x.roles.reset() }, x.roles.apply},
		{"clusterrolebindings", func() { x.resetBindings(&x.clusterBindings) },
			func(s storage.Step) error { return x.applyBinding(&x.clusterBindings, s) }},
		{"rolebindings", func() { x.resetBindings(&x.bindings) }, func(s storage.Step) error { return x.applyBinding(&x.bindings, s) }},
	} {
		cursor, err := reg.Cursor(schema.GroupResource{Group: rbacv1.GroupName, Resource: kind.resource})
		if err != nil {
			return nil, err
		}
		r.sources = append(r.sources, rbacSource{cursor: cursor, reset: kind.reset, apply: kind.apply})
	}
	return r, nil
}

// lock returns the up-to-date index, locked for reading until unlock is called.
func (r *RBAC) lock(ctx context.Context) (index *rbacIndex, unlock func()) {
	r.mu.RLock()
	if r.isBehind() {
		r.mu.RUnlock()
		r.catchUp(ctx)
		r.mu.RLock()
	}
	return r.index, r.mu.RUnlock
}

func (r *RBAC) isBehind() bool {
	for i := range r.sources {
		if r.sources[i].cursor.Behind() {
			return true
		}
	}
	return false
}

// catchUp applies changes to the index. If the cache does not receive a known write in time, it is
// disconnected from etcd and decisions use the index as it is; for a while later decisions do not
// wait again.
func (r *RBAC) catchUp(ctx context.Context) {
	if monotonic.Now() > r.staleUntil.Load() {
		ctx, cancel := context.WithTimeout(ctx, catchUpTimeout)
		for _, s := range r.sources {
			if s.cursor.Wait(ctx) != nil && context.Cause(ctx) == context.DeadlineExceeded {
				r.staleUntil.Store(monotonic.Now() + int64(catchUpTimeout))
				break
			}
		}
		cancel()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sources {
		steps, all := s.cursor.Next()
		if all {
			s.reset()
		}
		for _, step := range steps {
			// An object that cannot be decoded grants nothing; storage has logged the error.
			_ = s.apply(step)
		}
	}
}

// Authorize implements Authorizer.
func (r *RBAC) Authorize(ctx context.Context, user *request.User, info *request.Info) (Decision, string, error) {
	if user == nil {
		return NoOpinion, "", nil
	}
	index, unlock := r.lock(ctx)
	defer unlock()
	v := grantVisitor{index: index, user: user, namespace: info.Namespace, resources: pathsBit}
	if info.IsResource {
		v.resources = resourceBit(info.Resource)
	}
	var by *grant
	v.each(func(g *grant, rules []rbacv1.PolicyRule) bool {
		for i := range rules {
			if ruleAllows(&rules[i], info) {
				by = g
				return false
			}
		}
		return true
	})
	if by != nil {
		return Allow, v.first(by).reason(), nil
	}
	if len(v.errs) == 0 {
		return NoOpinion, "", nil
	}
	return NoOpinion, "RBAC: " + utilerrors.NewAggregate(v.errs).Error(), nil
}

// RulesFor implements RuleResolver.
func (r *RBAC) RulesFor(ctx context.Context, user *request.User, namespace string) (Rules, error) {
	granted, err := r.granted(ctx, user, namespace)
	var out Rules
	for _, rule := range granted {
		if len(rule.Resources) > 0 {
			out.Resources = append(out.Resources, authorizationv1.ResourceRule{
				Verbs: rule.Verbs, APIGroups: rule.APIGroups, Resources: rule.Resources, ResourceNames: rule.ResourceNames})
		}
		if len(rule.NonResourceURLs) > 0 {
			out.Paths = append(out.Paths, authorizationv1.NonResourceRule{Verbs: rule.Verbs, NonResourceURLs: rule.NonResourceURLs})
		}
	}
	return out, err
}

// granted returns all rules of a user in a namespace. Together with an error it returns the rules
// that could be resolved.
func (r *RBAC) granted(ctx context.Context, user *request.User, namespace string) ([]rbacv1.PolicyRule, error) {
	index, unlock := r.lock(ctx)
	defer unlock()
	var all []rbacv1.PolicyRule
	v := grantVisitor{index: index, user: user, namespace: namespace, resources: pathsBit | allResourceBits}
	v.each(func(g *grant, rules []rbacv1.PolicyRule) bool {
		if v.first(g) == g { // once for each binding
			all = append(all, rules...)
		}
		return true
	})
	return all, utilerrors.NewAggregate(v.errs)
}

// roleRules returns the rules of a role that is referenced from a namespace.
func (r *RBAC) roleRules(ctx context.Context, ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error) {
	index, unlock := r.lock(ctx)
	defer unlock()
	return index.rules(&ref, namespace)
}

// grantVisitor iterates over the grants of a user: cluster-wide ones, then those of a namespace.
type grantVisitor struct {
	index     *rbacIndex
	user      *request.User
	namespace string
	// resources filters out roles without a rule for the requested resource.
	resources uint64
	// errs are the errors of missing roles.
	errs []error
}

// each calls f with every grant and its rules until f returns false.
func (v *grantVisitor) each(f func(*grant, []rbacv1.PolicyRule) bool) {
	if v.in(&v.index.clusterBindings, "", f) && v.namespace != "" {
		v.in(&v.index.bindings, v.namespace, f)
	}
}

func (v *grantVisitor) in(bindings *bindingIndex, namespace string, f func(*grant, []rbacv1.PolicyRule) bool) bool {
	if !v.grants(bindings.users[subjectKey{namespace, v.user.Name}], f) {
		return false
	}
	for _, group := range v.user.Groups {
		if !v.grants(bindings.groups[subjectKey{namespace, group}], f) {
			return false
		}
	}
	return true
}

func (v *grantVisitor) grants(grants []*grant, f func(*grant, []rbacv1.PolicyRule) bool) bool {
	for _, g := range grants {
		switch r := g.role; {
		case r == nil || !r.exists:
			v.errs = append(v.errs, roleNotFound(&g.ref))
		case r.resources&v.resources != 0 && !f(g, r.rules):
			return false
		}
	}
	return true
}

// first returns the grant of the same binding to the first of its subjects that is the user or one of the
// user's groups.
func (v *grantVisitor) first(g *grant) *grant {
	if g.position == 0 {
		return g
	}
	bindings, best := &v.index.clusterBindings, g
	if g.key.namespace != "" {
		bindings = &v.index.bindings
	}
	visit := func(grants []*grant) {
		i, _ := slices.BinarySearchFunc(grants, g.binding, func(other *grant, binding string) int { return cmp.Compare(other.binding, binding) })
		for ; i < len(grants) && grants[i].binding == g.binding; i++ {
			if grants[i].position < best.position {
				best = grants[i]
			}
		}
	}
	visit(bindings.users[subjectKey{g.key.namespace, v.user.Name}])
	for _, group := range v.user.Groups {
		visit(bindings.groups[subjectKey{g.key.namespace, group}])
	}
	return best
}

// ruleAllows reports whether a rule allows a request.
func ruleAllows(rule *rbacv1.PolicyRule, info *request.Info) bool {
	if !containsOrStar(rule.Verbs, info.Verb) {
		return false
	}
	if !info.IsResource {
		return pathMatches(rule.NonResourceURLs, info.Path)
	}
	return containsOrStar(rule.APIGroups, info.Group) && resourceMatches(rule.Resources, info.Resource, info.Subresource) &&
		(len(rule.ResourceNames) == 0 || contains(rule.ResourceNames, info.Name))
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

func containsOrStar(list []string, s string) bool {
	for _, e := range list {
		if e == "*" || e == s {
			return true
		}
	}
	return false
}

// resourceMatches reports whether the list contains a resource: "pods" is the resource itself,
// "pods/log" its subresource, "*/log" that subresource of any resource, "*" matches all.
func resourceMatches(list []string, resource, sub string) bool {
	for _, e := range list {
		if e == "*" {
			return true
		}
		if sub == "" {
			if e == resource {
				return true
			}
			continue
		}
		before, ok := strings.CutSuffix(e, sub)
		if ok && (before == "*/" || len(before) == len(resource)+1 && before[len(resource)] == '/' && before[:len(resource)] == resource) {
			return true
		}
	}
	return false
}

// pathMatches reports whether the list contains a path; an entry may end with a star.
func pathMatches(list []string, path string) bool {
	for _, e := range list {
		if request.MatchesPath(e, path) {
			return true
		}
	}
	return false
}

func describeSubject(s *rbacv1.Subject, namespace string) string {
	if s.Kind != rbacv1.ServiceAccountKind {
		return fmt.Sprintf("%s %q", s.Kind, s.Name)
	}
	if s.Namespace != "" {
		namespace = s.Namespace
	}
	return fmt.Sprintf("%s %q", s.Kind, s.Name+"/"+namespace)
}
