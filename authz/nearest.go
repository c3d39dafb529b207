package authz

import (
	"cmp"
	"context"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/miniapiserver/miniapiserver/request"
)

// What a rule may lack for a request (BoundRule.Lacks).
const (
	LacksNamespace = "namespace"
	LacksName      = "name"
	LacksVerb      = "verb"
	LacksGroup     = "group"
	LacksResource  = "resource"
	LacksPath      = "path"
)

// BoundRule is a rule that a user has by a binding.
type BoundRule struct {
	// Binding is "ClusterRoleBinding NAME" or "RoleBinding NAMESPACE/NAME".
	Binding string
	// Role is "ClusterRole NAME" or "Role NAMESPACE/NAME", and Index the position of the rule in it.
	Role  string
	Index int
	// Rule describes the rule in one line: "get,list pods in namespace a".
	Rule string
	// Lacks are the parts of a request that the rule does not allow; empty if it allows the request.
	Lacks []string
}

// Bounds of the search for near rules.
const (
	// maxNearRules is the number of rules that Nearest returns.
	maxNearRules = 5
	// maxNearWork is the number of values in rules that Nearest compares. The rules of the user in the namespace of the request come
	// first, so that a user with more of them misses only rules of other namespaces.
	maxNearWork = 1_000_000
	// maxRuleText is the length of BoundRule.Rule in bytes.
	maxRuleText = 300
)

// AllowedBy returns the first rule that allows a request of a user. It reports false if there is none.
func (r *RBAC) AllowedBy(ctx context.Context, user *request.User, info *request.Info) (BoundRule, bool) {
	if user == nil {
		return BoundRule{}, false
	}
	index, unlock := r.lock(ctx)
	defer unlock()
	v := grantVisitor{index: index, user: user, namespace: info.Namespace, resources: pathsBit | allResourceBits}
	var found BoundRule
	var ok bool
	v.each(func(g *grant, rules []rbacv1.PolicyRule) bool {
		for i := range rules {
			if ruleAllows(&rules[i], info) {
				found, ok = g.boundRule(i, nil), true
				return false
			}
		}
		return true
	})
	return found, ok
}

// Nearest returns up to five rules that a user has, in any namespace, and that come nearest to a request which none of them
// allows, the nearest first.
func (r *RBAC) Nearest(ctx context.Context, user *request.User, info *request.Info) []BoundRule {
	if user == nil {
		return nil
	}
	index, unlock := r.lock(ctx)
	defer unlock()
	s := nearSearch{info: info, left: maxNearWork}
	s.scan(index.clusterBindings.grantsOf(user, ""))
	if info.Namespace != "" {
		s.scan(index.bindings.grantsOf(user, info.Namespace))
	}
	if info.IsResource { // a RoleBinding grants no paths
		for _, namespace := range index.bindings.namespacesOf(user) {
			if namespace != info.Namespace {
				s.scan(index.bindings.grantsOf(user, namespace))
			}
		}
	}
	out := make([]BoundRule, len(s.best))
	for i, near := range s.best {
		out[i] = near.grant.boundRule(near.rule, near.lacks)
	}
	return out
}

// grantsOf returns the grants of a user and of the user's groups in a namespace.
func (x *bindingIndex) grantsOf(user *request.User, namespace string) [][]*grant {
	all := [][]*grant{x.users[subjectKey{namespace, user.Name}]}
	for _, group := range user.Groups {
		all = append(all, x.groups[subjectKey{namespace, group}])
	}
	return all
}

// namespacesOf returns the namespaces in which a user has grants, sorted.
func (x *bindingIndex) namespacesOf(user *request.User) []string {
	groups := newStringSet(user.Groups)
	found := stringSet{}
	for key := range x.users {
		if key.name == user.Name {
			found[key.namespace] = struct{}{}
		}
	}
	for key := range x.groups {
		if groups.has(key.name) {
			found[key.namespace] = struct{}{}
		}
	}
	out := make([]string, 0, len(found))
	for namespace := range found {
		out = append(out, namespace)
	}
	slices.Sort(out)
	return out
}

// nearSearch collects the nearest rules to a request.
type nearSearch struct {
	info *request.Info
	left int // of maxNearWork
	best []nearRule
}

// nearRule is a rule of a grant with its distance from the request.
type nearRule struct {
	grant    *grant
	rule     int
	lacks    []string
	distance int
}

// scan compares the rules of grants with the request.
func (s *nearSearch) scan(all [][]*grant) {
	for _, grants := range all {
		for _, g := range grants {
			if s.left--; s.left <= 0 {
				return
			}
			if g.role == nil || !g.role.exists {
				continue
			}
			for i := range g.role.rules {
				s.rule(g, i)
			}
		}
	}
}

func (s *nearSearch) rule(g *grant, i int) {
	rule := &g.role.rules[i]
	s.left -= 1 + len(rule.Verbs) + len(rule.APIGroups) + 2*len(rule.Resources) + len(rule.ResourceNames) + len(rule.NonResourceURLs)
	near := nearRule{grant: g, rule: i}
	if s.left <= 0 || !near.compare(rule, s.info) {
		return
	}
	order := func(a, b nearRule) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(len(a.lacks), len(b.lacks)))
	}
	// The same role may be bound in hundreds of namespaces.
	if same := slices.IndexFunc(s.best, near.isLike); same >= 0 {
		return
	}
	at, _ := slices.BinarySearchFunc(s.best, near, func(a, b nearRule) int { return cmp.Or(order(a, b), -1) })
	if at < maxNearRules {
		s.best = slices.Insert(s.best, at, near)
		s.best = s.best[:min(len(s.best), maxNearRules)]
	}
}

// isLike reports whether another near rule is the same rule of the same role, and lacks the same.
func (n nearRule) isLike(other nearRule) bool {
	return n.grant.role == other.grant.role && n.rule == other.rule && slices.Equal(n.lacks, other.lacks)
}

// compare sets what a rule lacks for a request, and the distance. It returns false if the two have too little in common, or if
// the rule allows the request.
func (n *nearRule) compare(rule *rbacv1.PolicyRule, info *request.Info) bool {
	lack := func(what string, distance int) {
		n.lacks = append(n.lacks, what)
		n.distance += distance
	}
	if !info.IsResource {
		return n.comparePath(rule, info, lack)
	}
	if len(rule.Resources) == 0 {
		return false
	}
	if namespace := n.grant.key.namespace; namespace != "" && namespace != info.Namespace {
		lack(LacksNamespace, 1)
	}
	if len(rule.ResourceNames) > 0 && !contains(rule.ResourceNames, info.Name) {
		lack(LacksName, 2)
	}
	hasVerb := containsOrStar(rule.Verbs, info.Verb)
	if !hasVerb {
		lack(LacksVerb, 3)
	}
	hasGroup := containsOrStar(rule.APIGroups, info.Group)
	if !hasGroup {
		lack(LacksGroup, 5)
	}
	if resourceMatches(rule.Resources, info.Resource, info.Subresource) {
		return len(n.lacks) > 0
	}
	if isSameResource(rule.Resources, info.Resource) { // only the subresource differs
		lack(LacksResource, 4)
		return hasGroup
	}
	lack(LacksResource, 6)
	return hasGroup && hasVerb
}

// comparePath is compare for a request that is not for a resource.
func (n *nearRule) comparePath(rule *rbacv1.PolicyRule, info *request.Info, lack func(string, int)) bool {
	if len(rule.NonResourceURLs) == 0 || n.grant.key.namespace != "" {
		return false
	}
	hasVerb := containsOrStar(rule.Verbs, info.Verb)
	if !hasVerb {
		lack(LacksVerb, 3)
	}
	if pathMatches(rule.NonResourceURLs, info.Path) {
		return !hasVerb
	}
	if slices.ContainsFunc(rule.NonResourceURLs, func(pattern string) bool { return isNearPath(pattern, info.Path) }) {
		lack(LacksPath, 4)
		return true
	}
	lack(LacksPath, 6)
	return hasVerb
}

// isSameResource reports whether the list contains a resource or one of its subresources.
func isSameResource(list []string, resource string) bool {
	return slices.ContainsFunc(list, func(e string) bool {
		before, _, _ := strings.Cut(e, "/")
		return before == resource
	})
}

// isNearPath reports whether a pattern and a path begin with the same segment.
func isNearPath(pattern, path string) bool {
	first := func(path string) string {
		segment, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		return segment
	}
	return first(pattern) == first(path)
}

// boundRule describes a rule of the role of a grant.
func (g *grant) boundRule(i int, lacks []string) BoundRule {
	namespace := g.key.namespace
	out := BoundRule{Binding: "ClusterRoleBinding " + g.binding, Role: g.ref.Kind + " " + g.ref.Name, Index: i, Lacks: lacks}
	if namespace != "" {
		out.Binding = "RoleBinding " + g.binding
		if g.ref.Kind == "Role" {
			out.Role = "Role " + namespace + "/" + g.ref.Name
		}
	}
	out.Rule = ruleText(&g.role.rules[i], namespace)
	return out
}

// ruleText describes a rule in one line.
func ruleText(rule *rbacv1.PolicyRule, namespace string) string {
	t := &limitedText{left: maxRuleText}
	t.list("", rule.Verbs, "")
	if len(rule.NonResourceURLs) > 0 {
		t.list(" ", rule.NonResourceURLs, "")
	}
	if len(rule.Resources) > 0 {
		suffix := ""
		if len(rule.APIGroups) == 1 && rule.APIGroups[0] != "" {
			suffix = "." + rule.APIGroups[0]
		}
		t.list(" ", rule.Resources, suffix)
		if len(rule.APIGroups) > 1 {
			t.list(" of the API groups ", quoteEmpty(rule.APIGroups), "")
		}
	}
	if len(rule.ResourceNames) > 0 {
		t.list(" named ", rule.ResourceNames, "")
	}
	if namespace != "" {
		return t.String() + " in namespace " + namespace
	}
	return t.String()
}

// quoteEmpty returns a list of groups with "" in quotes, and no more of it than a text has room for.
func quoteEmpty(groups []string) []string {
	out := slices.Clone(groups[:min(len(groups), maxRuleText)])
	for i := range out {
		if out[i] == "" {
			out[i] = `""`
		}
	}
	return out
}

// limitedText is a text of limited length. An ellipsis replaces what does not fit.
type limitedText struct {
	strings.Builder
	left  int
	isCut bool
}

// list appends a comma separated list with a prefix, and a suffix of every value.
func (t *limitedText) list(prefix string, values []string, suffix string) {
	t.add(prefix)
	for i, v := range values {
		if t.isCut {
			return
		}
		if i > 0 {
			t.add(",")
		}
		t.add(v)
		t.add(suffix)
	}
}

func (t *limitedText) add(s string) {
	if t.isCut {
		return
	}
	if t.isCut = len(s) > t.left; t.isCut {
		s = strings.ToValidUTF8(s[:t.left], "") + "…"
	}
	t.WriteString(s)
	t.left -= len(s)
}
