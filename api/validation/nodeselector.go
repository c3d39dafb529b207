package validation

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// NodeSelectorRules validates a required node selector. If lenient is true, values need not
// be valid label values.
func NodeSelectorRules(at *Path, s *corev1.NodeSelector, lenient bool) {
	terms := at.Child("nodeSelectorTerms")
	if len(s.NodeSelectorTerms) == 0 {
		terms.Required("must have at least one node selector term")
		return
	}
	for i := range s.NodeSelectorTerms {
		NodeTermRules(terms.Index(i), &s.NodeSelectorTerms[i], lenient)
	}
}

// HasInvalidNodeLabelValues reports whether a stored node selector has invalid values of labels, which
// an update may then have.
func HasInvalidNodeLabelValues(s *corev1.NodeSelector) bool {
	for _, t := range s.NodeSelectorTerms {
		for _, r := range t.MatchExpressions {
			if slices.ContainsFunc(r.Values, func(value string) bool { return len(LabelValue(value)) > 0 }) {
				return true
			}
		}
	}
	return false
}

// NodeTermRules validates a term of a node selector; lenient as in NodeSelectorRules.
func NodeTermRules(at *Path, t *corev1.NodeSelectorTerm, lenient bool) {
	for i := range t.MatchExpressions {
		nodeLabelRules(at.Child("matchExpressions").Index(i), &t.MatchExpressions[i], lenient)
	}
	Each(at.Child("matchFields"), t.MatchFields, nodeFieldRules)
}

func nodeLabelRules(at *Path, r *corev1.NodeSelectorRequirement, lenient bool) {
	values := at.Child("values")
	switch r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		if len(r.Values) == 0 {
			values.Required("must be specified when `operator` is 'In' or 'NotIn'")
		}
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		if len(r.Values) > 0 {
			values.Forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
		}
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		if len(r.Values) != 1 {
			values.Required("must be specified single value when `operator` is 'Lt' or 'Gt'")
		}
	default:
		at.Child("operator").Invalid(r.Operator, "not a valid selector operator")
	}
	Format(at.Child("key"), r.Key, QualifiedName)
	if lenient {
		return
	}
	for i, value := range r.Values {
		Format(values.Index(i), value, LabelValue)
	}
}

// nodeFieldRules validates a field selector of nodes: the only field is metadata.name.
func nodeFieldRules(at *Path, r *corev1.NodeSelectorRequirement) {
	switch r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		if len(r.Values) != 1 {
			at.Child("values").Required("must be only one value when `operator` is 'In' or 'NotIn' for node field selector")
		}
	default:
		at.Child("operator").Invalid(r.Operator, "not a valid selector operator")
	}
	if r.Key != "metadata.name" {
		at.Child("key").Invalid(r.Key, "not a valid field selector key")
		return
	}
	for i, value := range r.Values {
		Format(at.Child("values").Index(i), value, DNSSubdomain)
	}
}
