package autoscaling

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Annotations for the fields that v1 lacks.
const (
	metricsAnnotation        = "autoscaling.alpha.kubernetes.io/metrics"
	currentMetricsAnnotation = "autoscaling.alpha.kubernetes.io/current-metrics"
	conditionsAnnotation     = "autoscaling.alpha.kubernetes.io/conditions"
	behaviorAnnotation       = "autoscaling.alpha.kubernetes.io/behavior"
)

// conversionAnnotations returns the annotations that no version but v1 has. Those for tolerances are
// no longer written.
func conversionAnnotations() []string {
	return []string{
		metricsAnnotation, currentMetricsAnnotation, conditionsAnnotation, behaviorAnnotation,
		"autoscaling.alpha.kubernetes.io/scale-down-tolerance", "autoscaling.alpha.kubernetes.io/scale-up-tolerance",
	}
}

// behaviorJSON is the form of the behavior annotation. Its field names are those of
// kube-apiserver's internal type, not of the API.
type behaviorJSON struct {
	ScaleUp, ScaleDown *scalingRulesJSON
}

type scalingRulesJSON struct {
	StabilizationWindowSeconds *int32
	SelectPolicy               *autoscalingv2.ScalingPolicySelect
	Policies                   []scalingPolicyJSON
	Tolerance                  *resource.Quantity
}

type scalingPolicyJSON struct {
	Type          autoscalingv2.HPAScalingPolicyType
	Value         int32
	PeriodSeconds int32
}

// autoscalerToV1 converts the hub version to v1.
func autoscalerToV1(in *autoscalingv2.HorizontalPodAutoscaler) (*autoscalingv1.HorizontalPodAutoscaler, error) {
	out := &autoscalingv1.HorizontalPodAutoscaler{
		ObjectMeta: in.ObjectMeta,
		Spec: autoscalingv1.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv1.CrossVersionObjectReference(in.Spec.ScaleTargetRef),
			MinReplicas:    in.Spec.MinReplicas,
			MaxReplicas:    in.Spec.MaxReplicas,
		},
		Status: autoscalingv1.HorizontalPodAutoscalerStatus{
			ObservedGeneration: in.Status.ObservedGeneration,
			LastScaleTime:      in.Status.LastScaleTime,
			CurrentReplicas:    in.Status.CurrentReplicas,
			DesiredReplicas:    in.Status.DesiredReplicas,
		},
	}
	carried := annotationWriter{annotations: maps.Clone(withoutConversionAnnotations(in.Annotations))}
	out.Spec.TargetCPUUtilizationPercentage = metricsToAnnotation(&carried, in.Spec.Metrics)
	out.Status.CurrentCPUUtilizationPercentage = statusesToAnnotation(&carried, in.Status.CurrentMetrics)
	if len(in.Status.Conditions) > 0 {
		conditions := make([]autoscalingv1.HorizontalPodAutoscalerCondition, len(in.Status.Conditions))
		for i, c := range in.Status.Conditions {
			conditions[i] = autoscalingv1.HorizontalPodAutoscalerCondition{
				Type: autoscalingv1.HorizontalPodAutoscalerConditionType(c.Type), Status: c.Status,
				LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message, ObservedGeneration: c.ObservedGeneration,
			}
		}
		carried.put(conditionsAnnotation, conditions)
	}
	if b := in.Spec.Behavior; b != nil {
		carried.put(behaviorAnnotation, behaviorJSON{ScaleUp: rulesToJSON(b.ScaleUp), ScaleDown: rulesToJSON(b.ScaleDown)})
	}
	out.Annotations = carried.annotations
	return out, carried.err
}

// metricsToAnnotation writes all metrics but target CPU utilizations to the annotation. It returns
// the first of these; v1 has no others.
func metricsToAnnotation(c *annotationWriter, metrics []autoscalingv2.MetricSpec) *int32 {
	var cpu *int32
	var others []autoscalingv1.MetricSpec
	for _, m := range metrics {
		isCPU := m.Type == autoscalingv2.ResourceMetricSourceType && m.Resource != nil && m.Resource.Name == corev1.ResourceCPU
		if isCPU && m.Resource.Target.AverageUtilization != nil {
			if cpu == nil {
				cpu = m.Resource.Target.AverageUtilization
			}
			continue
		}
		others = append(others, metricToV1(m))
	}
	if len(others) > 0 {
		c.put(metricsAnnotation, others)
	}
	return cpu
}

// statusesToAnnotation writes all current metrics to the annotation. It returns the CPU
// utilization, whose absolute value is only in the annotation.
func statusesToAnnotation(c *annotationWriter, statuses []autoscalingv2.MetricStatus) *int32 {
	if len(statuses) == 0 {
		return nil
	}
	var cpu *int32
	all := make([]autoscalingv1.MetricStatus, len(statuses))
	for i, s := range statuses {
		all[i] = statusToV1(s)
		isCPU := s.Type == autoscalingv2.ResourceMetricSourceType && s.Resource != nil && s.Resource.Name == corev1.ResourceCPU
		if isCPU && s.Resource.Current.AverageUtilization != nil {
			cpu = s.Resource.Current.AverageUtilization
		}
	}
	c.put(currentMetricsAnnotation, all)
	return cpu
}

func rulesToJSON(r *autoscalingv2.HPAScalingRules) *scalingRulesJSON {
	if r == nil {
		return nil
	}
	out := &scalingRulesJSON{
		StabilizationWindowSeconds: r.StabilizationWindowSeconds, SelectPolicy: r.SelectPolicy, Tolerance: r.Tolerance,
	}
	for _, p := range r.Policies {
		out.Policies = append(out.Policies, scalingPolicyJSON(p))
	}
	return out
}

// annotationWriter collects annotations and the first error.
type annotationWriter struct {
	annotations map[string]string
	err         error
}

func (c *annotationWriter) put(annotation string, value any) {
	text, err := json.Marshal(value)
	if err != nil && c.err == nil {
		c.err = fmt.Errorf("annotation %s: %w", annotation, err)
	}
	if c.annotations == nil {
		c.annotations = map[string]string{}
	}
	c.annotations[annotation] = string(text)
}

// withoutConversionAnnotations returns annotations without those of the conversion. The result is a
// copy if it differs.
func withoutConversionAnnotations(annotations map[string]string) map[string]string {
	isOwn := func(a string) bool { _, ok := annotations[a]; return ok }
	own := conversionAnnotations()
	if !slices.ContainsFunc(own, isOwn) {
		return annotations
	}
	out := maps.Clone(annotations)
	for _, a := range own {
		delete(out, a)
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
