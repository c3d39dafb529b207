package api

import "testing"

func TestAutoscalerRules(t *testing.T) {
	const target = `"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"a"}`
	const core = `"scaleTargetRef":{"apiVersion":"v1","kind":"Deployment","name":"a"}`
	testRules(t, horizontalPodAutoscaler(), []ruleTest{
		{"plain", "", `{"spec":{"maxReplicas":2,` + target + `}}`, ""},
		{"no maximum", "", `{"spec":{` + target + `}}`, "spec.maxReplicas: Required value: must be set and greater than 0"},
		{"negative", "", `{"spec":{"maxReplicas":-1,` + target + `}}`, "spec.maxReplicas: Invalid value: -1: must be greater than or equal to 1"},
		{"zero", "", `{"spec":{"minReplicas":0,"maxReplicas":1,` + target + `}}`,
			"[spec.minReplicas: Invalid value: 0: must be greater than or equal to 1, " +
				"spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas]"},
		{"no group", "", `{"spec":{"maxReplicas":1,` + core + `}}`, `spec.scaleTargetRef.apiVersion: Invalid value: "v1": apiVersion must specify API group`},
		{"metric", "", `{"spec":{"maxReplicas":1,` + target + `,"metrics":[{"type":"Moon","object":{},"pods":{}}]}}`, "spec.metrics[0].pods: Forbidden: must populate the given metric source only"},
		{"core", "", `{"spec":{"maxReplicas":1,"scaleTargetRef":{"apiVersion":"v1","kind":"ReplicationController","name":"a"}}}`, ""},
		{"no group before", `{"spec":{"maxReplicas":1,` + core + `}}`, `{"spec":{"maxReplicas":2,` + core + `}}`, ""},
	})
}

func TestAttachmentsAndNodesOfDrivers(t *testing.T) {
	testRules(t, volumeAttachment(), []ruleTest{{"no attacher", "", `{"spec":{"nodeName":"n","source":{"persistentVolumeName":"a"}}}`, "spec.attacher: Required value"}})
	if errs := volumeAttachment().ValidateCreate(ruleObject(t, volumeAttachment(), `{"spec":{"nodeName":"n","source":{"persistentVolumeName":"a"}}}`)); len(errs) != 1 {
		t.Errorf("no attacher: %v", errs)
	}
	testRules(t, csiNode(), []ruleTest{{"node", `{"spec":{"drivers":[{"name":"d.example","nodeID":"n"}]}}`, `{"spec":{"drivers":[{"name":"d.example","nodeID":"m"}]}}`,
		`spec.drivers: Invalid value: {"Name":"d.example","NodeID":"m","TopologyKeys":null,"Allocatable":null}: field is immutable`}})
}

// TestUnknownMetricType checks that a type of metric that does not exist is two causes.
func TestUnknownMetricType(t *testing.T) {
	hpa := horizontalPodAutoscaler()
	errs := hpa.ValidateCreate(ruleObject(t, hpa, `{"spec":{"maxReplicas":1,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"a"},"metrics":[{"type":"Moon"}]}}`))
	if len(errs) != 2 || errs[0].Field != "spec.metrics[0].type" || errs[1].Field != errs[0].Field {
		t.Errorf("got %v", errs)
	}
}
