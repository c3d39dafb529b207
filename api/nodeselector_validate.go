package api

import (
	corev1 "k8s.io/api/core/v1"
)

// nodeSelectorRules are for a selection of nodes that must hold. lenient lets
// values be that are no labels.
func nodeSelectorRules(at *place, s *corev1.NodeSelector, lenient bool) {
	terms := at.of("nodeSelectorTerms")
	if len(s.NodeSelectorTerms) == 0 {
		terms.required("must have at least one node selector term")
		return
	}
	for i := range s.NodeSelectorTerms {
		nodeTermRules(terms.item(i), &s.NodeSelectorTerms[i], lenient)
	}
}

func nodeTermRules(at *place, t *corev1.NodeSelectorTerm, lenient bool) {
	for i := range t.MatchExpressions {
		nodeLabelRules(at.of("matchExpressions").item(i), &t.MatchExpressions[i], lenient)
	}
	each(at.of("matchFields"), t.MatchFields, nodeFieldRules)
}

func nodeLabelRules(at *place, r *corev1.NodeSelectorRequirement, lenient bool) {
	values := at.of("values")
	switch r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		if len(r.Values) == 0 {
			values.required("must be specified when `operator` is 'In' or 'NotIn'")
		}
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		if len(r.Values) > 0 {
			values.forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
		}
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		if len(r.Values) != 1 {
			values.required("must be specified single value when `operator` is 'Lt' or 'Gt'")
		}
	default:
		at.of("operator").invalid(r.Operator, "not a valid selector operator")
	}
	format(at.of("key"), r.Key, qualifiedName)
	if lenient {
		return
	}
	for i, value := range r.Values {
		format(values.item(i), value, labelValue)
	}
}

// nodeFieldRules: nodes can be selected by one field, their name.
func nodeFieldRules(at *place, r *corev1.NodeSelectorRequirement) {
	switch r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		if len(r.Values) != 1 {
			at.of("values").required("must be only one value when `operator` is 'In' or 'NotIn' for node field selector")
		}
	default:
		at.of("operator").invalid(r.Operator, "not a valid selector operator")
	}
	if r.Key != nameLabel {
		at.of("key").invalid(r.Key, "not a valid field selector key")
		return
	}
	for i, value := range r.Values {
		format(at.of("values").item(i), value, dnsSubdomain)
	}
}
