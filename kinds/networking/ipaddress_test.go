package networking_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const ipAddress = `metadata: {name: 10.0.0.1}
spec: {parentRef: {resource: services, namespace: ns, name: s}}`

func TestIpAddressRules(t *testing.T) {
	kindtest.New(t, "ipaddresses.v1.networking.k8s.io", ipAddress).Create(kindtest.Rules{
		{"name", "metadata.name: 10.0.0.2", "metadata.name: a",
			`metadata.name: Invalid value: "a": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`},
		{"form of a name", `metadata.name: "fd00::1"`, "metadata.name: 010.0.0.1",
			`metadata.name: Invalid value: "010.0.0.1": must not have leading 0s`},
		{"parent", "spec.parentRef: {group: a.b, resource: r, name: s}", "spec.parentRef: null",
			"spec.parentRef: Required value"},
		{"name of the parent", "spec.parentRef.name: t", `spec.parentRef.name: ""`,
			"spec.parentRef.name: Required value"},
		{"resource of the parent", "spec.parentRef.resource: pods", `spec.parentRef.resource: ""`,
			"spec.parentRef.resource: Required value"},
		{"group of the parent", "spec.parentRef.group: a.b", "spec.parentRef.group: A",
			`spec.parentRef.group: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of ` +
				"lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"name", "metadata.name: 10.0.0.2", "metadata.name: a",
			`metadata.name: Invalid value: "a": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`},
		{"canonical name", `metadata.name: "fd00::1"`, `metadata.name: "fd00:0::1"`,
			`metadata.name: Invalid value: "fd00:0::1": must be in canonical form ("fd00::1")`},
		{"parent", "spec.parentRef.name: t", "spec.parentRef: null", "spec.parentRef: Required value"},
		{"resource of the parent", "spec.parentRef.resource: pods", `spec.parentRef.resource: ""`,
			"spec.parentRef.resource: Required value"},
		{"name of the parent", "spec.parentRef.name: a.b", `spec.parentRef.name: ""`,
			"spec.parentRef.name: Required value"},
		{"group of the parent", "spec.parentRef.group: apps", "spec.parentRef.group: A",
			`spec.parentRef.group: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of ` +
				"lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
	})
}

func TestIpAddressUpdateRules(t *testing.T) {
	kindtest.New(t, "ipaddresses.v1.networking.k8s.io", ipAddress).Update(kindtest.Rules{
		{"parent", "metadata.labels: {a: b}", "spec.parentRef.name: t",
			"spec.parentRef: Invalid value: null: field is immutable"},
		{"parent", "metadata.labels: {a: b}", "spec.parentRef.name: t",
			"spec.parentRef: Invalid value: null: field is immutable"},
	})
}

func TestIpAddressColumns(t *testing.T) {
	kindtest.New(t, "ipaddresses.v1.networking.k8s.io", ipAddress).Columns("Name|ParentRef", kindtest.Cases{
		{"service", "", "10.0.0.1|services/ns/s|60m"},
		{"group", "spec.parentRef.group: a.b", "10.0.0.1|services.a.b/ns/s|60m"},
	})
}

// TestIPAddressCells checks how tables show the parent of an address.
func TestIPAddressCells(t *testing.T) {
	kindtest.New(t, "ipaddresses.v1.networking.k8s.io", ipAddress).Columns("Name|ParentRef", kindtest.Cases{
		{"service", "spec.parentRef: {resource: services, namespace: ns, name: s}", "10.0.0.1|services/ns/s|60m"},
		{"cluster-wide parent", "spec.parentRef: {group: example.com, resource: things, name: t}",
			"10.0.0.1|things.example.com/t|60m"},
	})
}
