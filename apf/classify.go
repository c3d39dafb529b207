package apf

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"

	"github.com/miniapiserver/miniapiserver/request"
)

// classifier finds the flow schema of a request: the first match in the order of precedence
// and name.
//
// Each subject and each verb maps to the set of rules, of all schemas, that it matches. The
// intersection of the user's and the verb's rules is computed first, and only these rules
// are evaluated, in order of precedence.
type classifier struct {
	rules []rule
	// everybody has the rules for all users or all groups; users and groups are keyed by
	// name, accounts (all service accounts of a namespace) by namespace.
	everybody               bitset
	users, groups, accounts map[string]bitset
	verbs                   map[string]bitset
	anyVerb                 bitset
	// catchAll is the schema for requests that no rule matches: the one of lowest precedence,
	// which should be catch-all.
	catchAll *flowSchema
}

// rule is one rule of a schema, without its subjects.
type rule struct {
	schema    *flowSchema
	resources []flowcontrolv1.ResourcePolicyRule
	paths     []flowcontrolv1.NonResourcePolicyRule
}

// flowSchema is a compiled schema.
type flowSchema struct {
	name     string
	uid      []string // as a header value
	by       flowcontrolv1.FlowDistinguisherMethodType
	level    *level
	stats    *flowStats
	levelUID []string
	hashed   bool // its level has more than one queue
}

// bitset is a set of indexes into classifier.rules.
type bitset []uint64

func (b *bitset) add(i int) {
	for len(*b) <= i/64 {
		*b = append(*b, 0)
	}
	(*b)[i/64] |= 1 << (i % 64)
}

// byPrecedence compares schemas by the order in which they are matched.
func byPrecedence(a, b *flowcontrolv1.FlowSchema) int {
	return cmp.Or(cmp.Compare(a.Spec.MatchingPrecedence, b.Spec.MatchingPrecedence), cmp.Compare(a.Name, b.Name))
}

func newClassifier() *classifier {
	return &classifier{users: map[string]bitset{}, groups: map[string]bitset{}, accounts: map[string]bitset{}, verbs: map[string]bitset{}}
}

// add appends a schema; schemas must be added in order of precedence.
func (c *classifier) add(s *flowSchema, rules []flowcontrolv1.PolicyRulesWithSubjects) {
	for _, r := range rules {
		i := len(c.rules)
		c.rules = append(c.rules, rule{s, r.ResourceRules, r.NonResourceRules})
		for _, subject := range r.Subjects {
			c.addSubject(i, subject)
		}
		for _, r := range r.ResourceRules {
			c.addVerbs(i, r.Verbs)
		}
		for _, r := range r.NonResourceRules {
			c.addVerbs(i, r.Verbs)
		}
	}
	c.catchAll = s
}

func (c *classifier) addSubject(i int, s flowcontrolv1.Subject) {
	switch {
	case s.User != nil:
		c.addTo(c.users, i, s.User.Name)
	case s.Group != nil:
		c.addTo(c.groups, i, s.Group.Name)
	case s.ServiceAccount != nil && s.ServiceAccount.Name == flowcontrolv1.NameAll:
		addToSet(c.accounts, i, s.ServiceAccount.Namespace)
	case s.ServiceAccount != nil:
		addToSet(c.users, i, request.ServiceAccountName(s.ServiceAccount.Namespace, s.ServiceAccount.Name))
	}
}

func (c *classifier) addTo(sets map[string]bitset, i int, name string) {
	if name == flowcontrolv1.NameAll {
		c.everybody.add(i)
		return
	}
	addToSet(sets, i, name)
}

func (c *classifier) addVerbs(i int, verbs []string) {
	for _, v := range verbs {
		if v == flowcontrolv1.VerbAll {
			c.anyVerb.add(i)
			continue
		}
		addToSet(c.verbs, i, v)
	}
}

func addToSet(sets map[string]bitset, i int, name string) {
	b := sets[name]
	b.add(i)
	sets[name] = b
}

// match returns the schema of a request.
func (c *classifier) match(u *request.User, info *request.Info) *flowSchema {
	var room [16]bitset
	fits := append(room[:0], c.everybody)
	if b, ok := c.users[u.Name]; ok {
		fits = append(fits, b)
	}
	for _, g := range u.Groups {
		if b, ok := c.groups[g]; ok {
			fits = append(fits, b)
		}
	}
	if account, ok := strings.CutPrefix(u.Name, request.ServiceAccountPrefix); ok {
		if namespace, name, ok := strings.Cut(account, ":"); ok && name != "" && !strings.Contains(name, ":") {
			fits = append(fits, c.accounts[namespace])
		}
	}
	verbs := [...]bitset{c.anyVerb, c.verbs[info.Verb]}
	for i := 0; i*64 < len(c.rules); i++ {
		var ofUser, ofVerb uint64
		for _, b := range fits {
			if i < len(b) {
				ofUser |= b[i]
			}
		}
		for _, b := range verbs {
			if i < len(b) {
				ofVerb |= b[i]
			}
		}
		for candidates := ofUser & ofVerb; candidates != 0; candidates &= candidates - 1 {
			if r := &c.rules[i*64+bits.TrailingZeros64(candidates)]; r.matches(info) {
				return r.schema
			}
		}
	}
	return c.catchAll
}

// matches reports whether the rule matches the request, apart from its subjects.
func (r *rule) matches(info *request.Info) bool {
	if info.IsResource {
		for i := range r.resources {
			if matchesResource(&r.resources[i], info) {
				return true
			}
		}
		return false
	}
	for i := range r.paths {
		if p := &r.paths[i]; containsOrStar(p.Verbs, info.Verb) && slices.ContainsFunc(p.NonResourceURLs, func(pattern string) bool {
			return matchesURL(pattern, info.Path)
		}) {
			return true
		}
	}
	return false
}

// matchesURL reports whether the URL of a rule covers a path: as in kube-apiserver, it covers all paths
// below it, with or without a star at its end.
func matchesURL(url, path string) bool {
	if url == "*" || url == path {
		return true
	}
	prefix := strings.TrimSuffix(url, "*")
	if !strings.HasSuffix(prefix, "/") {
		prefix += "/"
	}
	return strings.HasPrefix(path, prefix)
}

func matchesResource(r *flowcontrolv1.ResourcePolicyRule, info *request.Info) bool {
	resource := info.Resource
	if info.Subresource != "" {
		resource += "/" + info.Subresource
	}
	if !containsOrStar(r.Verbs, info.Verb) || !containsOrStar(r.APIGroups, info.Group) || !containsOrStar(r.Resources, resource) {
		return false
	}
	if info.Namespace == "" {
		return r.ClusterScope
	}
	return containsOrStar(r.Namespaces, info.Namespace)
}

// containsOrStar reports whether list contains value or "*".
func containsOrStar(list []string, value string) bool {
	for _, v := range list {
		if v == value || v == "*" {
			return true
		}
	}
	return false
}

// distinguisher returns the value by which the schema separates its flows: the user, the
// namespace or nothing.
func (s *flowSchema) distinguisher(u *request.User, info *request.Info) string {
	switch s.by {
	case flowcontrolv1.FlowDistinguisherMethodByUserType:
		return u.Name
	case flowcontrolv1.FlowDistinguisherMethodByNamespaceType:
		return info.Namespace
	}
	return ""
}

// IsMutating reports whether requests with the verb may change objects.
func IsMutating(verb string) bool {
	switch verb {
	case "get", "list", "watch":
		return false
	}
	return true
}
