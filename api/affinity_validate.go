package api

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (c *podCheck) affinityRules(at *place, a *corev1.Affinity) {
	if a == nil {
		return
	}
	const hard, soft = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
	if n := a.NodeAffinity; n != nil {
		at := at.of("nodeAffinity")
		if n.RequiredDuringSchedulingIgnoredDuringExecution != nil {
			nodeSelectorRules(at.of(hard), n.RequiredDuringSchedulingIgnoredDuringExecution, c.lenient.nodeValues)
		}
		each(at.of(soft), n.PreferredDuringSchedulingIgnoredDuringExecution, preferredNodeRules)
	}
	if p := a.PodAffinity; p != nil {
		c.podTermRules(at.of("podAffinity").of(hard), p.RequiredDuringSchedulingIgnoredDuringExecution)
		c.weightedTermRules(at.of("podAffinity").of(soft), p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if p := a.PodAntiAffinity; p != nil {
		c.podTermRules(at.of("podAntiAffinity").of(hard), p.RequiredDuringSchedulingIgnoredDuringExecution)
		c.weightedTermRules(at.of("podAntiAffinity").of(soft), p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
}

// preferredNodeRules let values be what they like, as they always could.
func preferredNodeRules(at *place, t *corev1.PreferredSchedulingTerm) {
	weight(at.of("weight"), t.Weight)
	nodeTermRules(at.of("preference"), &t.Preference, true)
}

func weight(at *place, w int32) {
	if w <= 0 || w > 100 {
		at.invalid(w, "must be in the range 1-100")
	}
}

func (c *podCheck) podTermRules(at *place, terms []corev1.PodAffinityTerm) {
	for i := range terms {
		c.podTerm(at.item(i), &terms[i])
	}
}

func (c *podCheck) weightedTermRules(at *place, terms []corev1.WeightedPodAffinityTerm) {
	for i := range terms {
		weight(at.item(i).of("weight"), terms[i].Weight)
		c.podTerm(at.item(i).of("podAffinityTerm"), &terms[i].PodAffinityTerm)
	}
}

func (c *podCheck) podTerm(at *place, t *corev1.PodAffinityTerm) {
	lenientSelectorRules(at.of("labelSelector"), t.LabelSelector, c.lenient.selectors)
	lenientSelectorRules(at.of("namespaceSelector"), t.NamespaceSelector, c.lenient.selectors)
	for _, name := range t.Namespaces {
		format(at.of("namespace"), name, dnsLabel)
	}
	matchKeyRules(at, t)
	if t.TopologyKey == "" {
		at.of("topologyKey").required("can not be empty")
	}
	format(at.of("topologyKey"), t.TopologyKey, qualifiedName)
}

// matchKeyRules are for labels whose values the pod itself gives. The selector
// has been merged with them by the time that they are looked at.
func matchKeyRules(at *place, t *corev1.PodAffinityTerm) {
	keyListRules(at.of("matchLabelKeys"), t.MatchLabelKeys, t.LabelSelector)
	keyListRules(at.of("mismatchLabelKeys"), t.MismatchLabelKeys, t.LabelSelector)
	// The fault is put down to the term, at the number of the key.
	namedTwice(at, t.MatchLabelKeys, t.LabelSelector)
	for i, key := range t.MatchLabelKeys {
		if lastIndex(t.MismatchLabelKeys, key) >= 0 {
			at.of("matchLabelKeys").item(i).invalid(key, "exists in both matchLabelKeys and mismatchLabelKeys")
		}
	}
}

func lastIndex(list []string, s string) int {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i] == s {
			return i
		}
	}
	return -1
}

func keyListRules(at *place, keys []string, s *metav1.LabelSelector) {
	if len(keys) == 0 {
		return
	}
	if s == nil {
		at.forbidden("must not be specified when labelSelector is not set")
		return
	}
	for i, key := range keys {
		format(at.item(i), key, qualifiedName)
	}
}

func (c *podCheck) spreadListRules(at *place, list []corev1.TopologySpreadConstraint) {
	for i := range list {
		c.spreadRules(at.item(i), &list[i], list[i+1:])
	}
}

func (c *podCheck) spreadRules(at *place, s *corev1.TopologySpreadConstraint, rest []corev1.TopologySpreadConstraint) {
	positive(at.of("maxSkew"), s.MaxSkew)
	if s.TopologyKey == "" {
		at.of("topologyKey").required("can not be empty")
	}
	oneOf(at.of("whenUnsatisfiable"), s.WhenUnsatisfiable, corev1.DoNotSchedule, corev1.ScheduleAnyway)
	for i := range rest {
		if rest[i].TopologyKey == s.TopologyKey && rest[i].WhenUnsatisfiable == s.WhenUnsatisfiable {
			at.of("{topologyKey, whenUnsatisfiable}").duplicate(fmt.Sprintf("{%v, %v}", s.TopologyKey, s.WhenUnsatisfiable))
			break
		}
	}
	if s.MinDomains != nil {
		positive(at.of("minDomains"), *s.MinDomains)
		if s.WhenUnsatisfiable != corev1.DoNotSchedule {
			at.of("minDomains").invalid(*s.MinDomains,
				fmt.Sprintf("can only use minDomains if whenUnsatisfiable=%s, not %s", corev1.DoNotSchedule, s.WhenUnsatisfiable))
		}
	}
	optionalEnum(at.of("nodeAffinityPolicy"), s.NodeAffinityPolicy, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)
	optionalEnum(at.of("nodeTaintsPolicy"), s.NodeTaintsPolicy, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)
	keyListRules(at.of("matchLabelKeys"), s.MatchLabelKeys, s.LabelSelector)
	namedTwice(at.of("matchLabelKeys"), s.MatchLabelKeys, s.LabelSelector)
	if !c.lenient.spread {
		selectorRules(at.of("labelSelector"), s.LabelSelector)
	}
}

// namedTwice: a key that the selector names besides says nothing more.
func namedTwice(at *place, keys []string, s *metav1.LabelSelector) {
	if s == nil || len(keys) == 0 {
		return
	}
	var seen unique[string]
	for key := range s.MatchLabels {
		seen.put(key)
	}
	for _, e := range s.MatchExpressions {
		if i := lastIndex(keys, e.Key); i >= 0 && seen.has(e.Key) {
			at.item(i).invalid(e.Key, "exists in both matchLabelKeys and labelSelector")
		}
		seen.put(e.Key)
	}
}
