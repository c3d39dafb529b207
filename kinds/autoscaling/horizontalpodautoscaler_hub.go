package autoscaling

import (
	"encoding/json"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/internal/bounds"
)

// autoscalerFromV1 converts v1 to the hub version. It reads fields that v1 lacks from
// annotations, and ignores annotations that cannot be decoded, which users may write.
func autoscalerFromV1(in *autoscalingv1.HorizontalPodAutoscaler) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	out := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: in.ObjectMeta,
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference(in.Spec.ScaleTargetRef),
			MinReplicas:    in.Spec.MinReplicas,
			MaxReplicas:    in.Spec.MaxReplicas,
			Metrics:        metricsFromV1(in),
			Behavior:       behaviorFromV1(in),
		},
		Status: autoscalingv2.HorizontalPodAutoscalerStatus{
			ObservedGeneration: in.Status.ObservedGeneration,
			LastScaleTime:      in.Status.LastScaleTime,
			CurrentReplicas:    in.Status.CurrentReplicas,
			DesiredReplicas:    in.Status.DesiredReplicas,
			CurrentMetrics:     statusesFromV1(in),
			Conditions:         conditionsFromV1(in),
		},
	}
	out.Annotations = withoutConversionAnnotations(in.Annotations)
	return out, nil
}

// fromAnnotation decodes an annotation; ok is false if it is missing or invalid.
func fromAnnotation[T any](in *autoscalingv1.HorizontalPodAutoscaler, annotation string) (value T, ok bool) {
	text, ok := in.Annotations[annotation]
	if !ok || bounds.JSONInto([]byte(text), &value) != nil || json.Unmarshal([]byte(text), &value) != nil {
		return *new(T), false
	}
	return value, true
}

// metricsFromV1 appends the CPU utilization after the other metrics, like kube-apiserver. The default
// is part of the conversion because it depends on the annotation.
func metricsFromV1(in *autoscalingv1.HorizontalPodAutoscaler) []autoscalingv2.MetricSpec {
	var metrics []autoscalingv2.MetricSpec
	others, _ := fromAnnotation[[]autoscalingv1.MetricSpec](in, metricsAnnotation)
	for _, m := range others {
		metrics = append(metrics, metricFromV1(m))
	}
	if cpu := in.Spec.TargetCPUUtilizationPercentage; cpu != nil {
		metrics = append(metrics, cpuMetric(*cpu))
	}
	if len(metrics) == 0 {
		metrics = append(metrics, cpuMetric(defaultCPUUtilization))
	}
	return metrics
}

func statusesFromV1(in *autoscalingv1.HorizontalPodAutoscaler) []autoscalingv2.MetricStatus {
	statuses, ok := fromAnnotation[[]autoscalingv1.MetricStatus](in, currentMetricsAnnotation)
	if ok {
		var all []autoscalingv2.MetricStatus
		for _, s := range statuses {
			all = append(all, statusFromV1(s))
		}
		return all
	}
	cpu := in.Status.CurrentCPUUtilizationPercentage
	if cpu == nil {
		return nil
	}
	return []autoscalingv2.MetricStatus{{
		Type: autoscalingv2.ResourceMetricSourceType,
		Resource: &autoscalingv2.ResourceMetricStatus{
			Name: corev1.ResourceCPU, Current: autoscalingv2.MetricValueStatus{AverageUtilization: cpu},
		},
	}}
}

func conditionsFromV1(in *autoscalingv1.HorizontalPodAutoscaler) []autoscalingv2.HorizontalPodAutoscalerCondition {
	var out []autoscalingv2.HorizontalPodAutoscalerCondition
	conditions, _ := fromAnnotation[[]autoscalingv1.HorizontalPodAutoscalerCondition](in, conditionsAnnotation)
	for _, c := range conditions {
		out = append(out, autoscalingv2.HorizontalPodAutoscalerCondition{
			Type: autoscalingv2.HorizontalPodAutoscalerConditionType(c.Type), Status: c.Status,
			LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message, ObservedGeneration: c.ObservedGeneration,
		})
	}
	return out
}

func behaviorFromV1(in *autoscalingv1.HorizontalPodAutoscaler) *autoscalingv2.HorizontalPodAutoscalerBehavior {
	b, ok := fromAnnotation[*behaviorJSON](in, behaviorAnnotation)
	if !ok || b == nil || *b == (behaviorJSON{}) {
		return nil
	}
	return &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: rulesFromJSON(b.ScaleUp), ScaleDown: rulesFromJSON(b.ScaleDown)}
}

func rulesFromJSON(r *scalingRulesJSON) *autoscalingv2.HPAScalingRules {
	if r == nil {
		return nil
	}
	out := &autoscalingv2.HPAScalingRules{
		StabilizationWindowSeconds: r.StabilizationWindowSeconds, SelectPolicy: r.SelectPolicy, Tolerance: r.Tolerance,
	}
	for _, p := range r.Policies {
		out.Policies = append(out.Policies, autoscalingv2.HPAScalingPolicy(p))
	}
	return out
}
