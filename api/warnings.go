package api

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Warnings are for what is accepted and will not do what was meant. They go over
// an object as its rules do, place by place.

// warn runs rules over an object and returns what they warn of.
func warn(rules func(at *place)) []string {
	var out []string
	n := 0
	rules(&place{report: func(w *field.Error) int {
		if w != nil {
			out, n = append(out, w.Field+w.Detail), n+1
		}
		return n
	}})
	return out
}

// warn says something of the field at p.
func (p *place) warn(text string) {
	p.report(&field.Error{Field: p.path().String(), Detail: ": " + text})
}

// warnings adds what others say, who name the field themselves.
func (p *place) warnings(texts []string) {
	for _, text := range texts {
		p.report(&field.Error{Detail: text})
	}
}

// edited tells whether an object is new, or more than its metadata and status
// changed.
func edited(obj, old Object) bool {
	return old == nil || obj.GetGeneration() != old.GetGeneration()
}

// plainIP warns of an address that is not written as addresses are.
func plainIP(at *place, text string) {
	if text != "" {
		at.warnings(validation.GetWarningsForIP(at.path(), text))
	}
}

// plainCIDR warns of a range of addresses that is not written as ranges are.
func plainCIDR(at *place, text string) {
	if text != "" {
		at.warnings(validation.GetWarningsForCIDR(at.path(), text))
	}
}

// oldNodeLabel tells what to use in place of a label that nodes had once; empty
// for all others.
func oldNodeLabel(key string) string {
	switch key {
	case "beta.kubernetes.io/arch":
		return `deprecated since v1.14; use "kubernetes.io/arch" instead`
	case "beta.kubernetes.io/os":
		return `deprecated since v1.14; use "kubernetes.io/os" instead`
	case "failure-domain.beta.kubernetes.io/region":
		return `deprecated since v1.17; use "topology.kubernetes.io/region" instead`
	case "failure-domain.beta.kubernetes.io/zone":
		return `deprecated since v1.17; use "topology.kubernetes.io/zone" instead`
	case "beta.kubernetes.io/instance-type":
		return `deprecated since v1.17; use "node.kubernetes.io/instance-type" instead`
	case "app.kubernetes.io/created-by":
		return `deprecated since v1.9`
	case "scheduler.alpha.kubernetes.io/preferAvoidPods":
		return `deprecated since v1.22; use Taints and Tolerations instead`
	case "node-role.kubernetes.io/master":
		return `use "node-role.kubernetes.io/control-plane" instead`
	}
	return ""
}

// currentLabel warns of such a label, where the message names it.
func currentLabel(at *place, key string) {
	if instead := oldNodeLabel(key); instead != "" {
		at.warn(key + " is " + instead)
	}
}

// nodeTermWarnings are about the term of a node selector; values are looked at
// only where validation does not.
func nodeTermWarnings(at *place, term *corev1.NodeSelectorTerm, values bool) {
	for i := range term.MatchExpressions {
		e := &term.MatchExpressions[i]
		expression := at.of("matchExpressions").item(i)
		currentLabel(expression.of("key"), e.Key)
		if !values {
			continue
		}
		for j, value := range e.Values {
			for _, fault := range validation.IsValidLabelValue(value) {
				expression.of("values").item(j).warn(fmt.Sprintf("%s is invalid, %s", value, fault))
			}
		}
	}
}

// nodeSelectorWarnings are about a selector of nodes in the form of a label
// selector.
func nodeSelectorWarnings(at *place, s *metav1.LabelSelector) {
	if s == nil {
		return
	}
	for i := range s.MatchExpressions {
		currentLabel(at.of("matchExpressions").item(i).of("key"), s.MatchExpressions[i].Key)
	}
	for _, key := range sortedKeys(s.MatchLabels) {
		if instead := oldNodeLabel(key); instead != "" {
			at.of("matchLabels").of(key).warn(instead)
		}
	}
}
