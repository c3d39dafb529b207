package apiregistration_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const apiService = `metadata: {name: v1.e.f}
spec: {group: e.f, version: v1, groupPriorityMinimum: 1, versionPriority: 1, service: {namespace: c, name: d}, insecureSkipTLSVerify: true}`

func TestApiServiceRules(t *testing.T) {
	kindtest.New(t, "apiservices.v1.apiregistration.k8s.io", apiService).Create(kindtest.Rules{
		{"the name has version and group", "metadata.name: v2.e.f; spec.version: v2", "metadata.name: v2.e.f",
			"metadata.name: Invalid value: \"v2.e.f\": must be `spec.version+\".\"+spec.group`: \"v1.e.f\""},
		{"a name is a path segment", "metadata.name: v1.e.f", "metadata.name: v1.a/b; spec.group: a/b",
			`metadata.name: Invalid value: "v1.a/b": may not contain '/'; spec.group: Invalid value: ` +
				`"a/b": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric ` +
				"characters, '-' or '.', and must start and end with an alphanumeric character (e.g. " +
				"'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"a group is a subdomain", "metadata.name: v1.e.f.g; spec.group: e.f.g", "metadata.name: v1.A; spec.group: A",
			`spec.group: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower ` +
				"case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"only v1 has an empty group", `metadata.name: v1.; spec.group: ""`,
			`metadata.name: v2.; spec.group: ""; spec.version: v2`,
			"spec.group: Required value: only v1 may have an empty group and it better be legacy kube"},
		{"a version is a label", "metadata.name: v1a.e.f; spec.version: v1a",
			"metadata.name: 1v.e.f; spec.version: 1v",
			`spec.version: Invalid value: "1v": a DNS-1035 label must consist of lower case ` +
				"alphanumeric characters or '-', start with an alphabetic character, and end with an " +
				"alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is " +
				"'[a-z]([-a-z0-9]*[a-z0-9])?')"},
		{"the priority of a group is positive", "spec.groupPriorityMinimum: 20000", "spec.groupPriorityMinimum: 0",
			"spec.groupPriorityMinimum: Invalid value: 0: must be positive and less than 20000"},
		{"the priority of a group is at most 20000", "spec.groupPriorityMinimum: 20000",
			"spec.groupPriorityMinimum: 20001",
			"spec.groupPriorityMinimum: Invalid value: 20001: must be positive and less than 20000"},
		{"the priority of a version is positive", "spec.versionPriority: 1000", "spec.versionPriority: 0",
			"spec.versionPriority: Invalid value: 0: must be positive and less than 1000"},
		{"the priority of a version is at most 1000", "spec.versionPriority: 1000", "spec.versionPriority: 1001",
			"spec.versionPriority: Invalid value: 1001: must be positive and less than 1000"},
		{"a local service has no authority", "spec.service: null; spec.insecureSkipTLSVerify: false",
			"spec.service: null; spec.insecureSkipTLSVerify: false; spec.caBundle: eHg=",
			`spec.caBundle: Invalid value: "2 bytes": local APIServices may not have a caBundle`},
		{"a local service is verified", "spec.service: null; spec.insecureSkipTLSVerify: false", "spec.service: null",
			"spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have " +
				"insecureSkipTLSVerify"},
		{"a service has a namespace", "spec.service.namespace: e", `spec.service.namespace: ""`,
			"spec.service.namespace: Required value"},
		{"a service has a name", "spec.service.name: e", `spec.service.name: ""`,
			"spec.service.name: Required value"},
		{"a port is a number of 16 bits", "spec.service.port: 65535", "spec.service.port: 65536",
			"spec.service.port: Invalid value: 65536: port is not valid: must be between 1 and 65535, inclusive"},
		{"a service with an authority is verified", "spec.insecureSkipTLSVerify: false; spec.caBundle: eHg=",
			"spec.caBundle: eHg=",
			"spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present"},
	})
}

func TestApiServiceUpdateRules(t *testing.T) {
	kindtest.New(t, "apiservices.v1.apiregistration.k8s.io", apiService).Update(kindtest.Rules{
		{"the priority of a version is positive", "spec.versionPriority: 5", "spec.versionPriority: -1",
			"spec.versionPriority: Invalid value: -1: must be positive and less than 1000"},
		{"the version is immutable as the name has it", "spec.versionPriority: 5", "spec.version: v2",
			"metadata.name: Invalid value: \"v1.e.f\": must be `spec.version+\".\"+spec.group`: \"v2.e.f\""},
	})
}

func TestApiServiceStatusRules(t *testing.T) {
	kindtest.New(t, "apiservices.v1.apiregistration.k8s.io", apiService).UpdateStatus(kindtest.Rules{
		{"statuses of conditions are known", `status.conditions: [{type: Available, status: "False"}]`,
			"status.conditions: [{type: Available, status: Maybe}]",
			`status.conditions[0].status: Unsupported value: "Maybe": supported values: "True", ` +
				`"False", "Unknown"`},
	})
}

func TestApiServiceCreated(t *testing.T) {
	kindtest.New(t, "apiservices.v1.apiregistration.k8s.io", apiService).Created(kindtest.Cases{
		{"the port of a service", "", "spec.service.port: 443"},
		{"a local service is available", "spec.service: null; spec.insecureSkipTLSVerify: false",
			`status.conditions[0].type: Available; status.conditions[0].status: "True"; ` +
				"status.conditions[0].reason: Local"},
	})
}

func TestApiServiceStatusUpdated(t *testing.T) {
	kindtest.New(t, "apiservices.v1.apiregistration.k8s.io", apiService).StatusUpdated(kindtest.Cases{
		{"the status alone", `spec.versionPriority: 5; status.conditions: [{type: Available, status: "True"}]`,
			`spec.versionPriority: 1; status.conditions[0].status: "True"`},
	})
}

func TestApiServiceColumns(t *testing.T) {
	k := kindtest.New(t, "apiservices.v1.apiregistration.k8s.io", apiService)
	k.Columns("Name|Service|Available|Age", kindtest.Cases{
		{"a service", "", "v1.e.f|c/d|Unknown|60m"},
		{"local", "spec.service: null; spec.insecureSkipTLSVerify: false", "v1.e.f|Local|True|60m"},
		{"available", `status.conditions: [{type: Available, status: "True", reason: Passed}]`,
			"v1.e.f|c/d|True|60m"},
		{"not available", `status.conditions: [{type: Available, status: "False", reason: ServiceNotFound}]`,
			"v1.e.f|c/d|False (ServiceNotFound)|60m"},
	})
}
