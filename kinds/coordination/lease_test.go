package coordination_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const lease = `spec: {holderIdentity: a}`

func TestLeaseRules(t *testing.T) {
	kindtest.New(t, "leases.v1.coordination.k8s.io", lease).Create(kindtest.Rules{
		{"duration", "spec.leaseDurationSeconds: 1", "spec.leaseDurationSeconds: 0",
			"spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"},
		{"transitions", "spec.leaseTransitions: 0", "spec.leaseTransitions: -1",
			"spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0"},
		{"both bounds", "spec.leaseDurationSeconds: 1; spec.leaseTransitions: 0",
			"spec.leaseDurationSeconds: 0; spec.leaseTransitions: -1",
			"spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0; spec.leaseTransitions: " +
				"Invalid value: -1: must be greater than or equal to 0"},
		{"name", "metadata.name: a.b", "metadata.name: A",
			`metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower ` +
				"case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
	})
}

func TestLeaseUpdateRules(t *testing.T) {
	kindtest.New(t, "leases.v1.coordination.k8s.io", lease).Update(kindtest.Rules{
		{"duration", "spec.leaseDurationSeconds: 5", "spec.leaseDurationSeconds: -5",
			"spec.leaseDurationSeconds: Invalid value: -5: must be greater than 0"},
		{"transitions", "spec.leaseTransitions: 5", "spec.leaseTransitions: -5",
			"spec.leaseTransitions: Invalid value: -5: must be greater than or equal to 0"},
	})
}

func TestLeaseColumns(t *testing.T) {
	kindtest.New(t, "leases.v1.coordination.k8s.io", lease).Columns("Name|Holder|Age", kindtest.Cases{
		{"held", "", "x|a|60m"},
		{"free", "spec.holderIdentity: null", "x||60m"},
	})
}

func TestLeaseCreated(t *testing.T) {
	kindtest.New(t, "leases.v1.coordination.k8s.io", lease).Created(kindtest.Cases{
		{"fields of elections need a gate", "spec.strategy: OldestEmulationVersion; spec.preferredHolder: b",
			"spec.strategy: null; spec.preferredHolder: null"},
	})
}

// TestElectionOfLeases checks the fields for elections.
func TestElectionOfLeases(t *testing.T) {
	k := kindtest.New(t, "leases.v1.coordination.k8s.io", lease, "CoordinatedLeaderElection").With(
		"spec.strategy: OldestEmulationVersion")
	k.Create(kindtest.Rules{
		{"strategy", "spec.strategy: OldestEmulationVersion", "spec.strategy: Youngest",
			`spec.strategy.strategy: Unsupported value: "Youngest": supported values: "OldestEmulationVersion"`},
		{"strategy of a domain", "spec.strategy: example.com/a", "spec.strategy: /a",
			`spec.strategy.strategy: Invalid value: "/a": prefix part must be non-empty`},
		{"empty strategy", "spec.strategy: null", `spec.strategy: ""`,
			`spec.strategy.strategy: Unsupported value: "": supported values: "OldestEmulationVersion"`},
		{"preferred holder", "spec.preferredHolder: b", "spec.strategy: null; spec.preferredHolder: b",
			"spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined"},
	})
}

// TestElectionOfLeasesUpdate checks updates of the fields for elections.
func TestElectionOfLeasesUpdate(t *testing.T) {
	k := kindtest.New(t, "leases.v1.coordination.k8s.io", lease, "CoordinatedLeaderElection").With(
		"spec.strategy: OldestEmulationVersion")
	k.Update(kindtest.Rules{
		{"strategy", "spec.strategy: example.com/a", "spec.strategy: Youngest",
			`spec.strategy.strategy: Unsupported value: "Youngest": supported values: "OldestEmulationVersion"`},
		{"preferred holder", "spec.preferredHolder: b", "spec.strategy: null; spec.preferredHolder: b",
			"spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined"},
	})
}
