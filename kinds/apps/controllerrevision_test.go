package apps_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const controllerRevision = `data: {a: 1}
revision: 1`

func TestControllerRevisionRules(t *testing.T) {
	kindtest.New(t, "controllerrevisions.v1.apps", controllerRevision).Create(kindtest.Rules{
		{"revision", "revision: 0", "revision: -1",
			"revision: Invalid value: -1: must be greater than or equal to 0"},
		{"data", "data: {}", "data: null", "data: Required value: data is mandatory"},
		{"a list as data", "data: {a: [1]}", "data: [1]", "data: Required value: data must be a valid JSON object"},
		{"a number as data", "data: {a: 1}", "data: 1", "data: Required value: data must be a valid JSON object"},
		{"name", "metadata.name: a.b", "metadata.name: a_b",
			`metadata.name: Invalid value: "a_b": a lowercase RFC 1123 subdomain must consist of lower ` +
				"case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
	})
}

func TestControllerRevisionUpdateRules(t *testing.T) {
	kindtest.New(t, "controllerrevisions.v1.apps", controllerRevision).Update(kindtest.Rules{
		{"data", "revision: 2", "data: {a: 2}", `data: Invalid value: {"a":2}: field is immutable`},
		{"revision", "revision: 0", "revision: -1",
			"revision: Invalid value: -1: must be greater than or equal to 0"},
	})
}

func TestControllerRevisionColumns(t *testing.T) {
	k := kindtest.New(t, "controllerrevisions.v1.apps", controllerRevision)
	k.Columns("Name|Controller|Revision|Age", kindtest.Cases{
		{"no controller", "", "x|<none>|1|60m"},
		{"controller",
			"metadata.ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: d, uid: u, controller: true}]",
			"x|daemonset.apps/d|1|60m"},
	})
}

func TestControllerRevisionGenerations(t *testing.T) {
	kindtest.New(t, "controllerrevisions.v1.apps", controllerRevision).Generations(kindtest.Cases{
		{"revision", "revision: 2", "0"},
	})
}

// TestControllerRevisionCells checks that tables show the controller among the owners.
func TestControllerRevisionCells(t *testing.T) {
	k := kindtest.New(t, "controllerrevisions.v1.apps", controllerRevision)
	k.Columns("Name|Controller|Revision|Age", kindtest.Cases{
		{"owner", "metadata.ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: o, uid: u}]",
			"x|<none>|1|60m"},
		{"controller",
			"metadata.ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: o, uid: u, controller: true}]",
			"x|daemonset.apps/o|1|60m"},
		{"controller of the core group",
			"metadata.ownerReferences: [{apiVersion: v1, kind: Pod, name: o, uid: u, controller: true}]",
			"x|pod/o|1|60m"},
	})
}

// TestRevisionWithoutData checks that a revision that was stored without data can be changed.
func TestRevisionWithoutData(t *testing.T) {
	kindtest.New(t, "controllerrevisions.v1.apps", controllerRevision).With("data: null").Update(kindtest.Rules{
		{"revision", "revision: 2", "revision: -1",
			"revision: Invalid value: -1: must be greater than or equal to 0"},
	})
}
