package storage_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const csiStorageCapacity = `storageClassName: a
capacity: 1Gi`

func TestCsiStorageCapacityRules(t *testing.T) {
	kindtest.New(t, "csistoragecapacities.v1.storage.k8s.io", csiStorageCapacity).Create(kindtest.Rules{
		{"storageClassName", "storageClassName: a.b", "storageClassName: A",
			`storageClassName: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower ` +
				"case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"capacity", "capacity: 0", "capacity: -1",
			`capacity: Invalid value: "-1": must be greater than or equal to 0`},
		{"nodeTopology", "nodeTopology: {matchLabels: {a: b}}", `nodeTopology: {matchLabels: {a: "b c"}}`,
			`nodeTopology.matchLabels: Invalid value: "b c": a valid label must be an empty string or ` +
				"consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for " +
				"validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
		{"operator of nodeTopology", "nodeTopology: {matchExpressions: [{key: a, operator: Exists}]}",
			"nodeTopology: {matchExpressions: [{key: a, operator: Has}]}",
			`nodeTopology.matchExpressions[0].operator: Invalid value: "Has": not a valid selector operator`},
		{"class", "storageClassName: a.b", "storageClassName: A",
			`storageClassName: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower ` +
				"case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"labels of the nodes", "nodeTopology: {matchLabels: {a: b}}", "nodeTopology: {matchLabels: {a: /}}",
			`nodeTopology.matchLabels: Invalid value: "/": a valid label must be an empty string or ` +
				"consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for " +
				"validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
		{"operator", "nodeTopology: {matchExpressions: [{key: a, operator: Exists}]}",
			"nodeTopology: {matchExpressions: [{key: a, operator: Is}]}",
			`nodeTopology.matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator`},
		{"all at once", "capacity: 0", `storageClassName: a/b; nodeTopology: {matchLabels: {a: /}}; capacity: "-1"`,
			`nodeTopology.matchLabels: Invalid value: "/": a valid label must be an empty string or ` +
				"consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for " +
				"validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?'); storageClassName: Invalid " +
				`value: "a/b": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric ` +
				"characters, '-' or '.', and must start and end with an alphanumeric character (e.g. " +
				"'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'); capacity: Invalid ` +
				`value: "-1": must be greater than or equal to 0`},
	})
}

func TestCsiStorageCapacityUpdateRules(t *testing.T) {
	kindtest.New(t, "csistoragecapacities.v1.storage.k8s.io", csiStorageCapacity).Update(kindtest.Rules{
		{"storageClassName", "capacity: 2Gi", "storageClassName: b",
			`storageClassName: Invalid value: "b": field is immutable`},
		{"nodeTopology", "maximumVolumeSize: 1Gi", "nodeTopology: {matchLabels: {a: b}}",
			`nodeTopology: Invalid value: {"matchLabels":{"a":"b"}}: field is immutable`},
	})
}

func TestCsiStorageCapacityColumns(t *testing.T) {
	k := kindtest.New(t, "csistoragecapacities.v1.storage.k8s.io", csiStorageCapacity)
	k.Columns("Name|Created At", kindtest.Cases{
		{"plain", "", "x|2026-05-04T11:00:00Z"},
	})
}

func TestCsiStorageCapacityWarnings(t *testing.T) {
	kindtest.New(t, "csistoragecapacities.v1.storage.k8s.io", csiStorageCapacity).Warnings(kindtest.Cases{
		{"deprecated label of a node", "nodeTopology.matchLabels: {beta.kubernetes.io/os: linux}",
			`nodeTopology.matchLabels.beta.kubernetes.io/os: deprecated since v1.14; use "kubernetes.io/os" instead`},
		{"deprecated label of an expression",
			"nodeTopology.matchExpressions: [{key: beta.kubernetes.io/arch, operator: Exists}]",
			"nodeTopology.matchExpressions[0].key: beta.kubernetes.io/arch is deprecated since v1.14; " +
				`use "kubernetes.io/arch" instead`},
	})
}
