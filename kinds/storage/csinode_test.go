package storage_test

import (
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const csiNode = `spec: {drivers: [{name: a.b, nodeID: n1, topologyKeys: [c]}]}`

func TestCsiNodeRules(t *testing.T) {
	kindtest.New(t, "csinodes.v1.storage.k8s.io", csiNode).Create(kindtest.Rules{
		{"name of a driver", "spec.drivers[0].name: A", "spec.drivers[0].name: a_b",
			`spec.drivers[0].name: Invalid value: "a_b": a lowercase RFC 1123 subdomain must consist of ` +
				"lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"no name", "spec.drivers[0].name: a", `spec.drivers[0].name: ""`, "spec.drivers[0].name: Required value"},
		{"driver twice", "spec.drivers[1]: {name: c, nodeID: n1}", "spec.drivers[1]: {name: a.b, nodeID: n1}",
			`spec.drivers[1].name: Duplicate value: "a.b"`},
		{"nodeID", "spec.drivers[0].nodeID: a", `spec.drivers[0].nodeID: ""`,
			"spec.drivers[0].nodeID: Required value"},
		{"count", "spec.drivers[0].allocatable: {count: 0}", "spec.drivers[0].allocatable: {count: -1}",
			"spec.drivers[0].allocatable.count: Invalid value: -1: must be greater than or equal to 0"},
		{"topologyKey", "spec.drivers[0].topologyKeys: [a.b/c]", `spec.drivers[0].topologyKeys: ["a b"]`,
			`spec.drivers[0]: Invalid value: "a b": name part must consist of alphanumeric characters, ` +
				"'-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or " +
				"'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"no topologyKey", "spec.drivers[0].topologyKeys: [d]", `spec.drivers[0].topologyKeys: [""]`,
			`spec.drivers[0]: Required value; spec.drivers[0]: Invalid value: "": name part must be ` +
				`non-empty; spec.drivers[0]: Invalid value: "": name part must consist of alphanumeric ` +
				"characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. " +
				"'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
				"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"topologyKey twice", "spec.drivers[0].topologyKeys: [c, d]", "spec.drivers[0].topologyKeys: [c, c]",
			`spec.drivers[0]: Duplicate value: "c"`},
		{"length of a node's id", "spec.drivers[0].nodeID: " + strings.Repeat("a", 256),
			"spec.drivers[0].nodeID: " + strings.Repeat("a", 257),
			"spec.drivers[0].nodeID: Invalid value: " +
				`"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa` +
				"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" +
				`aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": must be 256 ` +
				"characters or less"},
		{"count", "spec.drivers[0].allocatable: {count: 0}", "spec.drivers[0].allocatable: {count: -1}",
			"spec.drivers[0].allocatable.count: Invalid value: -1: must be greater than or equal to 0"},
		{"topology key twice", "spec.drivers[0].topologyKeys: [a, b]", "spec.drivers[0].topologyKeys: [a, a]",
			`spec.drivers[0]: Duplicate value: "a"`},
		{"form of a topology key", "spec.drivers[0].topologyKeys: [a.b/c]", `spec.drivers[0].topologyKeys: ["a b"]`,
			`spec.drivers[0]: Invalid value: "a b": name part must consist of alphanumeric characters, ` +
				"'-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or " +
				"'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
	})
}

func TestCsiNodeUpdateRules(t *testing.T) {
	kindtest.New(t, "csinodes.v1.storage.k8s.io", csiNode).Update(kindtest.Rules{
		{"driver", "spec.drivers: []", "spec.drivers[0].nodeID: n2",
			"spec.drivers: Invalid value: " +
				`{"Name":"a.b","NodeID":"n2","TopologyKeys":["c"],"Allocatable":null}: field is immutable`},
		{"another driver", "spec.drivers[1]: {name: c, nodeID: n1}", `spec.drivers[1]: {name: c, nodeID: ""}`,
			"spec.drivers[1].nodeID: Required value"},
		{"new count", "spec.drivers[0].allocatable: {count: 1}", "spec.drivers[0].nodeID: n2",
			"spec.drivers: Invalid value: " +
				`{"Name":"a.b","NodeID":"n2","TopologyKeys":["c"],"Allocatable":null}: field is immutable`},
		{"other topology", "spec.drivers[1]: {name: c, nodeID: a}", "spec.drivers[0].topologyKeys: [d]",
			"spec.drivers: Invalid value: " +
				`{"Name":"a.b","NodeID":"n1","TopologyKeys":["d"],"Allocatable":null}: field is immutable`},
		{"no drivers", "spec.drivers: []", `spec.drivers: [{name: a.b, nodeID: ""}]`,
			"spec.drivers[0].nodeID: Required value; spec.drivers: Invalid value: " +
				`{"Name":"a.b","NodeID":"","TopologyKeys":null,"Allocatable":null}: field is immutable`},
	})
}

func TestCsiNodeColumns(t *testing.T) {
	kindtest.New(t, "csinodes.v1.storage.k8s.io", csiNode).Columns("Name|Drivers|Age", kindtest.Cases{
		{"one", "", "x|1|60m"},
		{"two", "spec.drivers[1]: {name: c, nodeID: n1}", "x|2|60m"},
	})
}

// TestCSINodeOfImmutableCount checks that the number of volumes is immutable without the gate.
func TestCSINodeOfImmutableCount(t *testing.T) {
	k := kindtest.New(t, "csinodes.v1.storage.k8s.io", csiNode, "1.35", "-MutableCSINodeAllocatableCount").With(
		"spec.drivers[0].allocatable: {count: 1}")
	k.Update(kindtest.Rules{
		{"count", "metadata.labels: {a: b}", "spec.drivers[0].allocatable: {count: 2}",
			"spec.drivers: Invalid value: " +
				`{"Name":"a.b","NodeID":"n1","TopologyKeys":["c"],"Allocatable":{"Count":2}}: field is immutable`},
	})
}

// TestCSINodeHealth checks what drivers report about the storage.
func TestCSINodeHealth(t *testing.T) {
	k := kindtest.New(t, "csinodes.v1.storage.k8s.io", csiNode, "CSIVolumeHealth").With(
		"status.storageHealth: [{name: a.b, healthConditions: [{status: StorageDegraded, reason: Slow}]}]")
	k.UpdateStatus(kindtest.Rules{
		{"driver", "status.storageHealth[0].name: c", `status.storageHealth[0].name: ""`,
			"status.storageHealth[0].name: Required value"},
		{"form of a driver", "status.storageHealth[0].name: c.d", "status.storageHealth[0].name: c_d",
			`status.storageHealth[0].name: Invalid value: "c_d": a lowercase RFC 1123 subdomain must ` +
				"consist of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"driver twice", "status.storageHealth[1]: {name: c}", "status.storageHealth[1]: {name: a.b}",
			`status.storageHealth[1]: Duplicate value: "a.b"`},
		{"status", "status.storageHealth[0].healthConditions[0].status: StorageUnreachable",
			"status.storageHealth[0].healthConditions[0].status: Fine",
			`status.storageHealth[0].healthConditions[0].status: Unsupported value: "Fine": supported ` +
				`values: "StorageDegraded", "StorageUnreachable"`},
		{"reason", "status.storageHealth[0].healthConditions[0].reason: A",
			`status.storageHealth[0].healthConditions[0].reason: ""`,
			"status.storageHealth[0].healthConditions[0].reason: Required value"},
		{"form of a reason", "status.storageHealth[0].healthConditions[0].reason: A1_b",
			`status.storageHealth[0].healthConditions[0].reason: "a b"`,
			`status.storageHealth[0].healthConditions[0].reason: Invalid value: "a b": a condition ` +
				"reason must start with alphabetic character, optionally followed by a string of " +
				"alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. " +
				"'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex " +
				"used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')"},
		{"length of a reason", "status.storageHealth[0].healthConditions[0].reason: " + strings.Repeat("a", 256),
			"status.storageHealth[0].healthConditions[0].reason: " + strings.Repeat("a", 257),
			"status.storageHealth[0].healthConditions[0].reason: Too long: may not be more than 256 bytes"},
		{"length of a message", "status.storageHealth[0].healthConditions[0].message: " + strings.Repeat("a", 1024),
			"status.storageHealth[0].healthConditions[0].message: " + strings.Repeat("a", 1025),
			"status.storageHealth[0].healthConditions[0].message: Too long: may not be more than 1024 bytes"},
		{"volume mode", "status.storageHealth[0].healthConditions[0].volumeMode: Block",
			"status.storageHealth[0].healthConditions[0].volumeMode: Tape",
			`status.storageHealth[0].healthConditions[0].volumeMode: Unsupported value: "Tape": ` +
				`supported values: "Filesystem", "Block"`},
		{"access mode", "status.storageHealth[0].healthConditions[0].accessMode: ReadWriteOncePod",
			"status.storageHealth[0].healthConditions[0].accessMode: Never",
			`status.storageHealth[0].healthConditions[0].accessMode: Unsupported value: "Never": ` +
				`supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"`},
		{"at most 16 conditions", "status.storageHealth[0].healthConditions: []",
			"status.storageHealth[0].healthConditions: [" +
				strings.Repeat("{status: StorageDegraded, reason: A},", 17) + "]",
			"status.storageHealth[0].healthConditions: Too many: 17: must have at most 16 items"},
	})
}

// TestCSINodeHealthKeepsSpec checks that a write of the status changes nothing else.
func TestCSINodeHealthKeepsSpec(t *testing.T) {
	kindtest.New(t, "csinodes.v1.storage.k8s.io", csiNode, "CSIVolumeHealth").StatusUpdated(kindtest.Cases{
		{"spec", "spec.drivers: []; status.storageHealth: [{name: a.b}]",
			"spec.drivers[0].name: a.b; status.storageHealth[0].name: a.b"},
		{"labels", "metadata.labels: {a: b}; status.storageHealth: [{name: a.b}]", "metadata.labels: null"},
	})
}

// TestCSINodeWithoutHealth checks that the status is dropped without the gate.
func TestCSINodeWithoutHealth(t *testing.T) {
	kindtest.New(t, "csinodes.v1.storage.k8s.io", csiNode, "-CSIVolumeHealth").Created(kindtest.Cases{
		{"status", "status.storageHealth: [{name: a.b}]", "status: {}"},
	})
}
