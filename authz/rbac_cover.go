package authz

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// uncovered splits wanted into single permissions and returns the ones that no rule of held
// covers.
func uncovered(held, wanted []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	var missing []rbacv1.PolicyRule
	for _, rule := range wanted {
		for _, one := range splitRule(rule) {
			if !slices.ContainsFunc(held, func(h rbacv1.PolicyRule) bool { return covers(&h, &one) }) {
				missing = append(missing, one)
			}
		}
	}
	return missing
}

// splitRule splits a rule into rules with a single group, resource, name and verb each.
func splitRule(rule rbacv1.PolicyRule) []rbacv1.PolicyRule {
	var out []rbacv1.PolicyRule
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				one := rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{verb}}
				if len(rule.ResourceNames) == 0 {
					out = append(out, one)
				}
				for _, name := range rule.ResourceNames {
					one.ResourceNames = []string{name}
					out = append(out, one)
				}
			}
		}
	}
	for _, path := range rule.NonResourceURLs {
		for _, verb := range rule.Verbs {
			out = append(out, rbacv1.PolicyRule{NonResourceURLs: []string{path}, Verbs: []string{verb}})
		}
	}
	return out
}

// covers reports whether the rule held includes the single permission one.
func covers(held, one *rbacv1.PolicyRule) bool {
	if !containsOrStar(held.Verbs, one.Verbs[0]) {
		return false
	}
	if len(one.NonResourceURLs) > 0 {
		return pathMatches(held.NonResourceURLs, one.NonResourceURLs[0])
	}
	if !containsOrStar(held.APIGroups, one.APIGroups[0]) || !resourceCovered(held.Resources, one.Resources[0]) {
		return false
	}
	return len(held.ResourceNames) == 0 || len(one.ResourceNames) > 0 && contains(held.ResourceNames, one.ResourceNames[0])
}

// resourceCovered is like resourceMatches for the resource of a rule, which may be a pattern
// itself.
func resourceCovered(held []string, one string) bool {
	if containsOrStar(held, one) {
		return true
	}
	_, sub, ok := strings.Cut(one, "/")
	return ok && contains(held, "*/"+sub)
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
