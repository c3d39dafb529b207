package apiextensions

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api/custom/structural"
)

// maxSchemaFaults is the maximum number of errors in the message of a condition.
const maxSchemaFaults = 50

// SchemaCondition returns the condition NonStructuralSchema of a definition, without
// its time; nil if the schemas are structural. Since writes are validated, only a
// definition from before the checks, or one that was written to etcd directly, can have it.
func SchemaCondition(d *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinitionCondition {
	c := &apiextensionsv1.CustomResourceDefinitionCondition{Type: apiextensionsv1.NonStructuralSchema}
	spec := field.NewPath("spec")
	var faults field.ErrorList
	if preservesUnknownFields(d) {
		faults = append(faults, field.Invalid(spec.Child("preserveUnknownFields"), true, "must be false"))
	}
	for i := range d.Spec.Versions {
		v := &d.Spec.Versions[i]
		at := spec.Child("versions").Index(i).Child("schema", "openAPIV3Schema")
		if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			if !preservesUnknownFields(d) {
				faults = append(faults, field.Required(at, "schemas are required"))
			}
			continue
		}
		found, err := structural.CheckStored(v.Schema.OpenAPIV3Schema, at)
		if err != nil {
			c.Status, c.Reason = apiextensionsv1.ConditionUnknown, "StructuralError"
			c.Message = fmt.Sprintf("failed to check validation schema for version %s: %v", v.Name, err)
			return c
		}
		faults = append(faults, found...)
	}
	if len(faults) == 0 {
		return nil
	}
	if more := len(faults) - maxSchemaFaults; more > 0 {
		faults = append(faults[:maxSchemaFaults:maxSchemaFaults],
			field.Invalid(spec.Child("versions"), field.OmitValueType{}, fmt.Sprintf("and %d more", more)))
	}
	c.Status, c.Reason, c.Message = apiextensionsv1.ConditionTrue, "Violations", faults.ToAggregate().Error()
	return c
}
