package autoscaling_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const autoscaler = `spec:
  maxReplicas: 3
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: d}`

func TestAutoscalerRules(t *testing.T) {
	kindtest.New(t, "horizontalpodautoscalers.v2.autoscaling", autoscaler).Create(kindtest.Rules{
		{"maxReplicas", "spec.maxReplicas: 1", "spec.maxReplicas: 0",
			"spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`; " +
				"spec.maxReplicas: Required value"},
		{"minReplicas", "spec.minReplicas: 3", "spec.minReplicas: 0",
			"spec.metrics: Forbidden: must specify at least one Object or External metric to support " +
				"scaling to zero replicas"},
		{"min above max", "spec.minReplicas: 3", "spec.minReplicas: 4",
			"spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`"},
		{"kind of the target", "spec.scaleTargetRef.kind: K", `spec.scaleTargetRef.kind: ""`,
			"spec.scaleTargetRef.kind: Required value"},
		{"name of the target", "spec.scaleTargetRef.name: a-b", `spec.scaleTargetRef.name: ""`,
			"spec.scaleTargetRef.name: Required value"},
		{"path in the kind", "spec.scaleTargetRef.kind: K", "spec.scaleTargetRef.kind: a/b",
			`spec.scaleTargetRef.kind: Invalid value: "a/b": may not contain '/'`},
		{"path in the name", "spec.scaleTargetRef.name: a.b", "spec.scaleTargetRef.name: a/b",
			`spec.scaleTargetRef.name: Invalid value: "a/b": may not contain '/'`},
		{"version of the target", "spec.scaleTargetRef.apiVersion: a.b/v1", "spec.scaleTargetRef.apiVersion: a/b/c",
			`spec.scaleTargetRef.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c`},
		{"type of a metric",
			"spec.metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, " +
				"averageUtilization: 50}}}]", "spec.metrics: [{type: Other}]",
			`spec.metrics[0].type: Unsupported value: "Other": supported values: "ContainerResource", ` +
				`"External", "Object", "Pods", "Resource"`},
		{"no type of a metric",
			"spec.metrics: [{type: Resource, resource: {name: cpu, target: {type: AverageValue, averageValue: 1}}}]",
			`spec.metrics: [{type: "", resource: {name: cpu, target: {type: AverageValue, averageValue: 1}}}]`,
			"spec.metrics[0].type: Required value: must specify a metric source type; " +
				`spec.metrics[0].type: Unsupported value: "": supported values: "ContainerResource", ` +
				`"External", "Object", "Pods", "Resource"`},
		{"source of a metric",
			"spec.metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, " +
				"averageUtilization: 50}}}]", "spec.metrics: [{type: Resource}]",
			"spec.metrics[0].resource: Required value: must populate information for the given metric source"},
		{"other source of a metric",
			"spec.metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, " +
				"averageUtilization: 50}}}]",
			"spec.metrics: [{type: Pods, resource: {name: cpu, target: {type: Utilization, " +
				"averageUtilization: 50}}}]",
			"spec.metrics[0].pods: Required value: must populate information for the given metric source"},
		{"name of a resource",
			"spec.metrics: [{type: Resource, resource: {name: memory, target: {type: Utilization, " +
				"averageUtilization: 50}}}]",
			`spec.metrics: [{type: Resource, resource: {name: "", target: {type: Utilization, ` +
				"averageUtilization: 50}}}]",
			"spec.metrics[0].resource.name: Required value: must specify a resource name"},
		{"utilization",
			"spec.metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, " +
				"averageUtilization: 1}}}]",
			"spec.metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, " +
				"averageUtilization: 0}}}]",
			"spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater than 0"},
		{"target of a resource",
			"spec.metrics: [{type: Resource, resource: {name: cpu, target: {type: AverageValue, averageValue: 1}}}]",
			"spec.metrics: [{type: Resource, resource: {name: cpu, target: {type: AverageValue}}}]",
			"spec.metrics[0].resource.target.averageUtilization: Required value: must set either a " +
				"target raw value or a target utilization"},
		{"two targets of a resource",
			"spec.metrics: [{type: Resource, resource: {name: cpu, target: {type: AverageValue, averageValue: 1}}}]",
			"spec.metrics: [{type: Resource, resource: {name: cpu, target: {type: AverageValue, " +
				"averageValue: 1, averageUtilization: 5}}}]",
			"spec.metrics[0].resource.target.averageValue: Forbidden: may not set both a target raw " +
				"value and a target utilization"},
		{"value of a resource",
			"spec.metrics: [{type: Resource, resource: {name: cpu, target: {type: AverageValue, averageValue: 1}}}]",
			"spec.metrics: [{type: Resource, resource: {name: cpu, target: {type: Value, value: 1}}}]",
			"spec.metrics[0].resource.target.averageUtilization: Required value: must set either a " +
				"target raw value or a target utilization"},
		{"type of a target",
			"spec.metrics: [{type: Resource, resource: {name: cpu, target: {type: AverageValue, averageValue: 1}}}]",
			"spec.metrics: [{type: Resource, resource: {name: cpu, target: {type: Other, averageValue: 1}}}]",
			`spec.metrics[0].resource.target.type: Invalid value: "Other": must be either Utilization, ` +
				"Value, or AverageValue"},
		{"container",
			"spec.metrics: [{type: ContainerResource, containerResource: {name: cpu, container: c, " +
				"target: {type: Utilization, averageUtilization: 5}}}]",
			`spec.metrics: [{type: ContainerResource, containerResource: {name: cpu, container: "", ` +
				"target: {type: Utilization, averageUtilization: 5}}}]",
			"spec.metrics[0].containerResource.container: Required value: must specify a container"},
		{"form of a container",
			"spec.metrics: [{type: ContainerResource, containerResource: {name: cpu, container: c, " +
				"target: {type: Utilization, averageUtilization: 5}}}]",
			"spec.metrics: [{type: ContainerResource, containerResource: {name: cpu, container: a/b, " +
				"target: {type: Utilization, averageUtilization: 5}}}]",
			`spec.metrics[0].containerResource.container: Invalid value: "a/b": a lowercase RFC 1123 ` +
				"label must consist of lower case alphanumeric characters or '-', and must start and end " +
				"with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
				"'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
		{"pods",
			"spec.metrics: [{type: Pods, pods: {metric: {name: a}, target: {type: AverageValue, averageValue: 1}}}]",
			`spec.metrics: [{type: Pods, pods: {metric: {name: ""}, target: {type: AverageValue, ` +
				"averageValue: 1}}}]",
			"spec.metrics[0].pods.metric.name: Required value: must specify a metric name"},
		{"name of a metric",
			"spec.metrics: [{type: Pods, pods: {metric: {name: a.b}, target: {type: AverageValue, " +
				"averageValue: 1}}}]",
			"spec.metrics: [{type: Pods, pods: {metric: {name: a/b}, target: {type: AverageValue, " +
				"averageValue: 1}}}]", `spec.metrics[0].pods.metric.name: Invalid value: "a/b": may not contain '/'`},
		{"target of pods",
			"spec.metrics: [{type: Pods, pods: {metric: {name: a}, target: {type: AverageValue, averageValue: 1}}}]",
			"spec.metrics: [{type: Pods, pods: {metric: {name: a}, target: {type: AverageValue, averageValue: 0}}}]",
			`spec.metrics[0].pods.target.averageValue: Invalid value: "0": must be positive`},
		{"object",
			"spec.metrics: [{type: Object, object: {describedObject: {kind: K, name: o}, metric: {name: " +
				"a}, target: {type: Value, value: 1}}}]",
			`spec.metrics: [{type: Object, object: {describedObject: {kind: "", name: o}, metric: {name: ` +
				"a}, target: {type: Value, value: 1}}}]",
			"spec.metrics[0].object.describedObject.kind: Required value"},
		{"target of an object",
			"spec.metrics: [{type: Object, object: {describedObject: {kind: K, name: o}, metric: {name: " +
				"a}, target: {type: AverageValue, averageValue: 1}}}]",
			"spec.metrics: [{type: Object, object: {describedObject: {kind: K, name: o}, metric: {name: " +
				"a}, target: {type: Value}}}]",
			"spec.metrics[0].object.target.averageValue: Required value: must set either a target value " +
				"or averageValue"},
		{"external",
			"spec.metrics: [{type: External, external: {metric: {name: a}, target: {type: Value, value: 1}}}]",
			"spec.metrics: [{type: External, external: {metric: {name: a}, target: {type: Value, value: " +
				"1, averageValue: 1}}}]",
			"spec.metrics[0].external.target.value: Forbidden: may not set both a target value for " +
				"metric and a per-pod target"},
		{"negative value",
			"spec.metrics: [{type: External, external: {metric: {name: a}, target: {type: AverageValue, " +
				"averageValue: 1}}}]",
			"spec.metrics: [{type: External, external: {metric: {name: a}, target: {type: Value, value: -1}}}]",
			`spec.metrics[0].external.target.value: Invalid value: "-1": must be positive`},
		{"policies", "spec.behavior.scaleUp.policies: [{type: Pods, value: 1, periodSeconds: 1800}]",
			"spec.behavior.scaleUp.policies: []",
			"spec.behavior.scaleUp.policies: Required value: must specify at least one Policy"},
		{"type of a policy", "spec.behavior.scaleUp.policies: [{type: Percent, value: 1, periodSeconds: 1}]",
			"spec.behavior.scaleUp.policies: [{type: Other, value: 1, periodSeconds: 1}]",
			`spec.behavior.scaleUp.policies[0].type: Unsupported value: "Other": supported values: ` +
				`"Percent", "Pods"`},
		{"value of a policy", "spec.behavior.scaleUp.policies: [{type: Percent, value: 1, periodSeconds: 1}]",
			"spec.behavior.scaleUp.policies: [{type: Percent, value: 0, periodSeconds: 1}]",
			"spec.behavior.scaleUp.policies[0].value: Invalid value: 0: must be greater than zero"},
		{"period of a policy", "spec.behavior.scaleUp.policies: [{type: Percent, value: 1, periodSeconds: 1800}]",
			"spec.behavior.scaleUp.policies: [{type: Percent, value: 1, periodSeconds: 1801}]",
			"spec.behavior.scaleUp.policies[0].periodSeconds: Invalid value: 1801: must be less than or " +
				"equal to 1800"},
		{"no period", "spec.behavior.scaleDown.policies: [{type: Percent, value: 1, periodSeconds: 1}]",
			"spec.behavior.scaleDown.policies: [{type: Percent, value: 1, periodSeconds: 0}]",
			"spec.behavior.scaleDown.policies[0].periodSeconds: Invalid value: 0: must be greater than zero"},
		{"window", "spec.behavior.scaleDown.stabilizationWindowSeconds: 3600",
			"spec.behavior.scaleDown.stabilizationWindowSeconds: 3601",
			"spec.behavior.scaleDown.stabilizationWindowSeconds: Invalid value: 3601: must be less than " +
				"or equal to 3600"},
		{"negative window", "spec.behavior.scaleDown.stabilizationWindowSeconds: 0",
			"spec.behavior.scaleDown.stabilizationWindowSeconds: -1",
			"spec.behavior.scaleDown.stabilizationWindowSeconds: Invalid value: -1: must be greater than " +
				"or equal to zero"},
		{"selectPolicy", "spec.behavior.scaleDown.selectPolicy: Disabled",
			"spec.behavior.scaleDown.selectPolicy: Other",
			`spec.behavior.scaleDown.selectPolicy: Unsupported value: "Other": supported values: ` +
				`"Disabled", "Max", "Min"`},
		{"tolerance", "spec.behavior.scaleDown.tolerance: 100m", "spec.behavior.scaleDown.tolerance: -100m",
			`spec.behavior.scaleDown.tolerance: Invalid value: "-100m": must be greater than or equal to 0`},
	})
}

func TestAutoscalerUpdateRules(t *testing.T) {
	kindtest.New(t, "horizontalpodautoscalers.v2.autoscaling", autoscaler).Update(kindtest.Rules{
		{"min above max", "spec.minReplicas: 2", "spec.minReplicas: 4",
			"spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`"},
		{"kind of the target", "spec.scaleTargetRef.name: e", `spec.scaleTargetRef.kind: ""`,
			"spec.scaleTargetRef.kind: Required value"},
	})
}

func TestAutoscalerStatusRules(t *testing.T) {
	k := kindtest.New(t, "horizontalpodautoscalers.v2.autoscaling", autoscaler).With(
		"status: {currentReplicas: 1, desiredReplicas: 1, currentMetrics: null, conditions: []}")
	k.UpdateStatus(kindtest.Rules{
		{"currentReplicas", "status.currentReplicas: 0", "status.currentReplicas: -1",
			"status.currentReplicas: Invalid value: -1: must be greater than or equal to 0"},
		{"desiredReplicas", "status.desiredReplicas: 0", "status.desiredReplicas: -1",
			"status.desiredReplicas: Invalid value: -1: must be greater than or equal to 0"},
	})
}

func TestAutoscalerCreated(t *testing.T) {
	kindtest.New(t, "horizontalpodautoscalers.v2.autoscaling", autoscaler).Created(kindtest.Cases{
		{"defaults", "",
			"spec.minReplicas: 1; spec.metrics[0].resource.name: cpu; " +
				"spec.metrics[0].resource.target.averageUtilization: 80"},
		{"behavior", "spec.behavior: {}",
			`spec.behavior: {"scaleDown":{"policies":[{"periodSeconds":15,"type":"Percent","value":100}],` +
				`"selectPolicy":"Max"},"scaleUp":{"policies":[{"periodSeconds":15,"type":"Pods","value":4},{"` +
				`periodSeconds":15,"type":"Percent","value":100}],"selectPolicy":"Max","stabilizationWindowSeconds":0}}`},
		{"scaling up", "spec.behavior.scaleUp: {}",
			"spec.behavior.scaleUp.stabilizationWindowSeconds: 0; spec.behavior.scaleUp.selectPolicy: " +
				"Max; spec.behavior.scaleUp.policies: " +
				`[{"periodSeconds":15,"type":"Pods","value":4},{"periodSeconds":15,"type":"Percent","value":100}]`},
		{"scaling down", "spec.behavior.scaleDown: {}",
			"spec.behavior.scaleDown.selectPolicy: Max; spec.behavior.scaleDown.policies: " +
				`[{"periodSeconds":15,"type":"Percent","value":100}]`},
		{"status", "status.currentReplicas: 3", "status.currentReplicas: null"},
	})
}

func TestAutoscalerStatusUpdated(t *testing.T) {
	kindtest.New(t, "horizontalpodautoscalers.v2.autoscaling", autoscaler).StatusUpdated(kindtest.Cases{
		{"spec", "spec.maxReplicas: 5; status.desiredReplicas: 2", "spec.maxReplicas: 3; status.desiredReplicas: 2"},
	})
}

func TestAutoscalerColumns(t *testing.T) {
	k := kindtest.New(t, "horizontalpodautoscalers.v2.autoscaling", autoscaler)
	k.Columns("Name|Reference|Targets|MinPods|MaxPods|Replicas|Age", kindtest.Cases{
		{"new", "", "x|Deployment/d|cpu: <unknown>/80%|1|3|0|60m"},
		{"utilization",
			"spec.metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, " +
				"averageUtilization: 50}}}]; status: {currentReplicas: 2, desiredReplicas: 2, " +
				"currentMetrics: [{type: Resource, resource: {name: cpu, current: {averageUtilization: 20, " +
				"averageValue: 1}}}], conditions: []}", "x|Deployment/d|cpu: 20%/50%|1|3|2|60m"},
		{"other metrics",
			"spec.metrics: [{type: Pods, pods: {metric: {name: a}, target: {type: AverageValue, " +
				"averageValue: 1}}}, {type: Object, object: {describedObject: {kind: K, name: o}, metric: " +
				"{name: a}, target: {type: Value, value: 1}}}, {type: External, external: {metric: {name: " +
				"a}, target: {type: Value, value: 1}}}]",
			"x|Deployment/d|<unknown>/1, <unknown>/1 + 1 more...|1|3|0|60m"},
		{"container",
			"spec.metrics: [{type: ContainerResource, containerResource: {name: cpu, container: c, " +
				"target: {type: Utilization, averageUtilization: 5}}}]",
			"x|Deployment/d|cpu: <unknown>/5%|1|3|0|60m"},
	})
}

const autoscalerV1 = `spec:
  maxReplicas: 3
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: d}`

func TestAutoscalerV1Rules(t *testing.T) {
	kindtest.New(t, "horizontalpodautoscalers.v1.autoscaling", autoscalerV1).Create(kindtest.Rules{
		{"utilization", "spec.targetCPUUtilizationPercentage: 1", "spec.targetCPUUtilizationPercentage: 0",
			"spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater than 0"},
		{"min above max", "spec.minReplicas: 3", "spec.minReplicas: 4",
			"spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`"},
	})
}

func TestAutoscalerV1Created(t *testing.T) {
	kindtest.New(t, "horizontalpodautoscalers.v1.autoscaling", autoscalerV1).Created(kindtest.Cases{
		{"defaults", "", "spec.minReplicas: 1; spec.targetCPUUtilizationPercentage: 80"},
		{"utilization", "spec.targetCPUUtilizationPercentage: 5",
			"spec.targetCPUUtilizationPercentage: 5; metadata.annotations: null"},
	})
}
