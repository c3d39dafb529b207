package storagemigration_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const migration = `spec: {resource: {group: apps, resource: deployments}}`

func TestMigrationRules(t *testing.T) {
	k := kindtest.New(t, "storageversionmigrations.v1.storagemigration.k8s.io", migration, "StorageVersionMigrator")
	k.Create(kindtest.Rules{
		{"a resource is required", "spec.resource: {resource: pods}", "spec.resource: {}",
			"spec.resource.resource: Required value: resource is required to be set"},
		{"a resource is a label", "spec.resource: {resource: pods}", `spec.resource: {resource: "1"}`,
			`spec.resource.resource: Invalid value: "1": a DNS-1035 label must consist of lower case ` +
				"alphanumeric characters or '-', start with an alphabetic character, and end with an " +
				"alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is " +
				"'[a-z]([-a-z0-9]*[a-z0-9])?')"},
		{"a group is a subdomain", "spec.resource: {group: a.b, resource: c}",
			"spec.resource: {group: A, resource: c}",
			`spec.resource.group: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of ` +
				"lower case alphanumeric characters, '-' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
	})
}

func TestMigrationUpdateRules(t *testing.T) {
	k := kindtest.New(t, "storageversionmigrations.v1.storagemigration.k8s.io", migration, "StorageVersionMigrator")
	k.Update(kindtest.Rules{
		{"the resource is immutable", "metadata.labels: {a: b}", "spec.resource.resource: daemonsets",
			`spec: Invalid value: {"Resource":{"group":"apps","resource":"daemonsets"}}: field is immutable`},
		{"a changed resource is a label", "metadata.labels: {a: b}", `spec.resource.resource: "1"`,
			`spec.resource.resource: Invalid value: "1": a DNS-1035 label must consist of lower case ` +
				"alphanumeric characters or '-', start with an alphabetic character, and end with an " +
				"alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is " +
				"'[a-z]([-a-z0-9]*[a-z0-9])?'); spec: Invalid value: " +
				`{"Resource":{"group":"apps","resource":"1"}}: field is immutable`},
	})
}

func TestMigrationStatusRules(t *testing.T) {
	k := kindtest.New(t, "storageversionmigrations.v1.storagemigration.k8s.io", migration, "StorageVersionMigrator")
	k.UpdateStatus(kindtest.Rules{
		{"a version is a number", `status.resourceVersion: "5"`, "status.resourceVersion: x",
			`status.resourceVersion: Invalid value: "x": resource version is not well formed: x`},
		{"a condition has a reason",
			`status.conditions: [{type: Running, status: "True", reason: R, message: "", ` +
				`lastTransitionTime: "2026-05-04T11:00:00Z"}]`,
			`status.conditions: [{type: Running, status: "True", reason: "", message: "", ` +
				`lastTransitionTime: "2026-05-04T11:00:00Z"}]`, "status.conditions[0].reason: Required value"},
		{"a migration succeeds or fails",
			`status.conditions: [{type: Succeeded, status: "True", reason: R, message: "", ` +
				`lastTransitionTime: "2026-05-04T11:00:00Z"}]`,
			`status.conditions: [{type: Succeeded, status: "True", reason: R, message: "", ` +
				`lastTransitionTime: "2026-05-04T11:00:00Z"}, {type: Failed, status: "True", reason: R, ` +
				`message: "", lastTransitionTime: "2026-05-04T11:00:00Z"}]`,
			"status.conditions: Invalid value: " +
				`[{"type":"Succeeded","status":"True","lastTransitionTime":"2026-05-04T11:00:00Z","reason` +
				`":"R","message":""},{"type":"Failed","status":"True","lastTransitionTime":"2026-05-04T11` +
				`:00:00Z","reason":"R","message":""}]: Both success and failed conditions cannot be true ` +
				"at the same time"},
	})
}

func TestSucceededMigrationStatusRules(t *testing.T) {
	k := kindtest.New(t, "storageversionmigrations.v1.storagemigration.k8s.io", migration, "StorageVersionMigrator").With(
		`status: {resourceVersion: "5", conditions: [{type: Succeeded, status: "True", reason: R, ` +
			`message: "", lastTransitionTime: "2026-05-04T11:00:00Z"}]}`)
	k.UpdateStatus(kindtest.Rules{
		{"a version is immutable", "status.conditions[0].message: m", `status.resourceVersion: "6"`,
			`status.resourceVersion: Invalid value: "6": field is immutable`},
		{"a success is not undone", "status.conditions[0].message: m", "status.conditions: []",
			"status.conditions: Invalid value: []: Success condition cannot be set to false once it is true"},
	})
}

func TestFailedMigrationStatusRules(t *testing.T) {
	k := kindtest.New(t, "storageversionmigrations.v1.storagemigration.k8s.io", migration, "StorageVersionMigrator").With(
		`status.conditions: [{type: Failed, status: "True", reason: R, message: "", lastTransitionTime: ` +
			`"2026-05-04T11:00:00Z"}]`)
	k.UpdateStatus(kindtest.Rules{
		{"a failure is not undone", "status.conditions[0].message: m", `status.conditions[0].status: "False"`,
			"status.conditions: Invalid value: " +
				`[{"type":"Failed","status":"False","lastTransitionTime":"2026-05-04T11:00:00Z","reason":` +
				`"R","message":""}]: Failed condition cannot be set to false once it is true`},
	})
}

func TestMigrationStatusUpdated(t *testing.T) {
	k := kindtest.New(t, "storageversionmigrations.v1.storagemigration.k8s.io", migration, "StorageVersionMigrator")
	k.StatusUpdated(kindtest.Cases{
		{"the status alone", `spec.resource.resource: daemonsets; status.resourceVersion: "5"`,
			`spec.resource.resource: deployments; status.resourceVersion: "5"`},
	})
}

func TestMigrationColumns(t *testing.T) {
	k := kindtest.New(t, "storageversionmigrations.v1.storagemigration.k8s.io", migration, "StorageVersionMigrator")
	k.Columns("Name|Resource|Status", kindtest.Cases{
		{"new", "", "x|deployments.apps|Unknown"},
		{"of the core", "spec.resource: {resource: pods}", "x|pods|Unknown"},
		{"running",
			`status.conditions: [{type: Running, status: "True", reason: R, message: "", ` +
				`lastTransitionTime: "2026-05-04T11:00:00Z"}]`, "x|deployments.apps|Running"},
		{"not running any more",
			`status.conditions: [{type: Running, status: "False", reason: R, message: "", ` +
				`lastTransitionTime: "2026-05-04T11:00:00Z"}]`, "x|deployments.apps|Unknown"},
	})
}
