package api

import (
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
)

// priorityLevelConfiguration is how much of the server a kind of requests may take.
func priorityLevelConfiguration() *Resource {
	return &Resource{
		Name: "prioritylevelconfigurations", Singular: "prioritylevelconfiguration", Kind: "PriorityLevelConfiguration",
		Versions:             older(served(flowcontrolv1.SchemeGroupVersion), priorityLevelsOlder()...),
		New:                  func() Object { return &flowcontrolv1.PriorityLevelConfiguration{} },
		Rows:                 &Table{Columns: priorityLevelConfigurationColumns, Cells: priorityLevelConfigurationCells},
		Prefix:               "prioritylevelconfigurations",
		Default:              defaultPriorityLevel,
		Validate:             rulesOf(priorityLevelRules),
		PrepareStatusUpdate:  keepMetadataOf,
		ValidateStatusUpdate: changesOf(priorityLevelStatusRules),
		Generation:           true,
		HasStatus:            true,
	}
}
