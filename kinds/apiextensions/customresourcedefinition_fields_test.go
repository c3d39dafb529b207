package apiextensions_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

func TestDefinitionFieldRules(t *testing.T) {
	kindtest.New(t, "customresourcedefinitions.v1.apiextensions.k8s.io", definition).Create(kindtest.Rules{
		{"the path of replicas is required",
			"spec.versions[0].subresources: {scale: {specReplicasPath: .spec.a, statusReplicasPath: .status.a}}",
			`spec.versions[0].subresources: {scale: {specReplicasPath: "", statusReplicasPath: ""}}`,
			"spec.subresources.scale.specReplicasPath: Required value; " +
				"spec.subresources.scale.statusReplicasPath: Required value"},
		{"the path of replicas is below the spec",
			"spec.versions[0].subresources: {scale: {specReplicasPath: .spec.a, statusReplicasPath: .status.a}}",
			"spec.versions[0].subresources: {scale: {specReplicasPath: .a, statusReplicasPath: .status.a}}",
			`spec.subresources.scale.specReplicasPath: Invalid value: ".a": should be a json path under .spec`},
		{"the path of current replicas is below the status",
			"spec.versions[0].subresources: {scale: {specReplicasPath: .spec.a, statusReplicasPath: .status.a}}",
			"spec.versions[0].subresources: {scale: {specReplicasPath: .spec.a, statusReplicasPath: .spec.b}}",
			`spec.subresources.scale.statusReplicasPath: Invalid value: ".spec.b": should be a json ` +
				"path under .status"},
		{"a path begins with a dot",
			"spec.versions[0].subresources: {scale: {specReplicasPath: .spec.a, statusReplicasPath: .status.a}}",
			"spec.versions[0].subresources: {scale: {specReplicasPath: spec.a, statusReplicasPath: .status.a}}",
			`spec.subresources.scale.specReplicasPath: Invalid value: "spec.a": must be a simple ` +
				"json path starting with ."},
		{"the path of a selector is below spec or status",
			"spec.versions[0].subresources: {scale: {specReplicasPath: .spec.a, statusReplicasPath: " +
				".status.a, labelSelectorPath: .status.b}}",
			"spec.versions[0].subresources: {scale: {specReplicasPath: .spec.a, statusReplicasPath: " +
				".status.a, labelSelectorPath: .b}}",
			`spec.subresources.scale.labelSelectorPath: Invalid value: ".b": should be a json path ` +
				"under either .spec or .status"},
		{"a column has a name", "spec.versions[0].additionalPrinterColumns: [{name: A, type: string, jsonPath: .a}]",
			`spec.versions[0].additionalPrinterColumns: [{name: "", type: string, jsonPath: .a}]`,
			"spec.additionalPrinterColumns[0].name: Required value"},
		{"a column has a type", "spec.versions[0].additionalPrinterColumns: [{name: A, type: date, jsonPath: .a}]",
			`spec.versions[0].additionalPrinterColumns: [{name: A, type: "", jsonPath: .a}]`,
			"spec.additionalPrinterColumns[0].type: Required value: must be one of " +
				"boolean,date,integer,number,string"},
		{"the types of columns are known",
			"spec.versions[0].additionalPrinterColumns: [{name: A, type: boolean, jsonPath: .a}]",
			"spec.versions[0].additionalPrinterColumns: [{name: A, type: object, jsonPath: .a}]",
			`spec.additionalPrinterColumns[0].type: Invalid value: "object": must be one of ` +
				"boolean,date,integer,number,string"},
		{"the formats of columns are known",
			"spec.versions[0].additionalPrinterColumns: [{name: A, type: string, format: date, jsonPath: .a}]",
			"spec.versions[0].additionalPrinterColumns: [{name: A, type: string, format: ip, jsonPath: .a}]",
			`spec.additionalPrinterColumns[0].format: Invalid value: "ip": must be one of ` +
				"byte,date,date-time,double,float,int32,int64,password"},
		{"a column has a path", "spec.versions[0].additionalPrinterColumns: [{name: A, type: string, jsonPath: .a}]",
			`spec.versions[0].additionalPrinterColumns: [{name: A, type: string, jsonPath: ""}]`,
			"spec.additionalPrinterColumns[0].JSONPath: Required value"},
		{"the path of a column begins with a dot",
			"spec.versions[0].additionalPrinterColumns: [{name: A, type: string, jsonPath: .a}]",
			"spec.versions[0].additionalPrinterColumns: [{name: A, type: string, jsonPath: a}]",
			`spec.additionalPrinterColumns[0].JSONPath: Invalid value: "a": must be a simple json ` +
				"path starting with ."},
		{"a selectable field has a path", "spec.versions[0].selectableFields: [{jsonPath: .a}]",
			`spec.versions[0].selectableFields: [{jsonPath: ""}]`,
			"spec.selectableFields[0].jsonPath: Required value"},
		{"a selectable field is one of the schema", "spec.versions[0].selectableFields: [{jsonPath: .m.x}]",
			"spec.versions[0].selectableFields: [{jsonPath: .b}]",
			`spec.selectableFields[0].jsonPath: Invalid value: ".b": is an invalid path: does not ` +
				"refer to a valid field"},
		{"a selectable field is below an object", "spec.versions[0].selectableFields: [{jsonPath: .m.x}]",
			"spec.versions[0].selectableFields: [{jsonPath: .a.b}]",
			`spec.selectableFields[0].jsonPath: Invalid value: ".a.b": is an invalid path: does not ` +
				"refer to a valid field"},
		{"a selectable field is no object", "spec.versions[0].selectableFields: [{jsonPath: .a}]",
			"spec.versions[0].selectableFields: [{jsonPath: .m}]",
			`spec.selectableFields[0].jsonPath: Invalid value: ".m": must point to a field of type ` +
				"string, boolean or integer. Enum string fields and strings with formats are allowed."},
		{"a selectable field is not in the metadata", "spec.versions[0].selectableFields: [{jsonPath: .a}]",
			"spec.versions[0].schema.openAPIV3Schema.properties.metadata: {type: object, properties: " +
				"{name: {type: string}}}; spec.versions[0].selectableFields: [{jsonPath: .metadata.name}]",
			`spec.selectableFields[0].jsonPath: Invalid value: ".metadata.name": must not point to ` +
				"fields in metadata"},
		{"the path of a selectable field has no brackets", "spec.versions[0].selectableFields: [{jsonPath: .a}]",
			`spec.versions[0].selectableFields: [{jsonPath: "['a']"}]`,
			`spec.selectableFields[0].jsonPath: Invalid value: "['a']": is an invalid path: array ` +
				"notation is not allowed"},
		{"the path of a selectable field begins with a dot", "spec.versions[0].selectableFields: [{jsonPath: .a}]",
			"spec.versions[0].selectableFields: [{jsonPath: a}]",
			`spec.selectableFields[0].jsonPath: Invalid value: "a": is an invalid path: expected [ ` +
				"or . but got: a"},
		{"the path of a selectable field has an end", "spec.versions[0].selectableFields: [{jsonPath: .a}]",
			"spec.versions[0].selectableFields: [{jsonPath: .}]",
			`spec.selectableFields[0].jsonPath: Invalid value: ".": is an invalid path: unexpected ` +
				"end of JSON path"},
		{"selectable fields differ", "spec.versions[0].selectableFields: [{jsonPath: .a}, {jsonPath: .m.a}]",
			"spec.versions[0].selectableFields: [{jsonPath: .a}, {jsonPath: .a}]",
			`spec.selectableFields[1].jsonPath: Duplicate value: ".a"`},
		{"at most eight selectable fields",
			"spec.versions[0].selectableFields: " + kindtest.List(8, "{jsonPath: .m.a%d}"),
			"spec.versions[0].selectableFields: " + kindtest.List(9, "{jsonPath: .m.a%d}"),
			"spec.selectableFields: Too many: 9: must have at most 8 items"},
		{"selectable fields of a version need a schema of its own",
			"spec.versions[1]: {name: v2, served: true, storage: false, schema: {openAPIV3Schema: " +
				"{type: object}}}; spec.versions[0].selectableFields: [{jsonPath: .a}]",
			"spec.versions[0].schema: {openAPIV3Schema: {type: object}}; spec.versions[1]: {name: " +
				"v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}; " +
				"spec.versions[0].selectableFields: [{jsonPath: .a}]",
			`spec.versions[0].selectableFields: Invalid value: "": may only be set when ` +
				"`version.schema.openAPIV3Schema` is not included"},
		{"selectable fields of all versions need a schema of all",
			"spec.versions[0].selectableFields: [{jsonPath: .a}]",
			"spec.versions[0].selectableFields: [{jsonPath: .a}]; spec.versions[1]: {name: v2, " +
				"served: true, storage: false, selectableFields: [{jsonPath: .a}], schema: " +
				"{openAPIV3Schema: {type: object, properties: {a: {type: string}}}}}",
			`spec.selectableFields: Invalid value: "": may only be set when validations.schema is included`},
	})
}
