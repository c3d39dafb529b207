package pod

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

func (c *podCheck) affinityRules(at *validation.Path, a *corev1.Affinity) {
	if a == nil {
		return
	}
	const hard, soft = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
	if n := a.NodeAffinity; n != nil {
		at := at.Child("nodeAffinity")
		if n.RequiredDuringSchedulingIgnoredDuringExecution != nil {
			validation.NodeSelectorRules(at.Child(hard), n.RequiredDuringSchedulingIgnoredDuringExecution, c.lenient.nodeValues)
		}
		validation.Each(at.Child(soft), n.PreferredDuringSchedulingIgnoredDuringExecution, preferredNodeRules)
	}
	if p := a.PodAffinity; p != nil {
		c.podTermRules(at.Child("podAffinity").Child(hard), p.RequiredDuringSchedulingIgnoredDuringExecution)
		c.weightedTermRules(at.Child("podAffinity").Child(soft), p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if p := a.PodAntiAffinity; p != nil {
		c.podTermRules(at.Child("podAntiAffinity").Child(hard), p.RequiredDuringSchedulingIgnoredDuringExecution)
		c.weightedTermRules(at.Child("podAntiAffinity").Child(soft), p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
}

// preferredNodeRules validates a preferred node selector term. Its label values are not
// validated, because they never were.
func preferredNodeRules(at *validation.Path, t *corev1.PreferredSchedulingTerm) {
	termWeight(at.Child("weight"), t.Weight)
	validation.NodeTermRules(at.Child("preference"), &t.Preference, true)
}

func termWeight(at *validation.Path, w int32) {
	if w <= 0 || w > 100 {
		at.Invalid(w, "must be in the range 1-100")
	}
}

func (c *podCheck) podTermRules(at *validation.Path, terms []corev1.PodAffinityTerm) {
	for i := range terms {
		c.podTerm(at.Index(i), &terms[i])
	}
}

func (c *podCheck) weightedTermRules(at *validation.Path, terms []corev1.WeightedPodAffinityTerm) {
	for i := range terms {
		termWeight(at.Index(i).Child("weight"), terms[i].Weight)
		c.podTerm(at.Index(i).Child("podAffinityTerm"), &terms[i].PodAffinityTerm)
	}
}

func (c *podCheck) podTerm(at *validation.Path, t *corev1.PodAffinityTerm) {
	validation.LenientSelectorRules(at.Child("labelSelector"), t.LabelSelector, c.lenient.selectors)
	validation.LenientSelectorRules(at.Child("namespaceSelector"), t.NamespaceSelector, c.lenient.selectors)
	for _, name := range t.Namespaces {
		validation.Format(at.Child("namespace"), name, validation.DNSLabel)
	}
	matchKeyRules(at, t)
	if t.TopologyKey == "" {
		at.Child("topologyKey").Required("can not be empty")
	}
	validation.Format(at.Child("topologyKey"), t.TopologyKey, validation.QualifiedName)
}

// matchKeyRules validates keys of labels whose values are those of the pod itself.
// preparePod has merged them into the selector before.
func matchKeyRules(at *validation.Path, t *corev1.PodAffinityTerm) {
	keyListRules(at.Child("matchLabelKeys"), t.MatchLabelKeys, t.LabelSelector)
	keyListRules(at.Child("mismatchLabelKeys"), t.MismatchLabelKeys, t.LabelSelector)
	refuseSelectedKeys(at, t.MatchLabelKeys, t.LabelSelector)
	for i, key := range t.MatchLabelKeys {
		if lastIndex(t.MismatchLabelKeys, key) >= 0 {
			at.Child("matchLabelKeys").Index(i).Invalid(key, "exists in both matchLabelKeys and mismatchLabelKeys")
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

func keyListRules(at *validation.Path, keys []string, s *metav1.LabelSelector) {
	if len(keys) == 0 {
		return
	}
	if s == nil {
		at.Forbidden("must not be specified when labelSelector is not set")
		return
	}
	for i, key := range keys {
		validation.Format(at.Index(i), key, validation.QualifiedName)
	}
}

func (c *podCheck) spreadListRules(at *validation.Path, list []corev1.TopologySpreadConstraint) {
	for i := range list {
		c.spreadRules(at.Index(i), &list[i], list[i+1:])
	}
}

func (c *podCheck) spreadRules(at *validation.Path, s *corev1.TopologySpreadConstraint, rest []corev1.TopologySpreadConstraint) {
	validation.Positive(at.Child("maxSkew"), s.MaxSkew)
	if s.TopologyKey == "" {
		at.Child("topologyKey").Required("can not be empty")
	}
	validation.OneOf(at.Child("whenUnsatisfiable"), s.WhenUnsatisfiable, corev1.DoNotSchedule, corev1.ScheduleAnyway)
	for i := range rest {
		if rest[i].TopologyKey == s.TopologyKey && rest[i].WhenUnsatisfiable == s.WhenUnsatisfiable {
			at.Child("{topologyKey, whenUnsatisfiable}").Duplicate(fmt.Sprintf("{%v, %v}", s.TopologyKey, s.WhenUnsatisfiable))
			break
		}
	}
	if s.MinDomains != nil {
		validation.Positive(at.Child("minDomains"), *s.MinDomains)
		if s.WhenUnsatisfiable != corev1.DoNotSchedule {
			at.Child("minDomains").Invalid(*s.MinDomains,
				fmt.Sprintf("can only use minDomains if whenUnsatisfiable=%s, not %s", corev1.DoNotSchedule, s.WhenUnsatisfiable))
		}
	}
	validation.OptionalEnum(at.Child("nodeAffinityPolicy"), s.NodeAffinityPolicy, corev1.NodeInclusionPolicyHonor,
		corev1.NodeInclusionPolicyIgnore)
	validation.OptionalEnum(at.Child("nodeTaintsPolicy"), s.NodeTaintsPolicy, corev1.NodeInclusionPolicyHonor,
		corev1.NodeInclusionPolicyIgnore)
	if at.Enabled(features.MatchLabelKeysInPodTopologySpreadSelectorMerge) != c.lenient.spreadKeys {
		mergedKeyRules(at, s.MatchLabelKeys, s.LabelSelector)
	} else {
		unmergedKeyRules(at, s.MatchLabelKeys, s.LabelSelector)
	}
	if !c.lenient.spread {
		validation.SelectorRules(at.Child("labelSelector"), s.LabelSelector)
	}
}

// mergedKeyRules validates the matchLabelKeys of a topology spread constraint, which
// preparePod has merged into the selector. at is the path of the constraint.
func mergedKeyRules(at *validation.Path, keys []string, s *metav1.LabelSelector) {
	keyListRules(at.Child("matchLabelKeys"), keys, s)
	refuseSelectedKeys(at, keys, s)
}

// unmergedKeyRules validates matchLabelKeys that are not merged into the selector, which must not
// have any of them. at is the path of the constraint.
func unmergedKeyRules(at *validation.Path, keys []string, s *metav1.LabelSelector) {
	if len(keys) == 0 {
		return
	}
	at = at.Child("matchLabelKeys")
	var selected validation.Unique[string]
	if s == nil {
		at.Forbidden("must not be specified when labelSelector is not set")
	} else {
		for key := range s.MatchLabels {
			selected.Insert(key)
		}
		for _, e := range s.MatchExpressions {
			selected.Insert(e.Key)
		}
	}
	for i, key := range keys {
		validation.Format(at.Index(i), key, validation.QualifiedName)
		if selected.Has(key) {
			at.Index(i).Invalid(key, selectedTwice)
		}
	}
}

const selectedTwice = "exists in both matchLabelKeys and labelSelector"

// refuseSelectedKeys refuses keys that the selector contains twice: as the client wrote it,
// and because preparePod merged them into it. As in kube-apiserver, an error has the path of the
// term or constraint, at, and the index of the key.
func refuseSelectedKeys(at *validation.Path, keys []string, s *metav1.LabelSelector) {
	if s == nil || len(keys) == 0 {
		return
	}
	var seen validation.Unique[string]
	for key := range s.MatchLabels {
		seen.Insert(key)
	}
	for _, e := range s.MatchExpressions {
		if i := lastIndex(keys, e.Key); i >= 0 && seen.Has(e.Key) {
			at.Index(i).Invalid(e.Key, selectedTwice)
		}
		seen.Insert(e.Key)
	}
}
