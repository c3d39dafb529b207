package validation

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// StorageClassWarning is the warning about the beta annotation for the storage class.
const StorageClassWarning = `metadata.annotations[` + corev1.BetaStorageClassAnnotation + `]: deprecated since v1.8; use "storageClassName" attribute instead`

// WarnFractionalBytes warns of a quantity of bytes that is no integer.
func WarnFractionalBytes(at *Path, value resource.Quantity) {
	if value.MilliValue()%1000 != 0 {
		at.Warn(fmt.Sprintf("fractional byte value %q is invalid, must be an integer", value.String()))
	}
}

// maxWarnings bounds the warnings about an object, in bytes, of which each counts maxWarning at most. It is
// more than a response has room for.
const (
	maxWarnings = 16 << 10
	maxWarning  = 256
)

// Warn calls rules with the root path of an object and returns their warnings: all different ones, or more
// than a response has room for.
func Warn(rules func(at *Path)) []string {
	var w warnings
	rules(&Path{report: w.record})
	return w.texts
}

// warnings collects the warnings about an object.
type warnings struct {
	texts  []string
	seen   map[string]struct{}
	length int // of the texts, of each at most maxWarning
}

// record records a warning, unless it is nil, and returns the number of warnings, or maxFaults if there is
// no room for more.
func (w *warnings) record(warning *field.Error) int {
	if w.length > maxWarnings {
		return maxFaults
	}
	if warning == nil {
		return len(w.texts)
	}
	text := warning.Field + warning.Detail
	if _, ok := w.seen[text]; ok {
		return len(w.texts)
	}
	if w.seen == nil {
		w.seen = map[string]struct{}{}
	}
	w.seen[text] = struct{}{}
	w.texts = append(w.texts, text)
	w.length += min(len(text), maxWarning)
	return len(w.texts)
}

// Warn records a warning about the field at p.
func (p *Path) Warn(text string) {
	if p.IsFull() {
		return
	}
	p.report(&field.Error{Field: p.ToField().String(), Detail: ": " + text})
}

// Warnings records warnings that already contain the path of their field.
func (p *Path) Warnings(texts []string) {
	for _, text := range texts {
		p.report(&field.Error{Detail: text})
	}
}

// WarnIPForm warns of an IP address that is not in canonical form.
func WarnIPForm(at *Path, text string) {
	if text != "" {
		at.Warnings(utilvalidation.GetWarningsForIP(at.ToField(), text))
	}
}

// WarnCIDRForm warns of a CIDR that is not in canonical form.
func WarnCIDRForm(at *Path, text string) {
	if text != "" {
		at.Warnings(utilvalidation.GetWarningsForCIDR(at.ToField(), text))
	}
}

// NodeLabelDeprecation returns the deprecation message of a node label, or an empty string
// if the label is not deprecated.
func NodeLabelDeprecation(key string) string {
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

// WarnDeprecatedNodeLabel warns if a node label is deprecated. The message contains the label.
func WarnDeprecatedNodeLabel(at *Path, key string) {
	if instead := NodeLabelDeprecation(key); instead != "" {
		at.Warn(key + " is " + instead)
	}
}

// NodeTermWarnings warns of deprecated labels in a term of a node selector and, if values is
// true, of invalid label values. Pass false where validation rejects these.
func NodeTermWarnings(at *Path, term *corev1.NodeSelectorTerm, values bool) {
	for i := range term.MatchExpressions {
		e := &term.MatchExpressions[i]
		expression := at.Child("matchExpressions").Index(i)
		WarnDeprecatedNodeLabel(expression.Child("key"), e.Key)
		if !values {
			continue
		}
		for j, value := range e.Values {
			for _, fault := range utilvalidation.IsValidLabelValue(value) {
				expression.Child("values").Index(j).Warn(fmt.Sprintf("%s is invalid, %s", value, fault))
			}
		}
	}
}

// NodeLabelSelectorWarnings warns of deprecated node labels in a label selector of nodes.
func NodeLabelSelectorWarnings(at *Path, s *metav1.LabelSelector) {
	if s == nil {
		return
	}
	for i := range s.MatchExpressions {
		WarnDeprecatedNodeLabel(at.Child("matchExpressions").Index(i).Child("key"), s.MatchExpressions[i].Key)
	}
	for _, key := range SortedKeys(s.MatchLabels) {
		if instead := NodeLabelDeprecation(key); instead != "" {
			at.Child("matchLabels").Child(key).Warn(instead)
		}
	}
}
