package admissionregistration

import (
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// staticSuffix is the end of the names of configurations that a server reads from files. Clients
// cannot create objects with such names.
const (
	staticSuffix = ".static.k8s.io"
	isStatic     = `names ending with ".static.k8s.io" are reserved for static manifest-based configurations and cannot be managed via the API`
)

// exemptRuleWarnings warns about rules for reviews, for which no webhook is called.
func exemptRuleWarnings(webhook int, rules []admissionv1.RuleWithOperations) (warnings []string) {
	for i, r := range rules {
		if slices.Contains(r.APIGroups, "*") || slices.Contains(r.Resources, "*") {
			continue
		}
		seen := map[schema.GroupResource]bool{}
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				named := schema.GroupResource{Group: group, Resource: resource}
				if isReview(named) && !seen[named] {
					warnings = append(warnings, fmt.Sprintf("webhooks[%d].rules[%d]: %s is excluded from admission webhooks; this rule will have no effect", webhook, i, named))
				}
				seen[named] = true
			}
		}
	}
	return warnings
}

// isReview reports whether a resource is one of the reviews that are exempt from webhooks.
func isReview(r schema.GroupResource) bool {
	switch r.Group {
	case "authentication.k8s.io":
		return r.Resource == "selfsubjectreviews" || r.Resource == "tokenreviews"
	case "authorization.k8s.io":
		return slices.Contains([]string{"localsubjectaccessreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews",
			"subjectaccessreviews"}, r.Resource)
	}
	return false
}
