package flowcontrol_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const priorityLevel = `spec: {type: Limited, limited: {limitResponse: {type: Queue, queuing: {}}}}`

func TestPriorityLevelRules(t *testing.T) {
	k := kindtest.New(t, "prioritylevelconfigurations.v1.flowcontrol.apiserver.k8s.io", priorityLevel)
	k.Create(kindtest.Rules{
		{"type", "metadata.name: exempt; spec: {type: Exempt}", "spec: {type: Other}",
			`spec.type: Unsupported value: "Other": supported values: "Exempt", "Limited"`},
		{"name of the exempt level", "metadata.name: exempt; spec: {type: Exempt}", "spec: {type: Exempt}",
			"spec.type: Invalid value: \"Exempt\": must be 'Exempt' if and only if `name` is 'exempt'"},
		{"limited", "spec.limited: {limitResponse: {type: Reject}}", "spec.limited: null",
			"spec.limited: Required value"},
		{"exempt and limited", "spec.limited: {limitResponse: {type: Reject}}",
			"spec.exempt: {nominalConcurrencyShares: 1}", "spec.exempt: Forbidden"},
		{"limited and exempt", "metadata.name: exempt; spec: {type: Exempt, exempt: {}}",
			"metadata.name: exempt; spec.type: Exempt",
			"spec: Invalid value: " +
				`{"Type":"Exempt","Limited":{"NominalConcurrencyShares":30,"LimitResponse":{"Type":"Queue","Q` +
				`ueuing":{"Queues":64,"HandSize":8,"QueueLengthLimit":50}},"LendablePercent":0,"BorrowingLimi` +
				`tPercent":null},"Exempt":{"NominalConcurrencyShares":0,"LendablePercent":0}}: spec of ` +
				"'exempt' except the 'spec.exempt' field must equal the fixed value; spec.limited: Forbidden"},
		{"shares", "spec.limited.nominalConcurrencyShares: 0", "spec.limited.nominalConcurrencyShares: -1",
			"spec.limited.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer"},
		{"lendablePercent", "spec.limited.lendablePercent: 100", "spec.limited.lendablePercent: 101",
			"spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive"},
		{"borrowingLimitPercent", "spec.limited.borrowingLimitPercent: 0", "spec.limited.borrowingLimitPercent: -1",
			"spec.limited.borrowingLimitPercent: Invalid value: -1: if specified, must be a non-negative integer"},
		{"response", "spec.limited.limitResponse: {type: Reject}", "spec.limited.limitResponse: {type: Other}",
			`spec.limited.limitResponse.type: Unsupported value: "Other": supported values: "Queue", "Reject"`},
		{"queuing of a rejection", "spec.limited.limitResponse: {type: Reject}",
			"spec.limited.limitResponse: {type: Reject, queuing: {}}",
			"spec.limited.limitResponse.queuing: Forbidden"},
		{"queuing", "spec.limited.limitResponse.queuing: {queues: 5, handSize: 5, queueLengthLimit: 1}",
			"spec.limited.limitResponse.queuing: null", "spec.limited.limitResponse.queuing: Required value"},
		{"queues", "spec.limited.limitResponse.queuing: {queues: 10000000, handSize: 2, queueLengthLimit: 1}",
			"spec.limited.limitResponse.queuing: {queues: 10000001, handSize: 1, queueLengthLimit: 1}",
			"spec.limited.limitResponse.queuing.queues: Invalid value: 10000001: must not be greater than 10000000"},
		{"handSize", "spec.limited.limitResponse.queuing: {queues: 5, handSize: 5, queueLengthLimit: 1}",
			"spec.limited.limitResponse.queuing: {queues: 5, handSize: 6, queueLengthLimit: 1}",
			"spec.limited.limitResponse.queuing.handSize: Invalid value: 6: should not be greater than queues (5)"},
		{"negative queues", "spec.limited.limitResponse.queuing: {queues: 1, handSize: 1, queueLengthLimit: 1}",
			"spec.limited.limitResponse.queuing: {queues: -1, handSize: -1, queueLengthLimit: -1}",
			"spec.limited.limitResponse.queuing.queueLengthLimit: Invalid value: -1: must be positive; " +
				"spec.limited.limitResponse.queuing.queues: Invalid value: -1: must be positive; " +
				"spec.limited.limitResponse.queuing.handSize: Invalid value: -1: must be positive"},
		{"entropy of a hand", "spec.limited.limitResponse.queuing: {queues: 64, handSize: 10, queueLengthLimit: 1}",
			"spec.limited.limitResponse.queuing: {queues: 512, handSize: 8, queueLengthLimit: 1}",
			"spec.limited.limitResponse.queuing.handSize: Invalid value: 8: required entropy bits of " +
				"deckSize 512 and handSize 8 should not be greater than 60"},
		{"shares of exempt", "metadata.name: exempt; spec: {type: Exempt, exempt: {nominalConcurrencyShares: 0}}",
			"metadata.name: exempt; spec: {type: Exempt, exempt: {nominalConcurrencyShares: -1}}",
			"spec.exempt.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer"},
		{"lending of exempt", "metadata.name: exempt; spec: {type: Exempt, exempt: {lendablePercent: 100}}",
			"metadata.name: exempt; spec: {type: Exempt, exempt: {lendablePercent: -1}}",
			"spec.exempt.lendablePercent: Invalid value: -1: must be between 0 and 100, inclusive"},
	})
}

func TestPriorityLevelUpdateRules(t *testing.T) {
	k := kindtest.New(t, "prioritylevelconfigurations.v1.flowcontrol.apiserver.k8s.io", priorityLevel)
	k.Update(kindtest.Rules{
		{"type", "spec.limited.lendablePercent: 5", "spec.type: Other",
			`spec.type: Unsupported value: "Other": supported values: "Exempt", "Limited"; spec.limited: Forbidden`},
		{"shares", "spec.limited.nominalConcurrencyShares: 1", "spec.limited.nominalConcurrencyShares: -1",
			"spec.limited.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer"},
	})
}

func TestPriorityLevelStatusRules(t *testing.T) {
	k := kindtest.New(t, "prioritylevelconfigurations.v1.flowcontrol.apiserver.k8s.io", priorityLevel)
	k.UpdateStatus(kindtest.Rules{})
}

func TestPriorityLevelCreated(t *testing.T) {
	k := kindtest.New(t, "prioritylevelconfigurations.v1.flowcontrol.apiserver.k8s.io", priorityLevel)
	k.Created(kindtest.Cases{
		{"shares", "",
			"spec.limited.nominalConcurrencyShares: 30; spec.limited.lendablePercent: 0; " +
				"spec.limited.borrowingLimitPercent: null; metadata.generation: 1"},
		{"queues", "",
			"spec.limited.limitResponse.queuing.queues: 64; spec.limited.limitResponse.queuing.handSize: " +
				"8; spec.limited.limitResponse.queuing.queueLengthLimit: 50"},
		{"exempt", "metadata.name: exempt; spec: {type: Exempt}",
			"spec.exempt.nominalConcurrencyShares: 0; spec.exempt.lendablePercent: 0"},
	})
}

func TestPriorityLevelGenerations(t *testing.T) {
	k := kindtest.New(t, "prioritylevelconfigurations.v1.flowcontrol.apiserver.k8s.io", priorityLevel)
	k.Generations(kindtest.Cases{
		{"nothing", "", "1"},
		{"spec", "spec.limited.nominalConcurrencyShares: 5", "2"},
	})
}

func TestPriorityLevelColumns(t *testing.T) {
	k := kindtest.New(t, "prioritylevelconfigurations.v1.flowcontrol.apiserver.k8s.io", priorityLevel)
	k.Columns("Name|Type|NominalConcurrencyShares|Queues|HandSize|QueueLengthLimit|Age", kindtest.Cases{
		{"queue", "", "x|Limited|30|64|8|50|60m"},
		{"reject", "spec.limited: {nominalConcurrencyShares: 3, limitResponse: {type: Reject}}",
			"x|Limited|3|<none>|<none>|<none>|60m"},
		{"exempt", "metadata.name: exempt; spec: {type: Exempt, exempt: {nominalConcurrencyShares: 3}}",
			"exempt|Exempt|<none>|<none>|<none>|<none>|60m"},
	})
}
