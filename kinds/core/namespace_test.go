package core_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const namespace = `metadata: {name: a}`

func TestNamespaceRules(t *testing.T) {
	kindtest.New(t, "namespaces.v1", namespace).Create(kindtest.Rules{
		{"name", "metadata.name: a-b", "metadata.name: a.b",
			`metadata.name: Invalid value: "a.b": must not contain dots`},
		{"finalizer", "spec.finalizers: [a.b/c]", "spec.finalizers: [bad]",
			`spec.finalizers: Invalid value: "bad": name is neither a standard finalizer name nor is it ` +
				"fully qualified"},
		{"prefix of a finalizer", "spec.finalizers: [kubernetes]", "spec.finalizers: [/a]",
			`spec.finalizers: Invalid value: "/a": prefix part must be non-empty`},
	})
}

func TestNamespaceUpdateRules(t *testing.T) {
	kindtest.New(t, "namespaces.v1", namespace).Update(kindtest.Rules{
		{"labels", "metadata.labels.b: c", `metadata.labels.b: "c d"`,
			`metadata.labels: Invalid value: "c d": a valid label must be an empty string or consist of ` +
				"alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is " +
				"'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
		{"finalizers of metadata", "metadata.finalizers: [a.b/c]", "metadata.finalizers: [a]",
			`metadata.finalizers[0]: Invalid value: "a": name is neither a standard finalizer name nor ` +
				"is it fully qualified"},
	})
}

func TestNamespaceStatusRules(t *testing.T) {
	kindtest.New(t, "namespaces.v1", namespace).UpdateStatus(kindtest.Rules{
		{"phase", "metadata.labels.a: b", "status.phase: Terminating",
			"status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty"},
		{"unknown phase", "status.phase: Active", "status.phase: Other",
			"status.Phase: Invalid value: \"Other\": may only be 'Active' if `deletionTimestamp` is empty"},
	})
}

func TestNamespacePartRules(t *testing.T) {
	kindtest.New(t, "namespaces.v1", namespace).UpdatePart("finalize", kindtest.Rules{
		{"finalizer", "spec.finalizers: []", "spec.finalizers: [bad]",
			`spec.finalizers[0]: Invalid value: "bad": name is neither a standard finalizer name nor is ` +
				"it fully qualified"},
		{"several", "spec.finalizers: [kubernetes, a.b/c]", "spec.finalizers: [kubernetes, /a]",
			`spec.finalizers[1]: Invalid value: "/a": prefix part must be non-empty`},
	})
}

func TestNamespaceCreated(t *testing.T) {
	kindtest.New(t, "namespaces.v1", namespace).Created(kindtest.Cases{
		{"new", "",
			`metadata.labels[kubernetes.io/metadata.name]: a; status.phase: Active; spec.finalizers: ["kubernetes"]`},
		{"own finalizer", "spec.finalizers: [a.b/c]; status.phase: Terminating",
			`spec.finalizers: ["a.b/c","kubernetes"]; status.phase: Active`},
		{"other label", "metadata.labels[kubernetes.io/metadata.name]: b",
			"metadata.labels[kubernetes.io/metadata.name]: a"},
	})
}

func TestNamespaceUpdated(t *testing.T) {
	kindtest.New(t, "namespaces.v1", namespace).Updated(kindtest.Cases{
		{"finalizers", "spec.finalizers: []", `spec.finalizers: ["kubernetes"]`},
		{"label of the name", "metadata.labels: null", "metadata.labels[kubernetes.io/metadata.name]: a"},
	})
}

func TestNamespaceStatusUpdated(t *testing.T) {
	kindtest.New(t, "namespaces.v1", namespace).StatusUpdated(kindtest.Cases{
		{"finalizers", "spec.finalizers: []; metadata.labels.a: b",
			`spec.finalizers: ["kubernetes"]; metadata.labels.a: b`},
	})
}

func TestNamespacePartUpdated(t *testing.T) {
	kindtest.New(t, "namespaces.v1", namespace).PartUpdated("finalize", kindtest.Cases{
		{"status", "status.phase: Terminating; spec.finalizers: []", "status.phase: Active; spec.finalizers: null"},
	})
}

func TestNamespaceColumns(t *testing.T) {
	kindtest.New(t, "namespaces.v1", namespace).Columns("Name|Status|Age", kindtest.Cases{
		{"active", "", "a|Active|60m"},
	})
}

func TestNamespaceSelectableFields(t *testing.T) {
	kindtest.New(t, "namespaces.v1", namespace).Selectable(kindtest.Cases{
		{"active", "", "status.phase=Active"},
	})
}
