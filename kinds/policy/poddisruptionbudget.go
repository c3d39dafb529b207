package policy

import (
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/kinds/workload"
)

// PodDisruptionBudget describes the kind PodDisruptionBudget, the number of matching pods that
// may be evicted at a time.
func PodDisruptionBudget() *api.Resource {
	return api.NewResource(api.Kind[*policyv1.PodDisruptionBudget]{
		Names: api.Names{
			Name: "poddisruptionbudgets", Singular: "poddisruptionbudget", Kind: "PodDisruptionBudget",
			ShortNames: []string{"pdb"},
			Namespaced: true,
		},
		Versions: api.WithOlderVersions(api.Served(policyv1.SchemeGroupVersion),
			budgetV1beta1()),
		Storage:                api.Storage{Prefix: "poddisruptionbudgets"},
		ValidateName:           validation.SegmentName,
		RequireResourceVersion: true,
		Prepare:                api.PrepareChange(dropBudgetLabel),
		Checks: api.Checks(
			api.OnCreate(api.Rules(disruptionBudgetRules)),
			api.Changes(disruptionBudgetChanges),
			api.Declared,
			api.ObjectMetaIfValid,
		),
		HasGeneration: true,
		Status:        api.NewStatus(nil, api.ObjectMeta, api.Changes(disruptionStatusChanges), api.Declared),
		Table:         api.Rows(podDisruptionBudgetRow),
	})
}

func podDisruptionBudgetRow(row *table.Row, b *policyv1.PodDisruptionBudget) {
	limit := func(n *intstr.IntOrString) string {
		if n == nil {
			return "N/A"
		}
		return n.String()
	}
	row.Name(b.Name)
	row.Text("Min Available", "The minimum number of pods that must be available.", limit(b.Spec.MinAvailable))
	row.Text("Max Unavailable", "The maximum number of pods that may be unavailable.", limit(b.Spec.MaxUnavailable))
	row.Number("Allowed Disruptions", "Calculated number of pods that may be disrupted at this time.",
		int64(b.Status.DisruptionsAllowed))
	row.Age(b)
}

// budgetSelectorLabel is a label that no pod has. An empty selector selects all pods in v1 and
// none in v1beta1; conversion replaces it by a requirement for this label.
const budgetSelectorLabel = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"

// dropBudgetLabel removes requirements for the label from a changed selector in which conversion did not
// set them.
func dropBudgetLabel(b, old *policyv1.PodDisruptionBudget) {
	s := b.Spec.Selector
	if s == nil || old != nil && equality.Semantic.DeepEqual(s, old.Spec.Selector) ||
		equality.Semantic.DeepEqual(s, budgetSelector(metav1.LabelSelectorOpExists)) {
		return
	}
	s.MatchExpressions = slices.DeleteFunc(s.MatchExpressions,
		func(r metav1.LabelSelectorRequirement) bool { return r.Key == budgetSelectorLabel })
}

func budgetV1beta1() api.Version {
	return api.ConvertedVersion(policyv1beta1.SchemeGroupVersion,
		func(hub *policyv1.PodDisruptionBudget, old *policyv1beta1.PodDisruptionBudget) {
			hub.Spec.Selector = swapEmptySelector(old.Spec.Selector, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)
		},
		func(old *policyv1beta1.PodDisruptionBudget, hub *policyv1.PodDisruptionBudget) {
			old.Spec.Selector = swapEmptySelector(hub.Spec.Selector, metav1.LabelSelectorOpDoesNotExist, metav1.LabelSelectorOpExists)
		})
}

// swapEmptySelector converts a selector to the other version: an empty one becomes the
// requirement with the operator empty, and the requirement with the operator other becomes an
// empty one.
func swapEmptySelector(s *metav1.LabelSelector, empty, other metav1.LabelSelectorOperator) *metav1.LabelSelector {
	switch {
	case equality.Semantic.DeepEqual(s, &metav1.LabelSelector{}):
		return budgetSelector(empty)
	case equality.Semantic.DeepEqual(s, budgetSelector(other)):
		return &metav1.LabelSelector{}
	}
	return s
}

func budgetSelector(o metav1.LabelSelectorOperator) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: budgetSelectorLabel, Operator: o}}}
}

func disruptionBudgetRules(at *validation.Path, b *policyv1.PodDisruptionBudget) {
	budgetSpecRules(at, b, nil)
}

func disruptionBudgetChanges(at *validation.Path, obj, old *policyv1.PodDisruptionBudget) {
	budgetSpecRules(at, obj, old)
}

func budgetSpecRules(at *validation.Path, b, old *policyv1.PodDisruptionBudget) {
	at = at.Child("spec")
	s := &b.Spec
	if s.MinAvailable != nil && s.MaxUnavailable != nil {
		at.Invalid(*s, "minAvailable and maxUnavailable cannot be both set")
	}
	if s.MinAvailable != nil {
		workload.NumberOrPercent(at.Child("minAvailable"), *s.MinAvailable)
		workload.PercentAtMost100(at.Child("minAvailable"), *s.MinAvailable)
	}
	if s.MaxUnavailable != nil {
		workload.NumberOrPercent(at.Child("maxUnavailable"), *s.MaxUnavailable)
		workload.PercentAtMost100(at.Child("maxUnavailable"), *s.MaxUnavailable)
	}
	validation.LenientSelectorRules(at.Child("selector"), s.Selector, old != nil && workload.HasInvalidSelectorValues(old.Spec.Selector))
	validation.OptionalEnum(at.Child("unhealthyPodEvictionPolicy"), s.UnhealthyPodEvictionPolicy, policyv1.AlwaysAllow,
		policyv1.IfHealthyBudget)
}

func disruptionStatusChanges(at *validation.Path, obj, _ *policyv1.PodDisruptionBudget) {
	status, s := at.Child("status"), &obj.Status
	validation.ConditionRules(status.Child("conditions"), s.Conditions)
	workload.NonNegativeCounts(status, workload.PodCount{Name: "disruptionsAllowed", Value: s.DisruptionsAllowed},
		workload.PodCount{Name: "currentHealthy", Value: s.CurrentHealthy},
		workload.PodCount{Name: "desiredHealthy", Value: s.DesiredHealthy}, workload.PodCount{Name: "expectedPods", Value: s.ExpectedPods})
}
