package api

import (
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	flowcontrolv1beta1 "k8s.io/api/flowcontrol/v1beta1"
	flowcontrolv1beta2 "k8s.io/api/flowcontrol/v1beta2"
	flowcontrolv1beta3 "k8s.io/api/flowcontrol/v1beta3"
)

// flowSchema is a rule that sorts requests into priority levels.
func flowSchema() *Resource {
	return &Resource{
		Name: "flowschemas", Singular: "flowschema", Kind: "FlowSchema",
		Versions: older(served(flowcontrolv1.SchemeGroupVersion),
			alike[flowcontrolv1.FlowSchema, flowcontrolv1beta3.FlowSchema](flowcontrolv1beta3.SchemeGroupVersion),
			alike[flowcontrolv1.FlowSchema, flowcontrolv1beta2.FlowSchema](flowcontrolv1beta2.SchemeGroupVersion),
			alike[flowcontrolv1.FlowSchema, flowcontrolv1beta1.FlowSchema](flowcontrolv1beta1.SchemeGroupVersion)),
		New:                  func() Object { return &flowcontrolv1.FlowSchema{} },
		Rows:                 &Table{Columns: flowSchemaColumns, Cells: flowSchemaCells, Order: flowSchemaOrder},
		Prefix:               "flowschemas",
		Default:              defaultFlowSchema,
		Validate:             rulesOf(flowSchemaRules),
		PrepareStatusUpdate:  keepMetadataOf,
		ValidateStatusUpdate: changesOf(flowSchemaStatusRules),
		Generation:           true,
		HasStatus:            true,
	}
}
