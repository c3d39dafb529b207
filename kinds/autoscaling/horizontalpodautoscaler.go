package autoscaling

import (
	"strconv"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// defaultCPUUtilization is the target in percent of an autoscaler without metrics.
const defaultCPUUtilization = 80

// HorizontalPodAutoscaler describes the kind HorizontalPodAutoscaler, which scales replicas
// by metrics.
func HorizontalPodAutoscaler(gates features.Gates) *api.Resource {
	rules := autoscalerCheck{gates}
	return api.NewResource(api.Kind[*autoscalingv2.HorizontalPodAutoscaler]{
		Names: api.Names{
			Name: "horizontalpodautoscalers", Singular: "horizontalpodautoscaler", Kind: "HorizontalPodAutoscaler",
			ShortNames: []string{"hpa"},
			Categories: []string{"all"},
			Namespaced: true,
		},
		Versions: []api.Version{
			{GroupVersion: autoscalingv2.SchemeGroupVersion},
			{
				GroupVersion: autoscalingv1.SchemeGroupVersion,
				New:          func() api.Object { return &autoscalingv1.HorizontalPodAutoscaler{} },
				ToHub:        api.Converting(autoscalerFromV1), FromHub: api.Converting(autoscalerToV1),
				HubDefault: func(obj api.Object) {
					api.SetDefault(&obj.(*autoscalingv2.HorizontalPodAutoscaler).Spec.MinReplicas, 1)
				},
			},
		},
		Default: defaultAutoscaler,
		Storage: api.Storage{Prefix: "horizontalpodautoscalers"},
		Checks: api.Checks(
			api.Metadata,
			api.OnCreate(api.Rules(rules.create)),
			api.Changes(rules.update),
			api.Declared,
		),
		HasGeneration: gates.Enabled(features.HPAGeneration),
		Status:        api.NewStatus(nil, api.Metadata, api.Changes(autoscalerStatusChanges), api.Declared),
		Table:         api.Rows(autoscalerRow),
	})
}

func defaultAutoscaler(obj *autoscalingv2.HorizontalPodAutoscaler) {
	obj.Annotations = withoutConversionAnnotations(obj.Annotations) // they mean something in v1 only
	s := &obj.Spec
	api.SetDefault(&s.MinReplicas, 1)
	if len(s.Metrics) == 0 {
		s.Metrics = []autoscalingv2.MetricSpec{cpuMetric(defaultCPUUtilization)}
	}
	if s.Behavior != nil {
		defaultBehavior(s.Behavior)
	}
}

// cpuMetric returns the metric CPU utilization, the only one for which v1 has a field.
func cpuMetric(utilization int32) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{
		Type: autoscalingv2.ResourceMetricSourceType,
		Resource: &autoscalingv2.ResourceMetricSource{
			Name:   corev1.ResourceCPU,
			Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &utilization},
		},
	}
}

func autoscalerRow(row *table.Row, a *autoscalingv2.HorizontalPodAutoscaler) {
	least, target := table.CellUnset, a.Spec.ScaleTargetRef
	if n := a.Spec.MinReplicas; n != nil {
		least = strconv.Itoa(int(*n))
	}
	row.Name(a.Name)
	row.Text("Reference", ".spec.scaleTargetRef", target.Kind+"/"+target.Name)
	row.Text("Targets", ".spec.metrics", metricsCell(a.Spec.Metrics, a.Status.CurrentMetrics))
	row.Text("MinPods", ".spec.minReplicas", least)
	row.Text("MaxPods", ".spec.maxReplicas", int64(a.Spec.MaxReplicas))
	row.Text("Replicas", ".status.currentReplicas", int64(a.Status.CurrentReplicas))
	row.Age(a)
}

// maxMetricsShown is the maximum number of metrics in a cell.
const maxMetricsShown = 2

// metricsCell returns the metrics with their targets. A metric has the same index in both
// lists.
func metricsCell(metrics []autoscalingv2.MetricSpec, measured []autoscalingv2.MetricStatus) string {
	if len(metrics) == 0 {
		return table.CellNone
	}
	var shown []string
	for i := range metrics[:min(len(metrics), maxMetricsShown)] {
		var status autoscalingv2.MetricStatus
		if i < len(measured) {
			status = measured[i]
		}
		shown = append(shown, metricCell(&metrics[i], &status))
	}
	text := strings.Join(shown, ", ")
	if rest := len(metrics) - maxMetricsShown; rest > 0 {
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

// currentValue returns the measured value; nil if its type differs from that of the target.
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

// valueCell returns the cell of a metric with one value for all pods, or an average.
func valueCell(target *autoscalingv2.MetricTarget, current *autoscalingv2.MetricValueStatus) string {
	switch {
	case target.AverageValue == nil && current == nil:
		return table.CellUnknown + "/" + target.Value.String()
	case target.AverageValue == nil:
		return current.Value.String() + "/" + target.Value.String()
	case current == nil || current.AverageValue == nil:
		return table.CellUnknown + "/" + target.AverageValue.String() + " (avg)"
	}
	return averageCell(target, current) + " (avg)"
}

// averageCell returns the cell of a metric with a value for each pod.
func averageCell(target *autoscalingv2.MetricTarget, current *autoscalingv2.MetricValueStatus) string {
	if current == nil {
		return table.CellUnknown + "/" + target.AverageValue.String()
	}
	return current.AverageValue.String() + "/" + target.AverageValue.String()
}

// resourceCell returns the cell of a resource metric, as a quantity or as a percentage of
// the requests.
func resourceCell(target *autoscalingv2.MetricTarget, current *autoscalingv2.MetricValueStatus) string {
	if target.AverageValue != nil {
		return averageCell(target, current)
	}
	now, aim := table.CellUnknown, "<auto>"
	if current != nil && current.AverageUtilization != nil {
		now = percentText(*current.AverageUtilization)
	}
	if target.AverageUtilization != nil {
		aim = percentText(*target.AverageUtilization)
	}
	return now + "/" + aim
}

func percentText(n int32) string { return strconv.Itoa(int(n)) + "%" }
