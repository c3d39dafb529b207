package apps_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const replicaSet = `spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: c, image: 'i:1'}]}`

func TestReplicaSetRules(t *testing.T) {
	kindtest.New(t, "replicasets.v1.apps", replicaSet).Create(kindtest.Rules{
		{"replicas", "spec.replicas: 0", "spec.replicas: -1",
			"spec.replicas: Invalid value: -1: must be greater than or equal to 0"},
		{"minReadySeconds", "spec.minReadySeconds: 9", "spec.minReadySeconds: -1",
			"spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0"},
		{"selector", "", "spec.selector: null",
			`spec.selector: Required value; spec.template.metadata.labels: Invalid value: {"a":"b"}: ` +
				"`selector` does not match template `labels`"},
		{"empty selector", "", "spec.selector: {}",
			"spec.selector: Invalid value: {}: empty selector is invalid for deployment"},
		{"operator", "spec.selector.matchExpressions: [{key: a, operator: Exists}]",
			"spec.selector.matchExpressions: [{key: a, operator: Has}]",
			`spec.selector.matchExpressions[0].operator: Invalid value: "Has": not a valid selector ` +
				"operator; spec.selector: Invalid value: " +
				`{"matchLabels":{"a":"b"},"matchExpressions":[{"key":"a","operator":"Has"}]}: invalid label selector`},
		{"selector of the template", "spec.template.metadata.labels: {a: b, c: d}",
			"spec.template.metadata.labels: {a: c}",
			"spec.template.metadata.labels: Invalid value: {\"a\":\"c\"}: `selector` does not match template " +
				"`labels`"},
		{"restartPolicy", "spec.template.spec.restartPolicy: Always", "spec.template.spec.restartPolicy: OnFailure",
			`spec.template.spec.restartPolicy: Unsupported value: "OnFailure": supported values: "Always"`},
		{"activeDeadlineSeconds", "", "spec.template.spec.activeDeadlineSeconds: 5",
			"spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is " +
				"not Supported"},
		{"containers", "", "spec.template.spec.containers: null", "spec.template.spec.containers: Required value"},
		{"volume", "spec.template.spec.volumes: [{name: v, emptyDir: {}}]",
			"spec.template.spec.volumes: [{name: V, emptyDir: {}}]",
			`spec.template.spec.volumes[0].name: Invalid value: "V": a lowercase RFC 1123 label must ` +
				"consist of lower case alphanumeric characters or '-', and must start and end with an " +
				"alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
				"'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
	})
}

func TestReplicaSetUpdateRules(t *testing.T) {
	kindtest.New(t, "replicasets.v1.apps", replicaSet).Update(kindtest.Rules{
		{"selector", "spec.replicas: 5",
			"spec.selector.matchLabels: {a: b, c: d}; spec.template.metadata.labels: {a: b, c: d}",
			`spec.selector: Invalid value: {"matchLabels":{"a":"b","c":"d"}}: field is immutable`},
		{"replicas", "spec.replicas: 0", "spec.replicas: -1",
			"spec.replicas: Invalid value: -1: must be greater than or equal to 0"},
		{"template", "spec.template.spec.containers[0].image: j", "spec.template.spec.containers: []",
			"spec.template.spec.containers: Required value"},
	})
}

func TestReplicaSetStatusRules(t *testing.T) {
	k := kindtest.New(t, "replicasets.v1.apps", replicaSet).With(
		"status: {replicas: 3, fullyLabeledReplicas: 2, readyReplicas: 2, availableReplicas: 1}")
	k.UpdateStatus(kindtest.Rules{
		{"replicas", "status.replicas: 4", "status.replicas: -1",
			"status.replicas: Invalid value: -1: must be greater than or equal to 0; " +
				"status.fullyLabeledReplicas: Invalid value: 2: cannot be greater than status.replicas; " +
				"status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas; " +
				"status.availableReplicas: Invalid value: 1: cannot be greater than status.replicas"},
		{"fullyLabeledReplicas", "status.fullyLabeledReplicas: 3", "status.fullyLabeledReplicas: -1",
			"status.fullyLabeledReplicas: Invalid value: -1: must be greater than or equal to 0"},
		{"readyReplicas", "status.readyReplicas: 3", "status.readyReplicas: -1",
			"status.readyReplicas: Invalid value: -1: must be greater than or equal to 0; " +
				"status.availableReplicas: Invalid value: 1: cannot be greater than readyReplicas"},
		{"availableReplicas", "status.availableReplicas: 2", "status.availableReplicas: -1",
			"status.availableReplicas: Invalid value: -1: must be greater than or equal to 0"},
		{"observedGeneration", "status.observedGeneration: 1", "status.observedGeneration: -1",
			"status.observedGeneration: Invalid value: -1: must be greater than or equal to 0"},
		{"terminatingReplicas", "status.terminatingReplicas: 7", "status.terminatingReplicas: -7",
			"status.terminatingReplicas: Invalid value: -7: must be greater than or equal to 0"},
		{"more labelled than all", "status.fullyLabeledReplicas: 3", "status.fullyLabeledReplicas: 4",
			"status.fullyLabeledReplicas: Invalid value: 4: cannot be greater than status.replicas"},
		{"more ready than all", "status.readyReplicas: 3", "status.readyReplicas: 4",
			"status.readyReplicas: Invalid value: 4: cannot be greater than status.replicas"},
		{"more available than ready", "status.availableReplicas: 2", "status.availableReplicas: 3",
			"status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas"},
	})
}

func TestReplicaSetCreated(t *testing.T) {
	kindtest.New(t, "replicasets.v1.apps", replicaSet).Created(kindtest.Cases{
		{"defaults", "", "spec.replicas: 1; spec.template.spec.restartPolicy: Always; metadata.generation: 1"},
		{"status", "status.replicas: 3", "status.replicas: 0"},
	})
}

func TestReplicaSetUpdated(t *testing.T) {
	kindtest.New(t, "replicasets.v1.apps", replicaSet).With("status: {replicas: 1}").Updated(kindtest.Cases{
		{"status", "status.replicas: 5", "status.replicas: 1"},
	})
}

func TestReplicaSetStatusUpdated(t *testing.T) {
	kindtest.New(t, "replicasets.v1.apps", replicaSet).StatusUpdated(kindtest.Cases{
		{"spec", "spec.replicas: 5; status.replicas: 4", "spec.replicas: 1; status.replicas: 4"},
	})
}

func TestReplicaSetGenerations(t *testing.T) {
	kindtest.New(t, "replicasets.v1.apps", replicaSet).Generations(kindtest.Cases{
		{"nothing", "", "1"},
		{"spec", "spec.replicas: 2", "2"},
		{"annotations", "metadata.annotations: {c: d}", "1"},
	})
}

func TestReplicaSetWarnings(t *testing.T) {
	kindtest.New(t, "replicasets.v1.apps", replicaSet).Warnings(kindtest.Cases{
		{"name", "metadata.name: a.b",
			"metadata.name: this is used in Pod names and hostnames, which can result in surprising " +
				"behavior; a DNS label is recommended: [must not contain dots]"},
		{"missing key", "spec.template.spec.nodeSelector: {beta.kubernetes.io/os: linux}",
			"spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use " +
				`"kubernetes.io/os" instead`},
	})
}

func TestReplicaSetColumns(t *testing.T) {
	k := kindtest.New(t, "replicasets.v1.apps", replicaSet)
	k.Columns("Name|Desired|Current|Ready|Age|(Containers)|(Images)|(Selector)", kindtest.Cases{
		{"new", "", "x|1|0|0|60m|c|i:1|a=b"},
		{"running", "spec.replicas: 3; status: {replicas: 2, readyReplicas: 1}", "x|3|2|1|60m|c|i:1|a=b"},
	})
}

func TestReplicaSetSelectableFields(t *testing.T) {
	kindtest.New(t, "replicasets.v1.apps", replicaSet).Selectable(kindtest.Cases{
		{"replicas", "status.replicas: 3", ""},
	})
}
