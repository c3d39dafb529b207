package apiextensions_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

func TestNewValidationRules(t *testing.T) {
	kindtest.New(t, "customresourcedefinitions.v1.apiextensions.k8s.io", definition).Create(kindtest.Rules{
		{"a new rule calls a function that older servers have",
			"spec.versions[0].schema.openAPIV3Schema.properties.a: {type: string, " +
				`x-kubernetes-validations: [{rule: "[1] == [1]"}]}`,
			"spec.versions[0].schema.openAPIV3Schema.properties.a: {type: string, " +
				`x-kubernetes-validations: [{rule: "[1].includes(1)"}]}`,
			"spec.validation.openAPIV3Schema.properties[a].x-kubernetes-validations[0].rule: Invalid " +
				`value: {"Rule":"[1].includes(1)","Message":"","MessageExpression":"","Reason":null,"Fiel` +
				`dPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:13: undeclared ` +
				"reference to 'includes' (in container '')\n | [1].includes(1)\n | ............^"},
	})
}

func TestStoredRuleUpdated(t *testing.T) {
	k := kindtest.New(t, "customresourcedefinitions.v1.apiextensions.k8s.io", definition).With(
		"spec.versions[0].schema.openAPIV3Schema.properties.a: {type: string, x-kubernetes-validations: " +
			`[{rule: "[1].includes(1)"}]}`)
	k.Updated(kindtest.Cases{
		{"a stored rule stays", "spec.versions[0].schema.openAPIV3Schema.properties.b: {type: integer}",
			`spec.versions[0].schema.openAPIV3Schema.properties.b: {"type":"integer"}`},
	})
}

func TestNewestRuleCreated(t *testing.T) {
	k := kindtest.New(t, "customresourcedefinitions.v1.apiextensions.k8s.io", definition, "beside=1.37")
	k.Created(kindtest.Cases{
		{"a new rule without older servers",
			"spec.versions[0].schema.openAPIV3Schema.properties.a: {type: string, " +
				`x-kubernetes-validations: [{rule: "[1].includes(1)"}]}`, "spec.versions[0].name: v1"},
	})
}
