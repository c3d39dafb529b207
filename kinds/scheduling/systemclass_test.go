package scheduling_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const systemClass = `metadata: {name: system-node-critical}
value: 2000001000`

func TestSystemClassRules(t *testing.T) {
	kindtest.New(t, "priorityclasses.v1.scheduling.k8s.io", systemClass).Create(kindtest.Rules{
		{"a class of the system has its value", "metadata.name: system-cluster-critical; value: 2000000000",
			"value: 5",
			"metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for " +
				"system use only. error: value of system-node-critical PriorityClass must be 2000001000"},
		{"a class of the system is not the default", "preemptionPolicy: Never", "globalDefault: true",
			"metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for " +
				"system use only. error: globalDefault of system-node-critical PriorityClass must be false"},
		{"a class of the system is known", "preemptionPolicy: Never", "metadata.name: system-other",
			"metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for " +
				"system use only. error: system-other is not a known system priority class"},
	})
}
