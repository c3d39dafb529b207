package api

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
)

// defaultCPUUtilization is what is aimed at where no metric is given.
const defaultCPUUtilization = 80

// horizontalPodAutoscaler changes a number of replicas with their load.
func horizontalPodAutoscaler() *Resource {
	return &Resource{
		Name: "horizontalpodautoscalers", Singular: "horizontalpodautoscaler", Kind: "HorizontalPodAutoscaler",
		ShortNames: []string{"hpa"},
		Categories: []string{"all"},
		Namespaced: true,
		Versions: []Version{
			{GroupVersion: autoscalingv2.SchemeGroupVersion},
			{
				GroupVersion: autoscalingv1.SchemeGroupVersion,
				New:          func() Object { return &autoscalingv1.HorizontalPodAutoscaler{} },
				ToHub:        autoscalerFromV1, FromHub: autoscalerToV1,
			},
		},
		New:                  func() Object { return &autoscalingv2.HorizontalPodAutoscaler{} },
		Rows:                 &Table{Columns: autoscalerColumns, Cells: autoscalerCells},
		Prefix:               "horizontalpodautoscalers",
		ValidateCreate:       rulesOf(autoscalerRules),
		ValidateUpdate:       changesOf(autoscalerChanges),
		WholeUpdate:          true,
		ValidateStatusUpdate: changesOf(autoscalerStatusChanges),
		HasStatus:            true,
		Default:              defaultAutoscaler,
	}
}

func defaultAutoscaler(obj Object) {
	s := &obj.(*autoscalingv2.HorizontalPodAutoscaler).Spec
	setDefault(&s.MinReplicas, 1)
	if len(s.Metrics) == 0 {
		s.Metrics = []autoscalingv2.MetricSpec{cpuMetric(defaultCPUUtilization)}
	}
	if s.Behavior != nil {
		defaultBehavior(s.Behavior)
	}
}

// cpuMetric is the one metric that version 1 has a field for.
func cpuMetric(utilization int32) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{
		Type: autoscalingv2.ResourceMetricSourceType,
		Resource: &autoscalingv2.ResourceMetricSource{
			Name:   corev1.ResourceCPU,
			Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &utilization},
		},
	}
}
