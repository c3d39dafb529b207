package resource_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const claimTemplate = `spec:
  metadata: {labels: {a: b}}
  spec: {devices: {requests: [{name: r, exactly: {deviceClassName: c}}]}}`

func TestClaimTemplateRules(t *testing.T) {
	kindtest.New(t, "resourceclaimtemplates.v1.resource.k8s.io", claimTemplate).Create(kindtest.Rules{
		{"the labels of claims are valid", "spec.metadata.labels: {a.b/c: d}", `spec.metadata.labels: {a: "b c"}`,
			`spec.metadata.labels: Invalid value: "b c": a valid label must be an empty string or ` +
				"consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for " +
				"validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
		{"the annotations of claims are valid", `spec.metadata.annotations: {a: "b c"}`,
			`spec.metadata.annotations: {"a b": c}`,
			`spec.metadata.annotations: Invalid value: "a b": name part must consist of alphanumeric ` +
				"characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
				"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
				"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"claims get no name from the template", "spec.metadata.annotations: {a: b}", "spec.metadata.name: a",
			"spec.metadata.name: Forbidden: cannot be set"},
		{"claims get no finalizers", "spec.metadata.annotations: {a: b}", "spec.metadata.finalizers: [a.b/c]",
			"spec.metadata.finalizers: Forbidden: cannot be set"},
		{"claims get no owner", "spec.metadata.annotations: {a: b}",
			"spec.metadata.ownerReferences: [{apiVersion: v1, kind: K, name: o, uid: u}]",
			"spec.metadata.ownerReferences: Forbidden: cannot be set"},
		{"a request has a class", "spec.spec.devices.requests[0].exactly.deviceClassName: a.b",
			`spec.spec.devices.requests[0].exactly.deviceClassName: ""`,
			"spec.spec.devices.requests[0].exactly.deviceClassName: Required value"},
		{"a constraint names a request", "spec.spec.devices.constraints: [{requests: [r], matchAttribute: a/b}]",
			"spec.spec.devices.constraints: [{requests: [s], matchAttribute: a/b}]",
			`spec.spec.devices.constraints[0].requests[0]: Invalid value: "s": must be the name of a ` +
				"request in the claim or the name of a request and a subrequest separated by '/'"},
	})
}

func TestClaimTemplateUpdateRules(t *testing.T) {
	kindtest.New(t, "resourceclaimtemplates.v1.resource.k8s.io", claimTemplate).Update(kindtest.Rules{
		{"the spec is immutable", "metadata.labels: {a: b}", "spec.spec.devices.requests[0].name: s",
			"spec: Invalid value: " +
				`{"labels":{"a":"b"},"Spec":{"Devices":{"Requests":[{"Name":"s","Exactly":{"DeviceClassNa` +
				`me":"c","Selectors":null,"AllocationMode":"ExactCount","Count":1,"AdminAccess":null,"Tol` +
				`erations":null,"Capacity":null,"DerivedAttributes":null},"FirstAvailable":null}],"Constr` +
				`aints":null,"Config":null}}}: field is immutable`},
		{"the labels of claims are immutable", "metadata.labels: {a: b}", "spec.metadata.labels: {}",
			"spec: Invalid value: " +
				`{"Spec":{"Devices":{"Requests":[{"Name":"r","Exactly":{"DeviceClassName":"c","Selectors"` +
				`:null,"AllocationMode":"ExactCount","Count":1,"AdminAccess":null,"Tolerations":null,"Cap` +
				`acity":null,"DerivedAttributes":null},"FirstAvailable":null}],"Constraints":null,"Config` +
				`":null}}}: field is immutable`},
		{"a list of finalizers is forbidden", "metadata.labels: {a: b}", "spec.metadata.finalizers: []",
			"spec.metadata.finalizers: Forbidden: cannot be set"},
	})
}

func TestClaimTemplateCreated(t *testing.T) {
	kindtest.New(t, "resourceclaimtemplates.v1.resource.k8s.io", claimTemplate).Created(kindtest.Cases{
		{"a request is for one device", "",
			"spec.spec.devices.requests[0].exactly.allocationMode: ExactCount; " +
				"spec.spec.devices.requests[0].exactly.count: 1"},
	})
}

func TestClaimTemplateUpdated(t *testing.T) {
	kindtest.New(t, "resourceclaimtemplates.v1.resource.k8s.io", claimTemplate).Updated(kindtest.Cases{
		{"an empty list is no change", "spec.spec.devices.constraints: []", "spec.spec.devices.constraints: null"},
	})
}

func TestClaimTemplateColumns(t *testing.T) {
	kindtest.New(t, "resourceclaimtemplates.v1.resource.k8s.io", claimTemplate).Columns("Name|Age", kindtest.Cases{
		{"a template", "", "x|60m"},
	})
}

const claimTemplateV1beta1 = `spec: {spec: {devices: {requests: [{name: r, deviceClassName: c}]}}}`

func TestClaimTemplateV1beta1Rules(t *testing.T) {
	kindtest.New(t, "resourceclaimtemplates.v1beta1.resource.k8s.io", claimTemplateV1beta1).Create(kindtest.Rules{
		{"the fields of a request stand in the request", "spec.spec.devices.requests[0].allocationMode: All",
			"spec.spec.devices.requests[0].allocationMode: Other",
			`spec.spec.devices.requests[0].allocationMode: Unsupported value: "Other": supported ` +
				`values: "All", "ExactCount"`},
	})
}

func TestClaimTemplateV1beta1Created(t *testing.T) {
	kindtest.New(t, "resourceclaimtemplates.v1beta1.resource.k8s.io", claimTemplateV1beta1).Created(kindtest.Cases{
		{"a request is for one device", "",
			"spec.spec.devices.requests[0].allocationMode: ExactCount; spec.spec.devices.requests[0].count: 1"},
	})
}
