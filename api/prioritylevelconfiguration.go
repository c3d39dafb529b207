package api

import (
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	flowcontrolv1beta3 "k8s.io/api/flowcontrol/v1beta3"
)

// priorityLevelConfiguration is how much of the server a kind of requests may take.
func priorityLevelConfiguration() *Resource {
	return &Resource{
		Name: "prioritylevelconfigurations", Singular: "prioritylevelconfiguration", Kind: "PriorityLevelConfiguration",
		Versions:             readable(served(flowcontrolv1.SchemeGroupVersion), flowcontrolv1beta3.SchemeGroupVersion),
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
