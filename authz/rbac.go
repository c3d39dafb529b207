package authz

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/storage"
)

// RBAC allows what roles say that are bound to the user or to one of its groups.
//
// It decides by an index of its own, which follows the caches of the four kinds:
// whoever asks first after a change takes it in. So a decision knows of every
// role and binding that was written through this server before it was asked for,
// and costs the bindings of the user, however many there are of others.
type RBAC struct {
	// mu guards the index and what it was made from: it is read by decisions and
	// written when something has changed.
	mu      sync.RWMutex
	index   *rbacIndex
	sources []rbacSource
	// cutOff is until when nobody waits for the cache, since it did not come.
	cutOff atomic.Int64
}

// rbacSource is one of the kinds that the index is made of.
type rbacSource struct {
	cursor *storage.Cursor
	reset  func()
	take   func(storage.Step) error
}

// NewRBAC makes an authorizer that reads roles and bindings from reg.
func NewRBAC(reg *registry.Registry) (*RBAC, error) {
	x := newRBACIndex()
	r := &RBAC{index: x}
	for _, kind := range []struct {
		resource string
		reset    func()
		take     func(storage.Step) error
	}{
		{"clusterroles", func() { x.clusterRoles.reset() }, x.clusterRoles.take},
		{"roles", func() { x.roles.reset() }, x.roles.take},
		{"clusterrolebindings", func() { x.resetBindings(&x.clusterBindings) }, func(s storage.Step) error { return x.takeBinding(&x.clusterBindings, s) }},
		{"rolebindings", func() { x.resetBindings(&x.bindings) }, func(s storage.Step) error { return x.takeBinding(&x.bindings, s) }},
	} {
		cursor, err := reg.Cursor(schema.GroupResource{Group: rbacv1.GroupName, Resource: kind.resource})
		if err != nil {
			return nil, err
		}
		r.sources = append(r.sources, rbacSource{cursor: cursor, reset: kind.reset, take: kind.take})
	}
	return r, nil
}

// lock returns the index, as new as the caches; the caller calls unlock when it
// has read what it wanted.
func (r *RBAC) lock(ctx context.Context) (index *rbacIndex, unlock func()) {
	r.mu.RLock()
	if r.behind() {
		r.mu.RUnlock()
		r.catchUp(ctx)
		r.mu.RLock()
	}
	return r.index, r.mu.RUnlock
}

func (r *RBAC) behind() bool {
	for i := range r.sources {
		if r.sources[i].cursor.Behind() {
			return true
		}
	}
	return false
}

// catchUp takes in what has changed. When the cache does not get a write that is
// known of, decisions are made by what there is: the cache is cut off from etcd
// then, and nothing newer is to be had. Not everybody waits for that.
func (r *RBAC) catchUp(ctx context.Context) {
	if time.Now().UnixNano() > r.cutOff.Load() {
		ctx, cancel := context.WithTimeout(ctx, catchUpTimeout)
		for _, s := range r.sources {
			if s.cursor.Wait(ctx) != nil && context.Cause(ctx) == context.DeadlineExceeded {
				r.cutOff.Store(time.Now().Add(catchUpTimeout).UnixNano())
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
			// What cannot be read grants nothing; storage has told of it.
			_ = s.take(step)
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
	v := visit{index: index, user: user, namespace: info.Namespace, about: aboutPaths}
	if info.IsResource {
		v.about = aboutResource(info.Resource)
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
		return Allow, by.reason(), nil
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

// granted are all rules that a user has in a namespace. With an error there
// still are those that could be found.
func (r *RBAC) granted(ctx context.Context, user *request.User, namespace string) ([]rbacv1.PolicyRule, error) {
	index, unlock := r.lock(ctx)
	defer unlock()
	var all []rbacv1.PolicyRule
	v := visit{index: index, user: user, namespace: namespace, about: aboutPaths | aboutEverything}
	v.each(func(_ *grant, rules []rbacv1.PolicyRule) bool {
		all = append(all, rules...)
		return true
	})
	return all, utilerrors.NewAggregate(v.errs)
}

// rulesOf are the rules of a role that is bound in a namespace.
func (r *RBAC) rulesOf(ctx context.Context, ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error) {
	index, unlock := r.lock(ctx)
	defer unlock()
	return index.rules(&ref, namespace)
}

// visit goes through what is granted to a user: cluster-wide and then in a
// namespace.
type visit struct {
	index     *rbacIndex
	user      *request.User
	namespace string
	// about leaves out the roles that have no rule about what is asked.
	about uint64
	// errs are of roles that are bound but not there.
	errs []error
}

// each calls f with every grant and its rules until it returns false.
func (v *visit) each(f func(*grant, []rbacv1.PolicyRule) bool) {
	if v.in(&v.index.clusterBindings, "", f) && v.namespace != "" {
		v.in(&v.index.bindings, v.namespace, f)
	}
}

func (v *visit) in(bindings *bindingIndex, namespace string, f func(*grant, []rbacv1.PolicyRule) bool) bool {
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

func (v *visit) grants(grants []*grant, f func(*grant, []rbacv1.PolicyRule) bool) bool {
	for _, g := range grants {
		switch r := g.role; {
		case r == nil || !r.there:
			v.errs = append(v.errs, errNoRole(&g.ref))
		case r.about&v.about != 0 && !f(g, r.rules):
			return false
		}
	}
	return true
}

// ruleAllows tells whether a rule covers a request.
func ruleAllows(rule *rbacv1.PolicyRule, info *request.Info) bool {
	if !hasOrStar(rule.Verbs, info.Verb) {
		return false
	}
	if !info.IsResource {
		return pathMatches(rule.NonResourceURLs, info.Path)
	}
	return hasOrStar(rule.APIGroups, info.Group) && resourceMatches(rule.Resources, info.Resource, info.Subresource) &&
		(len(rule.ResourceNames) == 0 || has(rule.ResourceNames, info.Name))
}

func has(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

func hasOrStar(list []string, s string) bool {
	for _, e := range list {
		if e == "*" || e == s {
			return true
		}
	}
	return false
}

// resourceMatches: "pods" is the resource alone, "pods/log" its subresource,
// "*/log" that of any resource, "*" everything.
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

// pathMatches: a path may end with a star.
func pathMatches(list []string, path string) bool {
	for _, e := range list {
		if e == "*" || e == path || strings.HasSuffix(e, "*") && strings.HasPrefix(path, strings.TrimRight(e, "*")) {
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
