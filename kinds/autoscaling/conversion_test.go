package autoscaling_test

import (
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/autoscaling"
)

// TestAutoscalerLoss checks what does not survive a conversion to v1: kube-apiserver writes no second
// target of CPU utilization, and takes the last utilization that is known.
func TestAutoscalerLoss(t *testing.T) {
	v := autoscaling.HorizontalPodAutoscaler(features.Default()).Version(autoscalingv1.SchemeGroupVersion)
	cpu := func(n int32) autoscalingv2.MetricSpec {
		return autoscalingv2.MetricSpec{Type: "Resource", Resource: &autoscalingv2.ResourceMetricSource{
			Name: "cpu", Target: autoscalingv2.MetricTarget{Type: "Utilization", AverageUtilization: &n}}}
	}
	measured := func(n *int32) autoscalingv2.MetricStatus {
		return autoscalingv2.MetricStatus{Type: "Resource", Resource: &autoscalingv2.ResourceMetricStatus{
			Name: "cpu", Current: autoscalingv2.MetricValueStatus{AverageUtilization: n}}}
	}
	hub := &autoscalingv2.HorizontalPodAutoscaler{}
	hub.Spec.Metrics = []autoscalingv2.MetricSpec{cpu(60), cpu(50)}
	hub.Status.CurrentMetrics = []autoscalingv2.MetricStatus{measured(new(int32(7))), measured(nil)}
	obj, err := v.FromHub(hub)
	if err != nil {
		t.Fatal(err)
	}
	v1 := obj.(*autoscalingv1.HorizontalPodAutoscaler)
	if n := v1.Spec.TargetCPUUtilizationPercentage; *n != 60 {
		t.Errorf("target CPU utilization %d", *n)
	}
	if n := v1.Status.CurrentCPUUtilizationPercentage; n == nil || *n != 7 {
		t.Errorf("CPU utilization %v", n)
	}
	if text, ok := v1.Annotations["autoscaling.alpha.kubernetes.io/metrics"]; ok {
		t.Errorf("annotation %s", text)
	}
}

// TestAutoscalerDefaults checks that the default of the behavior is one of v2 only, and that v2 drops
// the annotations of v1.
func TestAutoscalerDefaults(t *testing.T) {
	res := autoscaling.HorizontalPodAutoscaler(features.Default())
	in := &autoscalingv1.HorizontalPodAutoscaler{}
	in.Annotations = map[string]string{"autoscaling.alpha.kubernetes.io/behavior": `{"ScaleDown":{"StabilizationWindowSeconds":5}}`}
	obj, err := res.Decoded(res.Version(autoscalingv1.SchemeGroupVersion), in)
	if err != nil {
		t.Fatal(err)
	}
	hub := obj.(*autoscalingv2.HorizontalPodAutoscaler)
	if b := hub.Spec.Behavior; *hub.Spec.MinReplicas != 1 || b.ScaleUp != nil || b.ScaleDown.Policies != nil {
		t.Errorf("from v1: %+v", hub.Spec)
	}
	hub.Annotations = map[string]string{"autoscaling.alpha.kubernetes.io/scale-up-tolerance": "1", "mine": "stays"}
	if _, err := res.Decoded(res.Version(autoscalingv2.SchemeGroupVersion), hub); err != nil {
		t.Fatal(err)
	}
	if b := hub.Spec.Behavior; b.ScaleUp == nil || b.ScaleDown.Policies == nil || len(hub.Annotations) != 1 {
		t.Errorf("from v2: behavior %+v, annotations %v", b, hub.Annotations)
	}
}

// TestAutoscalerAnnotations checks the conversion of annotations that kube-apiserver wrote,
// and of invalid ones that a user wrote.
func TestAutoscalerAnnotations(t *testing.T) {
	const (
		behaviorAnnotation   = "autoscaling.alpha.kubernetes.io/behavior"
		metricsAnnotation    = "autoscaling.alpha.kubernetes.io/metrics"
		conditionsAnnotation = "autoscaling.alpha.kubernetes.io/conditions"
	)
	v := autoscaling.HorizontalPodAutoscaler(features.Default()).Version(autoscalingv1.SchemeGroupVersion)
	in := &autoscalingv1.HorizontalPodAutoscaler{}
	in.Annotations = map[string]string{
		"mine":               "stays",
		behaviorAnnotation:   `{"ScaleUp":{"StabilizationWindowSeconds":0,"SelectPolicy":"Max","Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":15}],"Tolerance":null},"ScaleDown":null}`,
		metricsAnnotation:    `[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1Gi"}}]`,
		conditionsAnnotation: `{"not":"a list"}`,
	}
	obj, err := v.ToHub(in)
	if err != nil {
		t.Fatal(err)
	}
	hub := obj.(*autoscalingv2.HorizontalPodAutoscaler)
	if up := hub.Spec.Behavior.ScaleUp; *up.StabilizationWindowSeconds != 0 || *up.SelectPolicy != "Max" || up.Policies[0].Value != 4 {
		t.Errorf("scale up: %+v", up)
	}
	if m := hub.Spec.Metrics; len(m) != 1 || m[0].Resource.Target.AverageValue.String() != "1Gi" {
		t.Errorf("metrics: %+v", m)
	}
	if len(hub.Status.Conditions) != 0 || len(hub.Annotations) != 1 {
		t.Errorf("conditions %v, annotations %v", hub.Status.Conditions, hub.Annotations)
	}
	v1, err := v.FromHub(hub)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []string{"mine", behaviorAnnotation, metricsAnnotation} {
		if got, want := v1.GetAnnotations()[a], in.Annotations[a]; got != want {
			t.Errorf("%s:\n got %s\nwant %s", a, got, want)
		}
	}
}
