package kinds

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/autoscaling"
	"github.com/miniapiserver/miniapiserver/kinds/core"
)

// fill draws a value for v, which may have any type of the API.
func fill(t *rapid.T, v reflect.Value, path string) {
	switch x := v.Addr().Interface().(type) {
	case *metav1.Time:
		*x = metav1.Unix(rapid.Int64Range(0, 2e9).Draw(t, path), 0)
		return
	case *metav1.MicroTime:
		*x = metav1.MicroTime{Time: time.UnixMicro(rapid.Int64Range(0, 2e15).Draw(t, path))}
		return
	case *resource.Quantity:
		*x = *resource.NewMilliQuantity(rapid.Int64Range(1, 1e9).Draw(t, path), resource.DecimalSI)
		_ = x.String() // parsed quantities contain their text
		return
	case *[]metav1.ManagedFieldsEntry:
		return
	case *intstr.IntOrString:
		*x = intstr.FromInt32(rapid.Int32().Draw(t, path))
		return
	case *runtime.RawExtension:
		x.Raw = []byte(`{"a":1}`)
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(rapid.StringMatching(`[a-z]{0,8}`).Draw(t, path))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, path))
	case reflect.Int32, reflect.Int64:
		v.SetInt(int64(rapid.Int32().Draw(t, path)))
	case reflect.Pointer:
		if rapid.Bool().Draw(t, path+"?") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem(), path)
		}
	case reflect.Slice:
		if n := rapid.IntRange(0, 2).Draw(t, path+"#"); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				fill(t, v.Index(i), fmt.Sprint(path, i))
			}
		}
	case reflect.Map:
		if n := rapid.IntRange(0, 2).Draw(t, path+"#"); n > 0 {
			v.Set(reflect.MakeMap(v.Type()))
			for i := range n {
				value := reflect.New(v.Type().Elem()).Elem()
				fill(t, value, fmt.Sprint(path, i))
				v.SetMapIndex(reflect.ValueOf(fmt.Sprint("k", i)).Convert(v.Type().Key()), value)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Name != "TypeMeta" {
				fill(t, v.Field(i), path+"."+f.Name)
			}
		}
	}
}

func drawn[T any](t *rapid.T) *T {
	obj := new(T)
	fill(t, reflect.ValueOf(obj).Elem(), "")
	return obj
}

func same(t *rapid.T, got, want any) {
	t.Helper()
	if !equality.Semantic.DeepEqual(got, want) {
		t.Fatalf("\n got %+v\nwant %+v", got, want)
	}
}

func TestEventConversion(t *testing.T) {
	v := core.Event().Version(eventsv1.SchemeGroupVersion)
	rapid.Check(t, func(t *rapid.T) {
		e := drawn[eventsv1.Event](t)
		hub, err := v.ToHub(e)
		if err != nil {
			t.Fatal(err)
		}
		again, err := v.FromHub(hub)
		if err != nil {
			t.Fatal(err)
		}
		same(t, again, e)
	})
	rapid.Check(t, func(t *rapid.T) {
		e := drawn[corev1.Event](t)
		newer, err := v.FromHub(e)
		if err != nil {
			t.Fatal(err)
		}
		again, err := v.ToHub(newer)
		if err != nil {
			t.Fatal(err)
		}
		same(t, again, e)
	})
}

// target draws a valid metric target.
func target(t *rapid.T, kinds ...autoscalingv2.MetricTargetType) autoscalingv2.MetricTarget {
	q := drawn[resource.Quantity](t)
	switch kind := rapid.SampledFrom(kinds).Draw(t, "target"); kind {
	case autoscalingv2.UtilizationMetricType:
		return autoscalingv2.MetricTarget{Type: kind, AverageUtilization: new(rapid.Int32Range(1, 100).Draw(t, "utilization"))}
	case autoscalingv2.ValueMetricType:
		return autoscalingv2.MetricTarget{Type: kind, Value: q}
	default:
		return autoscalingv2.MetricTarget{Type: kind, AverageValue: q}
	}
}

func metric(t *rapid.T) autoscalingv2.MetricSpec {
	const value, average, utilization = autoscalingv2.ValueMetricType, autoscalingv2.AverageValueMetricType, autoscalingv2.UtilizationMetricType
	id := *drawn[autoscalingv2.MetricIdentifier](t)
	switch kind := rapid.SampledFrom([]autoscalingv2.MetricSourceType{"Object", "Pods", "Resource", "ContainerResource", "External"}).Draw(t, "kind"); kind {
	case "Object":
		return autoscalingv2.MetricSpec{Type: kind, Object: &autoscalingv2.ObjectMetricSource{
			DescribedObject: *drawn[autoscalingv2.CrossVersionObjectReference](t), Metric: id, Target: target(t, value, average)}}
	case "Pods":
		return autoscalingv2.MetricSpec{Type: kind, Pods: &autoscalingv2.PodsMetricSource{Metric: id, Target: target(t, average)}}
	case "ContainerResource":
		return autoscalingv2.MetricSpec{Type: kind, ContainerResource: &autoscalingv2.ContainerResourceMetricSource{
			Name: "cpu", Container: "c", Target: target(t, utilization, average)}}
	case "External":
		return autoscalingv2.MetricSpec{Type: kind, External: &autoscalingv2.ExternalMetricSource{Metric: id, Target: target(t, value, average)}}
	default:
		return autoscalingv2.MetricSpec{Type: kind, Resource: &autoscalingv2.ResourceMetricSource{
			Name: "memory", Target: target(t, utilization, average)}}
	}
}

func currentMetric(t *rapid.T) autoscalingv2.MetricStatus {
	id, q := *drawn[autoscalingv2.MetricIdentifier](t), drawn[resource.Quantity](t)
	value := autoscalingv2.MetricValueStatus{Value: q}
	average := autoscalingv2.MetricValueStatus{AverageValue: q, AverageUtilization: new(int32(7))}
	switch kind := rapid.SampledFrom([]autoscalingv2.MetricSourceType{"Object", "Pods", "Resource", "ContainerResource", "External"}).Draw(t, "kind"); kind {
	case "Object":
		return autoscalingv2.MetricStatus{Type: kind, Object: &autoscalingv2.ObjectMetricStatus{Metric: id, Current: value}}
	case "Pods":
		return autoscalingv2.MetricStatus{Type: kind, Pods: &autoscalingv2.PodsMetricStatus{
			Metric: id, Current: autoscalingv2.MetricValueStatus{AverageValue: q}}}
	case "ContainerResource":
		return autoscalingv2.MetricStatus{Type: kind, ContainerResource: &autoscalingv2.ContainerResourceMetricStatus{Name: "cpu", Container: "c", Current: average}}
	case "External":
		return autoscalingv2.MetricStatus{Type: kind, External: &autoscalingv2.ExternalMetricStatus{Metric: id, Current: value}}
	default:
		return autoscalingv2.MetricStatus{Type: kind, Resource: &autoscalingv2.ResourceMetricStatus{Name: "cpu", Current: average}}
	}
}

func TestAutoscalerConversion(t *testing.T) {
	v := autoscaling.HorizontalPodAutoscaler(features.Default()).Version(autoscalingv1.SchemeGroupVersion)
	rapid.Check(t, func(t *rapid.T) {
		hub := drawn[autoscalingv2.HorizontalPodAutoscaler](t)
		hub.Spec.Metrics = rapid.SliceOfN(rapid.Custom(metric), 0, 3).Draw(t, "metrics")
		if rapid.Bool().Draw(t, "cpu") {
			hub.Spec.Metrics = append(hub.Spec.Metrics, autoscalingv2.MetricSpec{Type: "Resource", Resource: &autoscalingv2.ResourceMetricSource{
				Name: "cpu", Target: autoscalingv2.MetricTarget{Type: "Utilization", AverageUtilization: new(int32(50))}}})
		}
		if len(hub.Spec.Metrics) == 0 {
			hub.Spec.Metrics = nil // v1 has a default in their place
		}
		hub.Status.CurrentMetrics = rapid.SliceOfN(rapid.Custom(currentMetric), 0, 3).Draw(t, "current")
		before := hub.DeepCopy()
		v1, err := v.FromHub(hub)
		if err != nil {
			t.Fatal(err)
		}
		same(t, hub, before)
		again, err := v.ToHub(v1)
		if err != nil {
			t.Fatal(err)
		}
		if hub.Spec.Metrics == nil {
			hub.Spec.Metrics = []autoscalingv2.MetricSpec{{Type: "Resource", Resource: &autoscalingv2.ResourceMetricSource{
				Name: "cpu", Target: autoscalingv2.MetricTarget{Type: "Utilization", AverageUtilization: new(int32(80))}}}}
		}
		if b := hub.Spec.Behavior; b != nil && *b == (autoscalingv2.HorizontalPodAutoscalerBehavior{}) {
			hub.Spec.Behavior = nil // an empty annotation means nothing
		}
		same(t, again, hub)
	})
}
