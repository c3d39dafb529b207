package pod_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

func TestEnvironmentRules(t *testing.T) {
	kindtest.New(t, "pods.v1", pod).Create(kindtest.Rules{
		{"name", `spec.containers[0].env: [{name: "A B"}]`, `spec.containers[0].env: [{name: "A=B"}]`,
			`spec.containers[0].env[0].name: Invalid value: "A=B": a valid environment variable name ` +
				"must consist only of printable ASCII characters other than '='"},
		{"no name", "spec.containers[0].env: [{name: A}]", "spec.containers[0].env: [{value: a}]",
			"spec.containers[0].env[0].name: Required value"},
		{"value and source", "spec.containers[0].env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]",
			"spec.containers[0].env: [{name: A, value: b, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]",
			"spec.containers[0].env[0].valueFrom: Invalid value: \"\": may not be specified when `value` " +
				"is not empty"},
		{"source", "spec.containers[0].env: [{name: A, valueFrom: {configMapKeyRef: {name: a, key: k}}}]",
			"spec.containers[0].env: [{name: A, valueFrom: {}}]",
			"spec.containers[0].env[0].valueFrom: Invalid value: \"\": must specify one of: `fieldRef`, " +
				"`resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"},
		{"two sources", "spec.containers[0].env: [{name: A, valueFrom: {secretKeyRef: {name: a, key: k}}}]",
			"spec.containers[0].env: [{name: A, valueFrom: {configMapKeyRef: {name: a, key: k}, " +
				"secretKeyRef: {name: a, key: k}}}]",
			`spec.containers[0].env[0].valueFrom: Invalid value: "": may not have more than one field ` +
				"specified at a time"},
		{"field", "spec.containers[0].env: [{name: A, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]",
			"spec.containers[0].env: [{name: A, valueFrom: {fieldRef: {fieldPath: status.phase}}}]",
			`spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Unsupported value: "status.phase": ` +
				`supported values: "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", ` +
				`"spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"`},
		{"no field", "spec.containers[0].env: [{name: A, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]",
			"spec.containers[0].env: [{name: A, valueFrom: {fieldRef: {}}}]",
			"spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Required value"},
		{"label", `spec.containers[0].env: [{name: A, valueFrom: {fieldRef: {fieldPath: "metadata.labels['a']"}}}]`,
			"spec.containers[0].env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.labels}}}]",
			"spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Unsupported value: " +
				`"metadata.labels": supported values: "metadata.name", "metadata.namespace", "metadata.uid", ` +
				`"spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", ` +
				`"status.podIP", "status.podIPs"`},
		{"key of a label",
			`spec.containers[0].env: [{name: A, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['a']"}}}]`,
			`spec.containers[0].env: [{name: A, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['a b']"}}}]`,
			`spec.containers[0].env[0].valueFrom.fieldRef: Invalid value: "a b": name part must consist ` +
				"of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
				"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"version",
			"spec.containers[0].env: [{name: A, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.uid}}}]",
			"spec.containers[0].env: [{name: A, valueFrom: {fieldRef: {apiVersion: v2, fieldPath: metadata.uid}}}]",
			`spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: "metadata.uid": ` +
				"error converting fieldPath: unsupported pod version: v2"},
		{"resource",
			"spec.containers[0].env: [{name: A, valueFrom: {resourceFieldRef: {containerName: c, " +
				"resource: limits.cpu}}}]",
			"spec.containers[0].env: [{name: A, valueFrom: {resourceFieldRef: {containerName: c, resource: disk}}}]",
			`spec.containers[0].env[0].valueFrom.resourceFieldRef.resource: Unsupported value: "disk": ` +
				`supported values: "limits.cpu", "limits.ephemeral-storage", "limits.memory", ` +
				`"requests.cpu", "requests.ephemeral-storage", "requests.memory"`},
		{"no resource",
			"spec.containers[0].env: [{name: A, valueFrom: {resourceFieldRef: {resource: requests.memory}}}]",
			"spec.containers[0].env: [{name: A, valueFrom: {resourceFieldRef: {}}}]",
			"spec.containers[0].env[0].valueFrom.resourceFieldRef.resource: Required value"},
		{"divisor",
			"spec.containers[0].env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu, " +
				"divisor: 1m}}}]",
			"spec.containers[0].env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu, " +
				"divisor: 2m}}}]",
			`spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": ` +
				"only divisor's values 1m and 1 are supported with the cpu resource"},
		{"divisor of memory",
			"spec.containers[0].env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.memory, " +
				"divisor: 1Mi}}}]",
			"spec.containers[0].env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.memory, " +
				"divisor: 1m}}}]",
			"spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value: " +
				`"limits.memory": only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, ` +
				"1Ei are supported with the memory resource"},
		{"key of a ConfigMap",
			"spec.containers[0].env: [{name: A, valueFrom: {configMapKeyRef: {name: a, key: a.b}}}]",
			"spec.containers[0].env: [{name: A, valueFrom: {configMapKeyRef: {name: a}}}]",
			"spec.containers[0].env[0].valueFrom.configMapKeyRef.key: Required value"},
		{"name of a ConfigMap",
			"spec.containers[0].env: [{name: A, valueFrom: {configMapKeyRef: {name: a.b, key: k}}}]",
			"spec.containers[0].env: [{name: A, valueFrom: {configMapKeyRef: {name: A, key: k}}}]",
			`spec.containers[0].env[0].valueFrom.configMapKeyRef.name: Invalid value: "A": a lowercase ` +
				"RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must " +
				"start and end with an alphanumeric character (e.g. 'example.com', regex used for validation " +
				`is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"key of a Secret", "spec.containers[0].env: [{name: A, valueFrom: {secretKeyRef: {name: a, key: a.b}}}]",
			`spec.containers[0].env: [{name: A, valueFrom: {secretKeyRef: {name: a, key: "a b"}}}]`,
			`spec.containers[0].env[0].valueFrom.secretKeyRef.key: Invalid value: "a b": a valid config ` +
				"key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or " +
				"'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"},
		{"all of a ConfigMap", "spec.containers[0].envFrom: [{configMapRef: {name: a}}]",
			"spec.containers[0].envFrom: [{}]",
			"spec.containers[0].envFrom: Invalid value: \"\": must specify one of: `configMapRef` or `secretRef`"},
		{"all of two", "spec.containers[0].envFrom: [{secretRef: {name: a}}]",
			"spec.containers[0].envFrom: [{secretRef: {name: a}, configMapRef: {name: a}}]",
			`spec.containers[0].envFrom: Invalid value: "": may not have more than one field specified at a time`},
		{"name of all", "spec.containers[0].envFrom: [{secretRef: {name: a}}]",
			`spec.containers[0].envFrom: [{secretRef: {name: ""}}]`,
			"spec.containers[0].envFrom[0].secretRef.name: Required value"},
		{"prefix", "spec.containers[0].envFrom: [{prefix: a_, configMapRef: {name: a}}]",
			`spec.containers[0].envFrom: [{prefix: "a=", configMapRef: {name: a}}]`,
			`spec.containers[0].envFrom[0].prefix: Invalid value: "a=": a valid environment variable ` +
				"name must consist only of printable ASCII characters other than '='"},
		{"file",
			"spec.volumes: [{name: v, emptyDir: {}}]; spec.containers[0].env: [{name: A, valueFrom: " +
				"{fileKeyRef: {volumeName: v, path: p, key: K}}}]",
			"spec.containers[0].env: [{name: A, valueFrom: {fileKeyRef: {volumeName: v, path: p, key: K}}}]",
			`spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Not found: "v"`},
	})
}

// TestEnvironmentFiles checks variables whose values are in files.
func TestEnvironmentFiles(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.volumes: [{name: v, emptyDir: {}}, {name: s, secret: {secretName: a}}]; " +
			"spec.containers[0].env: [{name: A, valueFrom: {fileKeyRef: {volumeName: v, path: p, key: K}}}]")
	k.Create(kindtest.Rules{
		{"volume", "spec.containers[0].env[0].valueFrom.fileKeyRef.path: a/b",
			"spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: w",
			`spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Not found: "w"`},
		{"source of the volume", "spec.containers[0].env[0].valueFrom.fileKeyRef.path: a/b",
			"spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: s",
			`spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Invalid value: "s": referenced ` +
				"volume must be of type emptyDir"},
		{"no volume", "spec.containers[0].env[0].valueFrom.fileKeyRef.optional: true",
			`spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: ""`,
			"spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Required value; " +
				`spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Not found: ""`},
		{"no path", "spec.containers[0].env[0].valueFrom.fileKeyRef.path: a",
			`spec.containers[0].env[0].valueFrom.fileKeyRef.path: ""`,
			"spec.containers[0].env[0].valueFrom.fileKeyRef.path: Required value"},
		{"parent", "spec.containers[0].env[0].valueFrom.fileKeyRef.path: ..a/b",
			"spec.containers[0].env[0].valueFrom.fileKeyRef.path: ../a",
			`spec.containers[0].env[0].valueFrom.fileKeyRef.path: Invalid value: "../a": must not contain '..'`},
		{"key", "spec.containers[0].env[0].valueFrom.fileKeyRef.key: A_B",
			`spec.containers[0].env[0].valueFrom.fileKeyRef.key: "A=B"`,
			`spec.containers[0].env[0].valueFrom.fileKeyRef.key: Invalid value: "A=B": a valid ` +
				"environment variable name must consist only of printable ASCII characters other than '='"},
		{"no key", "spec.containers[0].env[0].valueFrom.fileKeyRef.key: a",
			`spec.containers[0].env[0].valueFrom.fileKeyRef.key: ""`,
			"spec.containers[0].env[0].valueFrom.fileKeyRef.key: Required value"},
	})
}

// TestFieldsInVariables checks which fields of the pod variables may have.
func TestFieldsInVariables(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.containers[0].env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]")
	k.Create(kindtest.Rules{
		{"unknown field", "spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: spec.serviceAccountName",
			"spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: spec.other",
			`spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: "spec.other": error ` +
				"converting fieldPath: field label not supported: spec.other"},
		{"field of no variable", "spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: status.podIPs",
			"spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: status.phase",
			`spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Unsupported value: "status.phase": ` +
				`supported values: "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", ` +
				`"spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"`},
		{"all labels", `spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: "metadata.labels['a']"`,
			"spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: metadata.labels",
			"spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Unsupported value: " +
				`"metadata.labels": supported values: "metadata.name", "metadata.namespace", "metadata.uid", ` +
				`"spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", ` +
				`"status.podIP", "status.podIPs"`},
		{"key of another field",
			`spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: "metadata.annotations['a.b/c']"`,
			`spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: "metadata.name['a']"`,
			"spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: " +
				`"metadata.name['a']": error converting fieldPath: field label does not support subscript: ` +
				"metadata.name['a']"},
		{"malformed key", `spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: "metadata.labels['a']"`,
			`spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: "metadata.labels['a b']"`,
			`spec.containers[0].env[0].valueFrom.fieldRef: Invalid value: "a b": name part must consist ` +
				"of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
				"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		{"upper case of an annotation",
			`spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: "metadata.annotations['A']"`,
			`spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: "metadata.annotations['A B']"`,
			`spec.containers[0].env[0].valueFrom.fieldRef: Invalid value: "a b": name part must consist ` +
				"of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
				"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
	})
}

// TestResourcesInVariables checks which resources of the container variables may have.
func TestResourcesInVariables(t *testing.T) {
	k := kindtest.New(t, "pods.v1", pod).With(
		"spec.containers[0].env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}]")
	k.Create(kindtest.Rules{
		{"CPU", "spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: 1",
			"spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: 2m",
			`spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": ` +
				"only divisor's values 1m and 1 are supported with the cpu resource"},
		{"memory", "spec.containers[0].env[0].valueFrom.resourceFieldRef: {resource: requests.memory, divisor: 1Ki}",
			"spec.containers[0].env[0].valueFrom.resourceFieldRef: {resource: requests.memory, divisor: 2Ki}",
			"spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value: " +
				`"requests.memory": only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, ` +
				"1Pi, 1Ei are supported with the memory resource"},
		{"ephemeral storage",
			"spec.containers[0].env[0].valueFrom.resourceFieldRef: {resource: limits.ephemeral-storage, " +
				"divisor: 1M}",
			"spec.containers[0].env[0].valueFrom.resourceFieldRef: {resource: limits.ephemeral-storage, " +
				"divisor: 1m}",
			"spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value: " +
				`"limits.ephemeral-storage": only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, ` +
				"1Ti, 1Pi, 1Ei are supported with the local ephemeral storage resource"},
		{"huge pages",
			"spec.containers[0].env[0].valueFrom.resourceFieldRef: {resource: limits.hugepages-2Mi, divisor: 1Mi}",
			"spec.containers[0].env[0].valueFrom.resourceFieldRef: {resource: limits.hugepages-2Mi, divisor: 2Mi}",
			"spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value: " +
				`"limits.hugepages-2Mi": only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, ` +
				"1Ti, 1Pi, 1Ei are supported with the hugepages resource"},
		{"other resource", "spec.containers[0].env[0].valueFrom.resourceFieldRef.resource: requests.cpu",
			"spec.containers[0].env[0].valueFrom.resourceFieldRef.resource: limits.gpu",
			"spec.containers[0].env[0].valueFrom.resourceFieldRef.resource: Unsupported value: " +
				`"limits.gpu": supported values: "limits.cpu", "limits.ephemeral-storage", "limits.memory", ` +
				`"requests.cpu", "requests.ephemeral-storage", "requests.memory"`},
	})
}

// TestVariablesWithoutFiles checks that the error for a variable without a source does not name files without
// the gate.
func TestVariablesWithoutFiles(t *testing.T) {
	kindtest.New(t, "pods.v1", pod, "-EnvFiles").Create(kindtest.Rules{
		{"source", "spec.containers[0].env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]",
			"spec.containers[0].env: [{name: A, valueFrom: {}}]",
			"spec.containers[0].env[0].valueFrom: Invalid value: \"\": must specify one of: `fieldRef`, " +
				"`resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"},
	})
}
