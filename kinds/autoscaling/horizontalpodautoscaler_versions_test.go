package autoscaling_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const scaler = `spec:
  maxReplicas: 3
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: d}`

func TestAutoscalerInV1(t *testing.T) {
	kindtest.New(t, "horizontalpodautoscalers.v2.autoscaling", scaler).Converted("v1", kindtest.Cases{
		{"a target of CPU has a field", "", "spec.targetCPUUtilizationPercentage: 80; metadata.annotations: null"},
		{"another resource is in an annotation",
			"spec.metrics: [{type: Resource, resource: {name: memory, target: {type: AverageValue, " +
				"averageValue: 1Mi}}}]",
			"spec.targetCPUUtilizationPercentage: null; metadata.annotations: " +
				`{"autoscaling.alpha.kubernetes.io/metrics":"[{\"type\":\"Resource\",\"resource\":{\"name` +
				`\":\"memory\",\"targetAverageValue\":\"1Mi\"}}]"}`},
		{"a second target of CPU is lost",
			"spec.metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, " +
				"averageUtilization: 5}}}, {type: Resource, resource: {name: cpu, target: {type: " +
				"Utilization, averageUtilization: 6}}}]",
			"spec.targetCPUUtilizationPercentage: 5; metadata.annotations: null"},
		{"a metric of pods is in an annotation",
			"spec.metrics: [{type: Pods, pods: {metric: {name: a}, target: {type: AverageValue, " +
				"averageValue: 1}}}]",
			"metadata.annotations: " +
				`{"autoscaling.alpha.kubernetes.io/metrics":"[{\"type\":\"Pods\",\"pods\":{\"metricName\"` +
				`:\"a\",\"targetAverageValue\":\"1\"}}]"}`},
		{"a metric of an object is in an annotation",
			"spec.metrics: [{type: Object, object: {describedObject: {apiVersion: v1, kind: Service, " +
				"name: s}, metric: {name: a}, target: {type: Value, value: 1}}}]",
			"metadata.annotations: " +
				`{"autoscaling.alpha.kubernetes.io/metrics":"[{\"type\":\"Object\",\"object\":{\"target\"` +
				`:{\"kind\":\"Service\",\"name\":\"s\",\"apiVersion\":\"v1\"},\"metricName\":\"a\",\"targ` +
				`etValue\":\"1\"}}]"}`},
		{"an external metric is in an annotation",
			"spec.metrics: [{type: External, external: {metric: {name: a, selector: {matchLabels: " +
				"{b: c}}}, target: {type: AverageValue, averageValue: 1}}}]",
			"metadata.annotations: " +
				`{"autoscaling.alpha.kubernetes.io/metrics":"[{\"type\":\"External\",\"external\":{\"metr` +
				`icName\":\"a\",\"metricSelector\":{\"matchLabels\":{\"b\":\"c\"}},\"targetAverageValue\"` +
				`:\"1\"}}]"}`},
		{"a resource of a container is in an annotation",
			"spec.metrics: [{type: ContainerResource, containerResource: {name: cpu, container: c, " +
				"target: {type: Utilization, averageUtilization: 5}}}]",
			"metadata.annotations: " +
				`{"autoscaling.alpha.kubernetes.io/metrics":"[{\"type\":\"ContainerResource\",\"container` +
				`Resource\":{\"name\":\"cpu\",\"targetAverageUtilization\":5,\"container\":\"c\"}}]"}`},
		{"behavior is in an annotation",
			"spec.behavior: {scaleUp: {stabilizationWindowSeconds: 5, policies: [{type: Pods, value: " +
				"1, periodSeconds: 60}]}}",
			"metadata.annotations: " +
				`{"autoscaling.alpha.kubernetes.io/behavior":"{\"ScaleUp\":{\"StabilizationWindowSeconds\` +
				`":5,\"SelectPolicy\":\"Max\",\"Policies\":[{\"Type\":\"Pods\",\"Value\":1,\"PeriodSecond` +
				`s\":60}],\"Tolerance\":null},\"ScaleDown\":{\"StabilizationWindowSeconds\":null,\"Select` +
				`Policy\":\"Max\",\"Policies\":[{\"Type\":\"Percent\",\"Value\":100,\"PeriodSeconds\":15}` +
				`],\"Tolerance\":null}}"}`},
		{"a current resource",
			"status: {currentReplicas: 1, desiredReplicas: 1, conditions: [], currentMetrics: " +
				"[{type: Resource, resource: {name: cpu, current: {averageUtilization: 5, averageValue: 100m}}}]}",
			`status: {"currentCPUUtilizationPercentage":5,"currentReplicas":1,"desiredReplicas":1}; ` +
				"metadata.annotations: " +
				`{"autoscaling.alpha.kubernetes.io/current-metrics":"[{\"type\":\"Resource\",\"resource\"` +
				`:{\"name\":\"cpu\",\"currentAverageUtilization\":5,\"currentAverageValue\":\"100m\"}}]"}`},
		{"a current resource of a container",
			"status: {currentReplicas: 1, desiredReplicas: 1, conditions: [], currentMetrics: " +
				"[{type: ContainerResource, containerResource: {name: cpu, container: c, current: " +
				"{averageUtilization: 5, averageValue: 100m}}}]}",
			`status: {"currentReplicas":1,"desiredReplicas":1}; metadata.annotations: ` +
				`{"autoscaling.alpha.kubernetes.io/current-metrics":"[{\"type\":\"ContainerResource\",\"c` +
				`ontainerResource\":{\"name\":\"cpu\",\"currentAverageUtilization\":5,\"currentAverageVal` +
				`ue\":\"100m\",\"container\":\"c\"}}]"}`},
		{"a current metric of pods",
			"status: {currentReplicas: 1, desiredReplicas: 1, conditions: [], currentMetrics: " +
				"[{type: Pods, pods: {metric: {name: a}, current: {averageValue: 5}}}]}",
			`status: {"currentReplicas":1,"desiredReplicas":1}; metadata.annotations: ` +
				`{"autoscaling.alpha.kubernetes.io/current-metrics":"[{\"type\":\"Pods\",\"pods\":{\"metr` +
				`icName\":\"a\",\"currentAverageValue\":\"5\"}}]"}`},
		{"a current metric of an object",
			"status: {currentReplicas: 1, desiredReplicas: 1, conditions: [], currentMetrics: " +
				"[{type: Object, object: {describedObject: {apiVersion: v1, kind: Service, name: s}, " +
				"metric: {name: a}, current: {value: 5}}}]}",
			`status: {"currentReplicas":1,"desiredReplicas":1}; metadata.annotations: ` +
				`{"autoscaling.alpha.kubernetes.io/current-metrics":"[{\"type\":\"Object\",\"object\":{\"` +
				`target\":{\"kind\":\"Service\",\"name\":\"s\",\"apiVersion\":\"v1\"},\"metricName\":\"a\` +
				`",\"currentValue\":\"5\"}}]"}`},
		{"a current average of an object",
			"status: {currentReplicas: 1, desiredReplicas: 1, conditions: [], currentMetrics: " +
				"[{type: Object, object: {describedObject: {apiVersion: v1, kind: Service, name: s}, " +
				"metric: {name: a}, current: {value: 5, averageValue: 6}}}]}",
			`status: {"currentReplicas":1,"desiredReplicas":1}; metadata.annotations: ` +
				`{"autoscaling.alpha.kubernetes.io/current-metrics":"[{\"type\":\"Object\",\"object\":{\"` +
				`target\":{\"kind\":\"Service\",\"name\":\"s\",\"apiVersion\":\"v1\"},\"metricName\":\"a\` +
				`",\"currentValue\":\"5\",\"averageValue\":\"6\"}}]"}`},
		{"a current external metric",
			"status: {currentReplicas: 1, desiredReplicas: 1, conditions: [], currentMetrics: " +
				"[{type: External, external: {metric: {name: a, selector: {matchLabels: {b: c}}}, " +
				"current: {value: 5, averageValue: 6}}}]}",
			`status: {"currentReplicas":1,"desiredReplicas":1}; metadata.annotations: ` +
				`{"autoscaling.alpha.kubernetes.io/current-metrics":"[{\"type\":\"External\",\"external\"` +
				`:{\"metricName\":\"a\",\"metricSelector\":{\"matchLabels\":{\"b\":\"c\"}},\"currentValue` +
				`\":\"5\",\"currentAverageValue\":\"6\"}}]"}`},
		{"conditions are in an annotation",
			"status: {currentReplicas: 1, desiredReplicas: 1, currentMetrics: null, conditions: " +
				`[{type: AbleToScale, status: "True", reason: R, message: m, lastTransitionTime: ` +
				`"2026-05-04T11:00:00Z"}]}`,
			`status: {"currentReplicas":1,"desiredReplicas":1}; metadata.annotations: ` +
				`{"autoscaling.alpha.kubernetes.io/conditions":"[{\"type\":\"AbleToScale\",\"status\":\"T` +
				`rue\",\"lastTransitionTime\":\"2026-05-04T11:00:00Z\",\"reason\":\"R\",\"message\":\"m\"}]"}`},
		{"an average of an object is in an annotation",
			"spec.metrics: [{type: Object, object: {describedObject: {apiVersion: v1, kind: Service, " +
				"name: s}, metric: {name: a}, target: {type: AverageValue, averageValue: 1}}}]",
			"metadata.annotations: " +
				`{"autoscaling.alpha.kubernetes.io/metrics":"[{\"type\":\"Object\",\"object\":{\"target\"` +
				`:{\"kind\":\"Service\",\"name\":\"s\",\"apiVersion\":\"v1\"},\"metricName\":\"a\",\"targ` +
				`etValue\":\"0\",\"averageValue\":\"1\"}}]"}`},
		{"annotations of the client stay",
			"metadata.annotations: {a: b}; spec.behavior: {scaleDown: {selectPolicy: Disabled}}",
			"metadata.annotations: " +
				`{"a":"b","autoscaling.alpha.kubernetes.io/behavior":"{\"ScaleUp\":{\"StabilizationWindow` +
				`Seconds\":0,\"SelectPolicy\":\"Max\",\"Policies\":[{\"Type\":\"Pods\",\"Value\":4,\"Peri` +
				`odSeconds\":15},{\"Type\":\"Percent\",\"Value\":100,\"PeriodSeconds\":15}],\"Tolerance\"` +
				`:null},\"ScaleDown\":{\"StabilizationWindowSeconds\":null,\"SelectPolicy\":\"Disabled\",` +
				`\"Policies\":[{\"Type\":\"Percent\",\"Value\":100,\"PeriodSeconds\":15}],\"Tolerance\":null}}"}`},
	})
}

func TestAutoscalerAnnotationsCreated(t *testing.T) {
	kindtest.New(t, "horizontalpodautoscalers.v2.autoscaling", scaler).Created(kindtest.Cases{
		{"annotations that v1 has for fields are removed",
			`metadata.annotations: {autoscaling.alpha.kubernetes.io/metrics: "[]", a: b}`,
			`metadata.annotations: {"a":"b"}`},
		{"no annotation is left", `metadata.annotations: {autoscaling.alpha.kubernetes.io/conditions: "[]"}`,
			"metadata.annotations: null"},
	})
}

func TestAutoscalerSourceRules(t *testing.T) {
	kindtest.New(t, "horizontalpodautoscalers.v2.autoscaling", scaler).Create(kindtest.Rules{
		{"a metric has no second source",
			"spec.metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, " +
				"averageUtilization: 5}}}]",
			"spec.metrics: [{type: Object, object: {describedObject: {kind: K, name: o}, metric: " +
				"{name: a}, target: {type: Value, value: 1}}, pods: {metric: {name: a}, target: {type: " +
				"AverageValue, averageValue: 1}}}]",
			"spec.metrics[0].pods: Forbidden: must populate the given metric source only"},
		{"a target of an unknown kind has a group", "spec.scaleTargetRef.apiVersion: a.b/v1",
			"spec.scaleTargetRef.apiVersion: v1",
			`spec.scaleTargetRef.apiVersion: Invalid value: "v1": apiVersion must specify API group`},
		{"a replication controller has no group",
			"spec.scaleTargetRef: {apiVersion: v1, kind: ReplicationController, name: r}",
			"spec.scaleTargetRef: {apiVersion: v1, kind: ReplicaSet, name: r}",
			`spec.scaleTargetRef.apiVersion: Invalid value: "v1": apiVersion must specify API group`},
		{"the version of a described object has one slash",
			"spec.metrics: [{type: Object, object: {describedObject: {apiVersion: v1, kind: K, name: " +
				"o}, metric: {name: a}, target: {type: Value, value: 1}}}]",
			"spec.metrics: [{type: Object, object: {describedObject: {apiVersion: a/b/c, kind: K, " +
				"name: o}, metric: {name: a}, target: {type: Value, value: 1}}}]",
			`spec.metrics[0].object.describedObject.apiVersion: Invalid value: "a/b/c": unexpected ` +
				"GroupVersion string: a/b/c"},
		{"an external metric has a target",
			"spec.metrics: [{type: External, external: {metric: {name: a}, target: {type: Value, value: 1}}}]",
			"spec.metrics: [{type: External, external: {metric: {name: a}, target: {type: Value}}}]",
			"spec.metrics[0].external.target.averageValue: Required value: must set either a target " +
				"value for metric or a per-pod target"},
		{"an external metric has one target",
			"spec.metrics: [{type: External, external: {metric: {name: a}, target: {type: Value, value: 1}}}]",
			"spec.metrics: [{type: External, external: {metric: {name: a}, target: {type: Value, " +
				"value: 1, averageValue: 1}}}]",
			"spec.metrics[0].external.target.value: Forbidden: may not set both a target value for " +
				"metric and a per-pod target"},
		{"pods have an average",
			"spec.metrics: [{type: Pods, pods: {metric: {name: a}, target: {type: AverageValue, " +
				"averageValue: 1}}}]",
			"spec.metrics: [{type: Pods, pods: {metric: {name: a}, target: {type: AverageValue, value: 1}}}]",
			"spec.metrics[0].pods.target.averageValue: Required value: must specify a positive " +
				"target averageValue"},
		{"the name of a container is a label",
			"spec.metrics: [{type: ContainerResource, containerResource: {name: cpu, container: a-b, " +
				"target: {type: Utilization, averageUtilization: 5}}}]",
			"spec.metrics: [{type: ContainerResource, containerResource: {name: cpu, container: a.b, " +
				"target: {type: Utilization, averageUtilization: 5}}}]",
			`spec.metrics[0].containerResource.container: Invalid value: "a.b": must not contain dots`},
		{"the resource of a container has a name",
			"spec.metrics: [{type: ContainerResource, containerResource: {name: cpu, container: c, " +
				"target: {type: Utilization, averageUtilization: 5}}}]",
			`spec.metrics: [{type: ContainerResource, containerResource: {name: "", container: c, ` +
				"target: {type: Utilization, averageUtilization: 5}}}]",
			"spec.metrics[0].containerResource.name: Required value: must specify a resource name"},
		{"a target has a type",
			"spec.metrics: [{type: Pods, pods: {metric: {name: a}, target: {type: AverageValue, " +
				"averageValue: 1}}}]",
			`spec.metrics: [{type: Pods, pods: {metric: {name: a}, target: {type: "", averageValue: 1}}}]`,
			"spec.metrics[0].pods.target.type: Required value: must specify a metric target type; " +
				`spec.metrics[0].pods.target.type: Invalid value: "": must be either Utilization, Value, ` +
				"or AverageValue"},
		{"a window is not negative", "spec.behavior: {scaleUp: {stabilizationWindowSeconds: 0}}",
			"spec.behavior: {scaleUp: {stabilizationWindowSeconds: -1}}",
			"spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: -1: must be greater " +
				"than or equal to zero"},
		{"at least one pod", "spec.maxReplicas: 1", "spec.maxReplicas: -1",
			"spec.maxReplicas: Invalid value: -1: must be greater than or equal to `minReplicas`; " +
				"spec.maxReplicas: Invalid value: -1: must be greater than or equal to 1"},
	})
}

func TestStoredTargetUpdateRules(t *testing.T) {
	k := kindtest.New(t, "horizontalpodautoscalers.v2.autoscaling", scaler).With(
		"spec.scaleTargetRef.apiVersion: v1")
	k.Update(kindtest.Rules{
		{"a stored target without a group stays", "spec.maxReplicas: 5", "spec.scaleTargetRef.kind: ReplicaSet",
			`spec.scaleTargetRef.apiVersion: Invalid value: "v1": apiVersion must specify API group`},
	})
}

func TestStoredDescribedObjectUpdated(t *testing.T) {
	k := kindtest.New(t, "horizontalpodautoscalers.v2.autoscaling", scaler).With(
		"spec.metrics: [{type: Object, object: {describedObject: {apiVersion: a/b/c, kind: K, name: o}, " +
			"metric: {name: a}, target: {type: Value, value: 1}}}]")
	k.Updated(kindtest.Cases{
		{"a stored version of a described object stays", "spec.maxReplicas: 5", "spec.maxReplicas: 5"},
	})
}

func TestStoredZeroUpdateRules(t *testing.T) {
	k := kindtest.New(t, "horizontalpodautoscalers.v2.autoscaling", scaler).With(
		"spec.minReplicas: 0; spec.metrics: [{type: External, external: {metric: {name: a}, target: " +
			"{type: Value, value: 1}}}]")
	k.Update(kindtest.Rules{
		{"a stored zero stays", "spec.maxReplicas: 5", "spec.minReplicas: -1",
			"spec.minReplicas: Invalid value: -1: must be greater than or equal to 0"},
	})
}

func TestScalerStatusRules(t *testing.T) {
	k := kindtest.New(t, "horizontalpodautoscalers.v2.autoscaling", scaler).With(
		"status: {currentReplicas: 1, desiredReplicas: 1, currentMetrics: null, conditions: []}")
	k.UpdateStatus(kindtest.Rules{
		{"the observed generation of a condition is not negative",
			`status.conditions: [{type: A, status: "True", observedGeneration: 0}]`,
			`status.conditions: [{type: A, status: "True", observedGeneration: -1}]`,
			"status.conditions[0].observedGeneration: Invalid value: -1: must be greater than or equal to 0"},
	})
}

func TestScalerColumns(t *testing.T) {
	k := kindtest.New(t, "horizontalpodautoscalers.v2.autoscaling", scaler)
	k.Columns("Name|Reference|Targets|MinPods|MaxPods|Replicas|Age", kindtest.Cases{
		{"external",
			"spec.metrics: [{type: External, external: {metric: {name: a}, target: {type: Value, " +
				"value: 1}}}]; status: {currentReplicas: 1, desiredReplicas: 1, currentMetrics: [{type: " +
				"External, external: {metric: {name: a}, current: {value: 5}}}], conditions: []}",
			"x|Deployment/d|5/1|1|3|1|60m"},
		{"external average",
			"spec.metrics: [{type: External, external: {metric: {name: a}, target: {type: " +
				"AverageValue, averageValue: 1}}}]; status: {currentReplicas: 1, desiredReplicas: 1, " +
				"currentMetrics: [{type: External, external: {metric: {name: a}, current: {averageValue: " +
				"5}}}], conditions: []}", "x|Deployment/d|5/1 (avg)|1|3|1|60m"},
		{"external average before it is measured",
			"spec.metrics: [{type: External, external: {metric: {name: a}, target: {type: " +
				"AverageValue, averageValue: 1}}}]", "x|Deployment/d|<unknown>/1 (avg)|1|3|0|60m"},
		{"object",
			"spec.metrics: [{type: Object, object: {describedObject: {kind: K, name: o}, metric: " +
				"{name: a}, target: {type: Value, value: 1}}}]; status: {currentReplicas: 1, " +
				"desiredReplicas: 1, currentMetrics: [{type: Object, object: {describedObject: {kind: K, " +
				"name: o}, metric: {name: a}, current: {value: 5}}}], conditions: []}",
			"x|Deployment/d|5/1|1|3|1|60m"},
		{"an average that is no average",
			"spec.metrics: [{type: Object, object: {describedObject: {kind: K, name: o}, metric: " +
				"{name: a}, target: {type: Value, value: 1}}}]; status: {currentReplicas: 1, " +
				"desiredReplicas: 1, currentMetrics: [{type: Object, object: {describedObject: {kind: K, " +
				"name: o}, metric: {name: a}, current: {averageValue: 5}}}], conditions: []}",
			"x|Deployment/d|<nil>/1|1|3|1|60m"},
		{"another metric is measured",
			"spec.metrics: [{type: External, external: {metric: {name: a}, target: {type: Value, " +
				"value: 1}}}]; status: {currentReplicas: 1, desiredReplicas: 1, currentMetrics: [{type: " +
				"Resource, resource: {name: cpu, current: {averageUtilization: 5, averageValue: 1}}}], " +
				"conditions: []}", "x|Deployment/d|<unknown>/1|1|3|1|60m"},
		{"more metrics than shown",
			"spec.metrics: [{type: External, external: {metric: {name: a}, target: {type: Value, " +
				"value: 1}}}, {type: Resource, resource: {name: cpu, target: {type: Utilization, " +
				"averageUtilization: 5}}}, {type: Resource, resource: {name: memory, target: {type: " +
				"Utilization, averageUtilization: 5}}}]",
			"x|Deployment/d|<unknown>/1, cpu: <unknown>/5% + 1 more...|1|3|0|60m"},
		{"at least two pods",
			"spec.minReplicas: 2; status: {currentReplicas: 4, desiredReplicas: 4, currentMetrics: " +
				"null, conditions: []}", "x|Deployment/d|cpu: <unknown>/80%|2|3|4|60m"},
		{"pods",
			"spec.metrics: [{type: Pods, pods: {metric: {name: a}, target: {type: AverageValue, " +
				"averageValue: 1}}}]; status: {currentReplicas: 1, desiredReplicas: 1, currentMetrics: " +
				"[{type: Pods, pods: {metric: {name: a}, current: {averageValue: 5}}}], conditions: []}",
			"x|Deployment/d|5/1|1|3|1|60m"},
		{"container",
			"spec.metrics: [{type: ContainerResource, containerResource: {name: cpu, container: c, " +
				"target: {type: AverageValue, averageValue: 1}}}]; status: {currentReplicas: 1, " +
				"desiredReplicas: 1, currentMetrics: [{type: ContainerResource, containerResource: " +
				"{name: cpu, container: c, current: {averageValue: 5}}}], conditions: []}",
			"x|Deployment/d|cpu: 5/1|1|3|1|60m"},
	})
}

func TestScaleToZeroRules(t *testing.T) {
	kindtest.New(t, "horizontalpodautoscalers.v2.autoscaling", scaler, "HPAScaleToZero").Create(kindtest.Rules{
		{"zero replicas need a metric without pods",
			"spec.minReplicas: 0; spec.metrics: [{type: External, external: {metric: {name: a}, " +
				"target: {type: Value, value: 1}}}]", "spec.minReplicas: 0",
			"spec.metrics: Forbidden: must specify at least one Object or External metric to support " +
				"scaling to zero replicas"},
	})
}

func TestOneReplicaRules(t *testing.T) {
	kindtest.New(t, "horizontalpodautoscalers.v2.autoscaling", scaler, "-HPAScaleToZero").Create(kindtest.Rules{
		{"one replica without the gate", "spec.minReplicas: 1",
			"spec.minReplicas: 0; spec.metrics: [{type: External, external: {metric: {name: a}, " +
				"target: {type: Value, value: 1}}}]",
			"spec.minReplicas: Invalid value: 0: must be greater than or equal to 1"},
	})
}

const scalerV1 = `spec:
  maxReplicas: 3
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: d}`

func TestAutoscalerV1InV2(t *testing.T) {
	kindtest.New(t, "horizontalpodautoscalers.v1.autoscaling", scalerV1).Converted("v2", kindtest.Cases{
		{"CPU has a default", "",
			`spec.metrics: [{"resource":{"name":"cpu","target":{"averageUtilization":80,"type":"Utili` +
				`zation"}},"type":"Resource"}]; spec.minReplicas: 1`},
		{"a target of CPU is a metric", "spec.targetCPUUtilizationPercentage: 5",
			`spec.metrics: [{"resource":{"name":"cpu","target":{"averageUtilization":5,"type":"Utiliz` +
				`ation"}},"type":"Resource"}]`},
		{"metrics are in an annotation",
			"metadata.annotations[autoscaling.alpha.kubernetes.io/metrics]: " +
				`'[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1Mi"}}]'`,
			`spec.metrics: [{"resource":{"name":"memory","target":{"averageValue":"1Mi","type":"Avera` +
				`geValue"}},"type":"Resource"}]; metadata.annotations: null`},
		{"a metric of pods",
			"metadata.annotations[autoscaling.alpha.kubernetes.io/metrics]: " +
				`'[{"type":"Pods","pods":{"metricName":"a","targetAverageValue":"1"}}]'`,
			`spec.metrics: [{"pods":{"metric":{"name":"a"},"target":{"averageValue":"1","type":"Avera` +
				`geValue"}},"type":"Pods"}]`},
		{"a metric of an object",
			"metadata.annotations[autoscaling.alpha.kubernetes.io/metrics]: " +
				`'[{"type":"Object","object":{"target":{"kind":"K","name":"o","apiVersion":"v1"},"metricN` +
				`ame":"a","targetValue":"1"}}]'`,
			`spec.metrics: [{"object":{"describedObject":{"apiVersion":"v1","kind":"K","name":"o"},"m` +
				`etric":{"name":"a"},"target":{"type":"Value","value":"1"}},"type":"Object"}]`},
		{"an average of an object",
			"metadata.annotations[autoscaling.alpha.kubernetes.io/metrics]: " +
				`'[{"type":"Object","object":{"target":{"kind":"K","name":"o","apiVersion":"v1"},"metricN` +
				`ame":"a","targetValue":"0","averageValue":"2"}}]'`,
			`spec.metrics: [{"object":{"describedObject":{"apiVersion":"v1","kind":"K","name":"o"},"m` +
				`etric":{"name":"a"},"target":{"averageValue":"2","type":"AverageValue"}},"type":"Object"}]`},
		{"an external metric",
			"metadata.annotations[autoscaling.alpha.kubernetes.io/metrics]: " +
				`'[{"type":"External","external":{"metricName":"a","metricSelector":{"matchLabels":{"b":"` +
				`c"}},"targetAverageValue":"1"}}]'`,
			`spec.metrics: [{"external":{"metric":{"name":"a","selector":{"matchLabels":{"b":"c"}}},"` +
				`target":{"averageValue":"1","type":"AverageValue"}},"type":"External"}]`},
		{"a resource of a container",
			"metadata.annotations[autoscaling.alpha.kubernetes.io/metrics]: " +
				`'[{"type":"ContainerResource","containerResource":{"name":"cpu","container":"c","targetA` +
				`verageUtilization":5}}]'`,
			`spec.metrics: [{"containerResource":{"container":"c","name":"cpu","target":{"averageUtil` +
				`ization":5,"type":"Utilization"}},"type":"ContainerResource"}]`},
		{"an annotation that is not JSON is ignored",
			"metadata.annotations[autoscaling.alpha.kubernetes.io/metrics]: x",
			"spec.metrics[0].resource.name: cpu; metadata.annotations: null"},
		{"a current resource",
			"metadata.annotations[autoscaling.alpha.kubernetes.io/current-metrics]: " +
				`'[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":5,"currentAver` +
				`ageValue":"100m"}}]'; status: {currentReplicas: 1, desiredReplicas: 1}`,
			"status.currentMetrics: " +
				`[{"resource":{"current":{"averageUtilization":5,"averageValue":"100m"},"name":"cpu"},"ty` +
				`pe":"Resource"}]; metadata.annotations: null`},
		{"a current resource of a container",
			"metadata.annotations[autoscaling.alpha.kubernetes.io/current-metrics]: " +
				`'[{"type":"ContainerResource","containerResource":{"name":"cpu","container":"c","current` +
				`AverageUtilization":5,"currentAverageValue":"100m"}}]'; status: {currentReplicas: 1, ` +
				"desiredReplicas: 1}",
			"status.currentMetrics: " +
				`[{"containerResource":{"container":"c","current":{"averageUtilization":5,"averageValue":` +
				`"100m"},"name":"cpu"},"type":"ContainerResource"}]; metadata.annotations: null`},
		{"a current metric of pods",
			"metadata.annotations[autoscaling.alpha.kubernetes.io/current-metrics]: " +
				`'[{"type":"Pods","pods":{"metricName":"a","currentAverageValue":"5"}}]'; status: ` +
				"{currentReplicas: 1, desiredReplicas: 1}",
			"status.currentMetrics: " +
				`[{"pods":{"current":{"averageValue":"5"},"metric":{"name":"a"}},"type":"Pods"}]; ` +
				"metadata.annotations: null"},
		{"a current metric of an object",
			"metadata.annotations[autoscaling.alpha.kubernetes.io/current-metrics]: " +
				`'[{"type":"Object","object":{"target":{"kind":"Service","name":"s","apiVersion":"v1"},"m` +
				`etricName":"a","currentValue":"5"}}]'; status: {currentReplicas: 1, desiredReplicas: 1}`,
			"status.currentMetrics: " +
				`[{"object":{"current":{"value":"5"},"describedObject":{"apiVersion":"v1","kind":"Service` +
				`","name":"s"},"metric":{"name":"a"}},"type":"Object"}]; metadata.annotations: null`},
		{"a current external metric",
			"metadata.annotations[autoscaling.alpha.kubernetes.io/current-metrics]: " +
				`'[{"type":"External","external":{"metricName":"a","metricSelector":{"matchLabels":{"b":"` +
				`c"}},"currentValue":"5","currentAverageValue":"6"}}]'; status: {currentReplicas: 1, ` +
				"desiredReplicas: 1}",
			"status.currentMetrics: " +
				`[{"external":{"current":{"averageValue":"6","value":"5"},"metric":{"name":"a","selector"` +
				`:{"matchLabels":{"b":"c"}}}},"type":"External"}]; metadata.annotations: null`},
		{"the current use of CPU without an annotation",
			"status: {currentReplicas: 1, desiredReplicas: 1, currentCPUUtilizationPercentage: 7}",
			"status.currentMetrics: " +
				`[{"resource":{"current":{"averageUtilization":7},"name":"cpu"},"type":"Resource"}]`},
		{"conditions are in an annotation",
			"metadata.annotations[autoscaling.alpha.kubernetes.io/conditions]: " +
				`'[{"type":"AbleToScale","status":"True","lastTransitionTime":"2026-05-04T11:00:00Z","rea` +
				`son":"R","message":"m"}]'; status: {currentReplicas: 1, desiredReplicas: 1}`,
			`status.conditions: [{"lastTransitionTime":"2026-05-04T11:00:00Z","message":"m","reason":` +
				`"R","status":"True","type":"AbleToScale"}]`},
		{"behavior is in an annotation",
			"metadata.annotations[autoscaling.alpha.kubernetes.io/behavior]: " +
				`'{"ScaleUp":{"StabilizationWindowSeconds":5,"SelectPolicy":"Max","Policies":[{"Type":"Po` +
				`ds","Value":1,"PeriodSeconds":60}]}}'`,
			`spec.behavior: {"scaleDown":{"policies":[{"periodSeconds":15,"type":"Percent","value":10` +
				`0}],"selectPolicy":"Max"},"scaleUp":{"policies":[{"periodSeconds":60,"type":"Pods","valu` +
				`e":1}],"selectPolicy":"Max","stabilizationWindowSeconds":5}}`},
	})
}
