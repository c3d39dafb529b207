package scheduling_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const priorityClass = `value: 5`

func TestPriorityClassRules(t *testing.T) {
	kindtest.New(t, "priorityclasses.v1.scheduling.k8s.io", priorityClass).Create(kindtest.Rules{
		{"value", "value: 1000000000", "value: 1000000001",
			"value: Forbidden: maximum allowed value of a user defined priority is 1000000000"},
		{"system prefix", "metadata.name: a", "metadata.name: system-a",
			"metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for " +
				"system use only. error: system-a is not a known system priority class"},
		{"preemptionPolicy", "preemptionPolicy: Never", "preemptionPolicy: Other",
			`preemptionPolicy: Unsupported value: "Other": supported values: "PreemptLowerPriority", "Never"`},
	})
}

func TestPriorityClassUpdateRules(t *testing.T) {
	kindtest.New(t, "priorityclasses.v1.scheduling.k8s.io", priorityClass).Update(kindtest.Rules{
		{"value", "description: a", "value: 6", "value: Forbidden: may not be changed in an update."},
		{"preemptionPolicy", "globalDefault: true", "preemptionPolicy: Never",
			`preemptionPolicy: Invalid value: "Never": field is immutable`},
	})
}

func TestPriorityClassCreated(t *testing.T) {
	kindtest.New(t, "priorityclasses.v1.scheduling.k8s.io", priorityClass).Created(kindtest.Cases{
		{"preemptionPolicy", "", "preemptionPolicy: PreemptLowerPriority; metadata.generation: 1"},
	})
}

func TestPriorityClassGenerations(t *testing.T) {
	kindtest.New(t, "priorityclasses.v1.scheduling.k8s.io", priorityClass).Generations(kindtest.Cases{
		{"description", "description: a", "1"},
	})
}

func TestPriorityClassColumns(t *testing.T) {
	k := kindtest.New(t, "priorityclasses.v1.scheduling.k8s.io", priorityClass)
	k.Columns("Name|Value|Global-Default|Age|PreemptionPolicy", kindtest.Cases{
		{"plain", "", "x|5|false|60m|PreemptLowerPriority"},
		{"default", "globalDefault: true; preemptionPolicy: Never", "x|5|true|60m|Never"},
	})
}
