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
