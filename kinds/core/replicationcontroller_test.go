package core_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const replicationController = `spec:
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: c, image: 'i:1'}]}`

func TestReplicationControllerRules(t *testing.T) {
	kindtest.New(t, "replicationcontrollers.v1", replicationController).Create(kindtest.Rules{
		{"replicas", "spec.replicas: 0", "spec.replicas: -1",
			"spec.replicas: Invalid value: -1: must be greater than or equal to 0"},
		{"minReadySeconds", "spec.minReadySeconds: 5", "spec.minReadySeconds: -5",
			"spec.minReadySeconds: Invalid value: -5: must be greater than or equal to 0"},
		{"selector", "spec.selector: {a: b}", "spec.template.metadata.labels: null", "spec.selector: Required value"},
		{"selector of the template", "spec.selector: {a: b}", "spec.selector: {a: c}",
			"spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template " +
				"`labels`"},
		{"template", "spec.selector: {a: b}", "spec.template: null; spec.selector: {a: b}",
			"spec.template: Required value"},
		{"restartPolicy", "spec.template.spec.restartPolicy: Always", "spec.template.spec.restartPolicy: Never",
			`spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"`},
		{"activeDeadlineSeconds", "", "spec.template.spec.activeDeadlineSeconds: 5",
			"spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in " +
				"ReplicationController is not Supported"},
		{"containers", "", "spec.template.spec.containers: []", "spec.template.spec.containers: Required value"},
	})
}

func TestReplicationControllerUpdateRules(t *testing.T) {
	kindtest.New(t, "replicationcontrollers.v1", replicationController).Update(kindtest.Rules{
		{"selector", "spec.selector.c: d; spec.template.metadata.labels.c: d", "spec.selector.c: d",
			"spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template " +
				"`labels`"},
		{"replicas", "spec.replicas: 0", "spec.replicas: -1",
			"spec.replicas: Invalid value: -1: must be greater than or equal to 0"},
	})
}

func TestReplicationControllerStatusRules(t *testing.T) {
	k := kindtest.New(t, "replicationcontrollers.v1", replicationController).With(
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
		{"more labelled than all", "status.fullyLabeledReplicas: 3", "status.fullyLabeledReplicas: 4",
			"status.fullyLabeledReplicas: Invalid value: 4: cannot be greater than status.replicas"},
		{"more ready than all", "status.readyReplicas: 3", "status.readyReplicas: 4",
			"status.readyReplicas: Invalid value: 4: cannot be greater than status.replicas"},
		{"more available than ready", "status.availableReplicas: 2", "status.availableReplicas: 3",
			"status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas"},
	})
}

func TestReplicationControllerCreated(t *testing.T) {
	kindtest.New(t, "replicationcontrollers.v1", replicationController).Created(kindtest.Cases{
		{"defaults", "", "spec.replicas: 1; spec.selector.a: b; metadata.labels.a: b; metadata.generation: 1"},
		{"own selector", "spec.selector: {a: b}; spec.template.metadata.labels.c: d; metadata.labels: {e: f}",
			"spec.selector.c: null; metadata.labels.a: null"},
		{"status", "status.replicas: 3", "status.replicas: 0"},
	})
}

func TestReplicationControllerStatusUpdated(t *testing.T) {
	kindtest.New(t, "replicationcontrollers.v1", replicationController).StatusUpdated(kindtest.Cases{
		{"spec", "spec.replicas: 5; status.replicas: 4", "spec.replicas: 1; status.replicas: 4"},
	})
}

func TestReplicationControllerGenerations(t *testing.T) {
	kindtest.New(t, "replicationcontrollers.v1", replicationController).Generations(kindtest.Cases{
		{"nothing", "", "1"},
		{"spec", "spec.replicas: 2", "2"},
		{"labels", "metadata.labels: {c: d}", "1"},
	})
}

func TestReplicationControllerWarnings(t *testing.T) {
	kindtest.New(t, "replicationcontrollers.v1", replicationController).Warnings(kindtest.Cases{
		{"name", "metadata.name: a.b",
			"metadata.name: this is used in Pod names and hostnames, which can result in surprising " +
				"behavior; a DNS label is recommended: [must not contain dots]"},
	})
}

func TestReplicationControllerColumns(t *testing.T) {
	k := kindtest.New(t, "replicationcontrollers.v1", replicationController)
	k.Columns("Name|Desired|Current|Ready|Age|(Containers)|(Images)|(Selector)", kindtest.Cases{
		{"new", "", "x|1|0|0|60m|c|i:1|a=b"},
		{"running", "spec.replicas: 3; status: {replicas: 2, readyReplicas: 1}", "x|3|2|1|60m|c|i:1|a=b"},
	})
}

func TestReplicationControllerSelectableFields(t *testing.T) {
	kindtest.New(t, "replicationcontrollers.v1", replicationController).Selectable(kindtest.Cases{
		{"none", "", "status.replicas=0"},
		{"running", "status.replicas: 3", "status.replicas=3"},
	})
}

// TestReplicationControllerTemplate checks the pods of a controller.
func TestReplicationControllerTemplate(t *testing.T) {
	kindtest.New(t, "replicationcontrollers.v1", replicationController).Create(kindtest.Rules{
		{"replicas", "spec.replicas: 0", "spec.replicas: -1",
			"spec.replicas: Invalid value: -1: must be greater than or equal to 0"},
		{"selector", "spec.selector: {a: b}", "spec.selector: {a: c}",
			"spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template " +
				"`labels`"},
		{"no template", "spec.replicas: 1", "spec.template: null",
			"spec.selector: Required value; spec.template: Required value"},
		{"restart policy", "spec.template.spec.restartPolicy: Always", "spec.template.spec.restartPolicy: Never",
			`spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"`},
		{"deadline", "spec.replicas: 1", "spec.template.spec.activeDeadlineSeconds: 5",
			"spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in " +
				"ReplicationController is not Supported"},
		{"minReadySeconds", "spec.minReadySeconds: 1", "spec.minReadySeconds: -1",
			"spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0"},
	})
}

// TestReplicationControllerUpdateWarnings checks the warnings about the pods.
func TestReplicationControllerUpdateWarnings(t *testing.T) {
	kindtest.New(t, "replicationcontrollers.v1", replicationController).UpdateWarnings(kindtest.Cases{
		{"labels", "metadata.labels: {c: d}", ""},
		{"variable twice", "spec.template.spec.containers[0].env: [{name: A, value: '1'}, {name: A, value: '2'}]",
			""},
	})
}

// TestReplicationControllerCells checks what tables show of controllers.
func TestReplicationControllerCells(t *testing.T) {
	k := kindtest.New(t, "replicationcontrollers.v1", replicationController)
	k.Columns("Name|Desired|Current|Ready|Age|(Containers)|(Images)|(Selector)", kindtest.Cases{
		{"two containers",
			"spec.replicas: 2; spec.template.spec.containers: [{name: x, image: i}, {name: z, image: " +
				"j}]; status.replicas: 1", "x|2|1|0|60m|x,z|i,j|a=b"},
	})
}
