package core_test

import (
	"strings"
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

// TestNamespacePhase checks that a namespace is terminating if and only if it is deleted.
func TestNamespacePhase(t *testing.T) {
	kindtest.New(t, "namespaces.v1", namespace).UpdateStatus(kindtest.Rules{
		{"active", "status.phase: Active", "status.phase: Terminating",
			"status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty"},
		{"unknown phase", "status.phase: Active", "status.phase: Ready",
			"status.Phase: Invalid value: \"Ready\": may only be 'Active' if `deletionTimestamp` is empty"},
	})
}

// TestNamespaceNames checks the names of namespaces.
func TestNamespaceNames(t *testing.T) {
	kindtest.New(t, "namespaces.v1", namespace).Create(kindtest.Rules{
		{"name", "metadata.name: a-1", "metadata.name: a.b",
			`metadata.name: Invalid value: "a.b": must not contain dots`},
		{"upper case", "metadata.name: abc", "metadata.name: Abc",
			`metadata.name: Invalid value: "Abc": a lowercase RFC 1123 label must consist of lower case ` +
				"alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. " +
				"'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
		{"length", "metadata.name: " + strings.Repeat("a", 63), "metadata.name: " + strings.Repeat("a", 64),
			"metadata.name: Invalid value: " +
				`"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": must be no more than 63 ` +
				"characters; metadata.labels: Invalid value: " +
				`"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": must be no more than 63 bytes`},
	})
}

// TestNamespaceStates checks what tables show of namespaces.
func TestNamespaceStates(t *testing.T) {
	kindtest.New(t, "namespaces.v1", namespace).Columns("Name|Status|Age", kindtest.Cases{
		{"active", "status.phase: Active", "a|Active|60m"},
		{"terminating", "status.phase: Terminating", "a|Terminating|60m"},
	})
}
