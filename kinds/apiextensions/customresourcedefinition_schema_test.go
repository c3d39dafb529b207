package apiextensions_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

func TestDefinitionSchemaRules(t *testing.T) {
	kindtest.New(t, "customresourcedefinitions.v1.apiextensions.k8s.io", definition).Create(kindtest.Rules{
		{"the type of the root is an object", "spec.versions[0].schema.openAPIV3Schema: {type: object}",
			"spec.versions[0].schema.openAPIV3Schema: {type: array, items: {type: string}}",
			`spec.validation.openAPIV3Schema.type: Invalid value: "array": must be object at the root`},
		{"the root is not null",
			"spec.versions[0].schema.openAPIV3Schema: {type: object, properties: {a: {type: string, " +
				"nullable: true}}}", "spec.versions[0].schema.openAPIV3Schema: {type: object, nullable: true}",
			"spec.validation.openAPIV3Schema.nullable: Forbidden: nullable cannot be true at the root"},
		{"each field has a type", "spec.versions[0].schema.openAPIV3Schema.properties.a: {type: integer}",
			"spec.versions[0].schema.openAPIV3Schema.properties.a: {description: d}",
			"spec.validation.openAPIV3Schema.properties[a].type: Required value: must not be empty " +
				"for specified object fields"},
		{"a pattern is a regular expression",
			`spec.versions[0].schema.openAPIV3Schema.properties.a: {type: string, pattern: "a+"}`,
			`spec.versions[0].schema.openAPIV3Schema.properties.a: {type: string, pattern: "("}`,
			`spec.validation.openAPIV3Schema.properties[a].pattern: Invalid value: "(": must be a ` +
				"valid regular expression, but isn't: error parsing regexp: missing closing ): `(`"},
		{"a validation rule compiles",
			"spec.versions[0].schema.openAPIV3Schema.properties.a: {type: string, " +
				"x-kubernetes-validations: [{rule: self == 'a'}]}",
			"spec.versions[0].schema.openAPIV3Schema.properties.a: {type: string, " +
				"x-kubernetes-validations: [{rule: self.b == 'a'}]}",
			"spec.validation.openAPIV3Schema.properties[a].x-kubernetes-validations[0].rule: Invalid " +
				`value: {"Rule":"self.b == ` +
				`'a'","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":` +
				"null}: compilation failed: ERROR: <input>:1:5: type 'string' does not support field " +
				"selection\n | self.b == 'a'\n | ....^"},
		{"a default is valid", "spec.versions[0].schema.openAPIV3Schema.properties.a: {type: string, default: b}",
			"spec.versions[0].schema.openAPIV3Schema.properties.a: {type: string, default: 5}",
			`spec.validation.openAPIV3Schema.properties[a].default: Invalid value: "integer":  in ` +
				`body must be of type string: "integer"`},
		{"the root with a status has few keywords", "spec.versions[0].subresources: {status: {}}",
			"spec.versions[0].subresources: {status: {}}; spec.versions[0].schema.openAPIV3Schema.enum: [{}]",
			`spec.validation.openAPIV3Schema: Invalid value: {"ID":"","Schema":"","... the root of ` +
				"the schema if the status subresource is enabled"},
		{"the root with a status is an object", "spec.versions[0].subresources: {status: {}}",
			"spec.versions[0].subresources: {status: {}}; spec.versions[0].schema.openAPIV3Schema: " +
				"{type: array, items: {type: string}}",
			`spec.validation.openAPIV3Schema.type: Invalid value: "array": only "object" is allowed ` +
				"as the type at the root of the schema if the status subresource is enabled; " +
				`spec.validation.openAPIV3Schema.type: Invalid value: "array": must be object at the root`},
	})
}
