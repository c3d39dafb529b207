package authz

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Bounds of the check that a user holds the permissions of a role. A rule of 70 kB can stand for
// 10^10 permissions: each group with each resource, verb and name.
const (
	// maxCoverWork is the maximum number of comparisons of a permission with a held rule.
	maxCoverWork = 50_000_000
	// maxMissing is the number of missing permissions from which on the search for more ends.
	maxMissing = 10_000
)

var errTooManyPermissions = errors.New("the rules have too many permissions to be compared with those of the user")

// uncovered splits wanted into single permissions and returns the ones that no rule of held
// covers. It returns errTooManyPermissions if it found none within maxCoverWork.
func uncovered(held, wanted []rbacv1.PolicyRule) ([]rbacv1.PolicyRule, error) {
	c := cover{held: make([]*heldRule, len(held)), left: maxCoverWork}
	for i := range held {
		c.held[i] = newHeldRule(&held[i])
	}
	for i := range wanted {
		c.left -= len(held)
		if !slices.ContainsFunc(c.held, func(h *heldRule) bool { return h.includes(&wanted[i]) }) {
			c.resources(&wanted[i])
			c.paths(&wanted[i])
		}
		if c.isDone() {
			break
		}
	}
	if c.left <= 0 && len(c.missing) == 0 {
		return nil, errTooManyPermissions
	}
	return c.missing, nil
}

// cover searches for permissions that no held rule covers.
type cover struct {
	held    []*heldRule
	missing []rbacv1.PolicyRule
	left    int // of maxCoverWork
}

func (c *cover) isDone() bool { return c.left <= 0 || len(c.missing) >= maxMissing }

// among returns the rules for which is reports true.
func (c *cover) among(rules []*heldRule, is func(h *heldRule) bool) []*heldRule {
	c.left -= len(rules) + 1
	var out []*heldRule
	for _, h := range rules {
		if is(h) {
			out = append(out, h)
		}
	}
	return out
}

// resources searches the permissions of a rule for resources.
func (c *cover) resources(rule *rbacv1.PolicyRule) {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, group := range rule.APIGroups {
		ofGroup := c.among(c.held, func(h *heldRule) bool { return h.groups.hasOrStar(group) })
		for _, resource := range rule.Resources {
			ofResource := c.among(ofGroup, func(h *heldRule) bool { return h.coversResource(resource) })
			for _, verb := range rule.Verbs {
				ofVerb := c.among(ofResource, func(h *heldRule) bool { return h.verbs.hasOrStar(verb) })
				for _, name := range names {
					if c.isDone() {
						return
					}
					isCovered := func(h *heldRule) bool { return len(h.names) == 0 || len(rule.ResourceNames) > 0 && h.names.has(name) }
					if c.left -= len(ofVerb) + 1; slices.ContainsFunc(ofVerb, isCovered) {
						continue
					}
					one := rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{verb}}
					if len(rule.ResourceNames) > 0 {
						one.ResourceNames = []string{name}
					}
					c.missing = append(c.missing, one)
				}
			}
		}
	}
}

// paths searches the permissions of a rule for paths.
func (c *cover) paths(rule *rbacv1.PolicyRule) {
	for _, path := range rule.NonResourceURLs {
		ofPath := c.among(c.held, func(h *heldRule) bool { return pathMatches(h.paths, path) })
		for _, verb := range rule.Verbs {
			if c.isDone() {
				return
			}
			if c.left -= len(ofPath) + 1; !slices.ContainsFunc(ofPath, func(h *heldRule) bool { return h.verbs.hasOrStar(verb) }) {
				c.missing = append(c.missing, rbacv1.PolicyRule{NonResourceURLs: []string{path}, Verbs: []string{verb}})
			}
		}
	}
}

// heldRule is a rule in a form in which single permissions are looked up.
type heldRule struct {
	verbs, groups, resources, names stringSet
	paths                           []string
}

func newHeldRule(r *rbacv1.PolicyRule) *heldRule {
	return &heldRule{
		verbs: newStringSet(r.Verbs), groups: newStringSet(r.APIGroups), resources: newStringSet(r.Resources),
		names: newStringSet(r.ResourceNames), paths: r.NonResourceURLs,
	}
}

// includes reports whether h covers all permissions of a rule for resources.
func (h *heldRule) includes(rule *rbacv1.PolicyRule) bool {
	return len(rule.NonResourceURLs) == 0 && h.verbs.hasAllOrStar(rule.Verbs) && h.groups.hasAllOrStar(rule.APIGroups) &&
		!slices.ContainsFunc(rule.Resources, func(r string) bool { return !h.coversResource(r) }) &&
		(len(h.names) == 0 || len(rule.ResourceNames) > 0 && !slices.ContainsFunc(rule.ResourceNames,
			func(n string) bool { return !h.names.has(n) }))
}

// coversResource is like resourceMatches for the resource of a rule, which may be a pattern
// itself.
func (h *heldRule) coversResource(one string) bool {
	if h.resources.hasOrStar(one) {
		return true
	}
	_, sub, ok := strings.Cut(one, "/")
	return ok && h.resources.has("*/"+sub)
}

// stringSet is a set of the values in a list of a rule.
type stringSet map[string]struct{}

func newStringSet(list []string) stringSet {
	s := make(stringSet, len(list))
	for _, v := range list {
		s[v] = struct{}{}
	}
	return s
}

func (s stringSet) has(v string) bool {
	_, ok := s[v]
	return ok
}

func (s stringSet) hasOrStar(v string) bool { return s.has("*") || s.has(v) }

func (s stringSet) hasAllOrStar(list []string) bool {
	return s.has("*") || !slices.ContainsFunc(list, func(v string) bool { return !s.has(v) })
}

// describeRules formats missing permissions: sorted, one line for each resource.
func describeRules(rules []rbacv1.PolicyRule) string {
	type simple struct{ group, resource, name string }
	together := map[simple]int{}
	var compact []rbacv1.PolicyRule
	for _, r := range rules {
		if len(r.NonResourceURLs) > 0 {
			compact = append(compact, r)
			continue
		}
		key := simple{r.APIGroups[0], r.Resources[0], fmt.Sprintf("%q", r.ResourceNames)}
		if at, ok := together[key]; ok {
			compact[at].Verbs = append(compact[at].Verbs, r.Verbs...)
			continue
		}
		together[key] = len(compact)
		r.Verbs = slices.Clone(r.Verbs)
		compact = append(compact, r)
	}
	lines := make([]string, len(compact))
	for i, r := range compact {
		lines[i] = describeRule(&r)
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "\n")
}

func describeRule(r *rbacv1.PolicyRule) string {
	var parts []string
	for _, part := range []struct {
		name string
		list []string
	}{
		{"APIGroups", r.APIGroups}, {"Resources", r.Resources}, {"NonResourceURLs", r.NonResourceURLs},
		{"ResourceNames", r.ResourceNames}, {"Verbs", r.Verbs},
	} {
		if len(part.list) > 0 {
			parts = append(parts, fmt.Sprintf("%s:%q", part.name, part.list))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
