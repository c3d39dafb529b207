package storage_test

import (
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
	})
}

func TestCsiNodeUpdateRules(t *testing.T) {
	kindtest.New(t, "csinodes.v1.storage.k8s.io", csiNode).Update(kindtest.Rules{
		{"driver", "spec.drivers: []", "spec.drivers[0].nodeID: n2",
			"spec.drivers: Invalid value: " +
				`{"Name":"a.b","NodeID":"n2","TopologyKeys":["c"],"Allocatable":null}: field is immutable`},
		{"another driver", "spec.drivers[1]: {name: c, nodeID: n1}", `spec.drivers[1]: {name: c, nodeID: ""}`,
			"spec.drivers[1].nodeID: Required value"},
	})
}

func TestCsiNodeColumns(t *testing.T) {
	kindtest.New(t, "csinodes.v1.storage.k8s.io", csiNode).Columns("Name|Drivers|Age", kindtest.Cases{
		{"one", "", "x|1|60m"},
		{"two", "spec.drivers[1]: {name: c, nodeID: n1}", "x|2|60m"},
	})
}
