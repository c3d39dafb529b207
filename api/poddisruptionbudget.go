package api

import (
	policyv1 "k8s.io/api/policy/v1"
)

// podDisruptionBudget is how many pods of a kind may be evicted at a time.
func podDisruptionBudget() *Resource {
	return &Resource{
		Name: "poddisruptionbudgets", Singular: "poddisruptionbudget", Kind: "PodDisruptionBudget",
		ShortNames: []string{"pdb"},
		Namespaced: true,
		Versions: older(served(policyv1.SchemeGroupVersion),
			budgetV1beta1()),
		New:                    func() Object { return &policyv1.PodDisruptionBudget{} },
		Rows:                   &Table{Columns: podDisruptionBudgetColumns, Cells: podDisruptionBudgetCells},
		Prefix:                 "poddisruptionbudgets",
		ValidateName:           segmentName,
		Validate:               rulesOf(disruptionBudgetRules),
		ValidateUpdate:         changesOf(disruptionBudgetChanges),
		WholeUpdate:            true,
		ValidateStatusUpdate:   changesOf(disruptionStatusChanges),
		Generation:             true,
		HasStatus:              true,
		RequireResourceVersion: true,
	}
}
