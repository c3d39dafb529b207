package api

import (
	"strconv"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func autoscalerColumns() []metav1.TableColumnDefinition {
	spec := autoscalingv2.HorizontalPodAutoscalerSpec{}
	return []metav1.TableColumnDefinition{
		nameColumn(),
		textColumn("Reference", doc(spec, "scaleTargetRef")),
		textColumn("Targets", doc(spec, "metrics")),
		textColumn("MinPods", doc(spec, "minReplicas")),
		textColumn("MaxPods", doc(spec, "maxReplicas")),
		textColumn("Replicas", doc(autoscalingv2.HorizontalPodAutoscalerStatus{}, "currentReplicas")),
		ageColumn(),
	}
}

func autoscalerCells(obj Object) []any {
	a := obj.(*autoscalingv2.HorizontalPodAutoscaler)
	least := cellUnset
	if n := a.Spec.MinReplicas; n != nil {
		least = strconv.Itoa(int(*n))
	}
	return []any{
		a.Name, a.Spec.ScaleTargetRef.Kind + "/" + a.Spec.ScaleTargetRef.Name,
		metricsCell(a.Spec.Metrics, a.Status.CurrentMetrics), least, int64(a.Spec.MaxReplicas),
		int64(a.Status.CurrentReplicas), Age(a),
	}
}

// metricsMost is how many metrics a cell shows.
const metricsMost = 2

// metricsCell compares metrics with their targets. What was measured stands at
// the same place of its list as what is aimed at.
func metricsCell(metrics []autoscalingv2.MetricSpec, measured []autoscalingv2.MetricStatus) string {
	if len(metrics) == 0 {
		return cellNone
	}
	var shown []string
	for i := range metrics[:min(len(metrics), metricsMost)] {
		var status autoscalingv2.MetricStatus
		if i < len(measured) {
			status = measured[i]
		}
		shown = append(shown, metricCell(&metrics[i], &status))
	}
	text := strings.Join(shown, ", ")
	if rest := len(metrics) - metricsMost; rest > 0 {
		text += " + " + strconv.Itoa(rest) + " more..."
	}
	return text
}

func metricCell(m *autoscalingv2.MetricSpec, s *autoscalingv2.MetricStatus) string {
	current := currentValue(m.Type, s)
	switch {
	case m.Type == autoscalingv2.ExternalMetricSourceType && m.External != nil:
		return valueCell(&m.External.Target, current)
	case m.Type == autoscalingv2.ObjectMetricSourceType && m.Object != nil:
		return valueCell(&m.Object.Target, current)
	case m.Type == autoscalingv2.PodsMetricSourceType && m.Pods != nil:
		return averageCell(&m.Pods.Target, current)
	case m.Type == autoscalingv2.ResourceMetricSourceType && m.Resource != nil:
		return string(m.Resource.Name) + ": " + resourceCell(&m.Resource.Target, current)
	case m.Type == autoscalingv2.ContainerResourceMetricSourceType && m.ContainerResource != nil:
		return string(m.ContainerResource.Name) + ": " + resourceCell(&m.ContainerResource.Target, current)
	}
	return "<unknown type>"
}

// currentValue is what was measured, if it is of the type that is aimed at.
func currentValue(of autoscalingv2.MetricSourceType, s *autoscalingv2.MetricStatus) *autoscalingv2.MetricValueStatus {
	switch {
	case of == autoscalingv2.ExternalMetricSourceType && s.External != nil:
		return &s.External.Current
	case of == autoscalingv2.ObjectMetricSourceType && s.Object != nil:
		return &s.Object.Current
	case of == autoscalingv2.PodsMetricSourceType && s.Pods != nil:
		return &s.Pods.Current
	case of == autoscalingv2.ResourceMetricSourceType && s.Resource != nil:
		return &s.Resource.Current
	case of == autoscalingv2.ContainerResourceMetricSourceType && s.ContainerResource != nil:
		return &s.ContainerResource.Current
	}
	return nil
}

// valueCell is for metrics that are one number for all pods, or its share for
// each.
func valueCell(target *autoscalingv2.MetricTarget, current *autoscalingv2.MetricValueStatus) string {
	switch {
	case target.AverageValue == nil && current == nil:
		return cellUnknown + "/" + target.Value.String()
	case target.AverageValue == nil:
		return current.Value.String() + "/" + target.Value.String()
	case current == nil || current.AverageValue == nil:
		return cellUnknown + "/" + target.AverageValue.String() + " (avg)"
	}
	return averageCell(target, current) + " (avg)"
}

// averageCell is for metrics that are a number for each pod.
func averageCell(target *autoscalingv2.MetricTarget, current *autoscalingv2.MetricValueStatus) string {
	if current == nil {
		return cellUnknown + "/" + target.AverageValue.String()
	}
	return current.AverageValue.String() + "/" + target.AverageValue.String()
}

// resourceCell is for what pods use, as a number or as a part of what they
// asked for.
func resourceCell(target *autoscalingv2.MetricTarget, current *autoscalingv2.MetricValueStatus) string {
	if target.AverageValue != nil {
		return averageCell(target, current)
	}
	now, aim := cellUnknown, "<auto>"
	if current != nil && current.AverageUtilization != nil {
		now = percent(*current.AverageUtilization)
	}
	if target.AverageUtilization != nil {
		aim = percent(*target.AverageUtilization)
	}
	return now + "/" + aim
}

func percent(n int32) string { return strconv.Itoa(int(n)) + "%" }
