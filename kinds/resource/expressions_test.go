package resource_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

func TestNewSelectorRules(t *testing.T) {
	kindtest.New(t, "deviceclasses.v1.resource.k8s.io", deviceClass).Create(kindtest.Rules{
		{"a new selector calls a function that older servers have", `spec.selectors[0].cel.expression: "[1] == [1]"`,
			`spec.selectors[0].cel.expression: "[1].includes(1)"`,
			`spec.selectors[0].cel.expression: Invalid value: "[1].includes(1)": compilation failed: ` +
				"ERROR: <input>:1:13: undeclared reference to 'includes' (in container '')\n | " +
				"[1].includes(1)\n | ............^"},
	})
}

func TestStoredSelectorUpdated(t *testing.T) {
	k := kindtest.New(t, "deviceclasses.v1.resource.k8s.io", deviceClass).With(
		`spec.selectors[0].cel.expression: "[1].includes(1)"`)
	k.Updated(kindtest.Cases{
		{"a stored selector stays", "metadata.labels: {a: b}", `spec.selectors[0].cel.expression: "[1].includes(1)"`},
	})
}

func TestNewestSelectorCreated(t *testing.T) {
	kindtest.New(t, "deviceclasses.v1.resource.k8s.io", deviceClass, "beside=1.37").Created(kindtest.Cases{
		{"a new selector without older servers", `spec.selectors[0].cel.expression: "[1].includes(1)"`,
			`spec.selectors[0].cel.expression: "[1].includes(1)"`},
	})
}
