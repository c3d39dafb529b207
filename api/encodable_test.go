package api

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/miniapiserver/miniapiserver/internal/filler"
)

// resourceOf returns a resource whose objects have the type of obj.
func resourceOf(obj Object) *Resource {
	elem := reflect.TypeOf(obj).Elem()
	return &Resource{New: func() Object { return reflect.New(elem).Interface().(Object) }}
}

func TestEncodeFaults(t *testing.T) {
	late := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	early := time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)
	pod := func(change func(*corev1.Pod)) Object {
		p := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{}, {}}}}
		change(p)
		return p
	}
	probe := func(port intstr.IntOrString) *corev1.Probe {
		return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: port}}}
	}
	schema := func(p apiextensionsv1.JSONSchemaProps) Object {
		return &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Schema: &apiextensionsv1.CustomResourceValidation{
				OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Properties: map[string]apiextensionsv1.JSONSchemaProps{"a": p}}}}}}}
	}
	nan := math.NaN()
	for name, c := range map[string]struct {
		resource string
		obj      Object
		want     string
	}{
		"nothing":      {"pods", pod(func(*corev1.Pod) {}), ""},
		"late":         {"pods", pod(func(p *corev1.Pod) { p.Status.StartTime = &metav1.Time{Time: late} }), `status.startTime: Invalid value: "10000-01-01 00:00:00 +0000 UTC": must be a time of the years 0 to 9999`},
		"early":        {"leases", &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{RenewTime: &metav1.MicroTime{Time: early}}}, `spec.renewTime: Invalid value: "-0001-01-01 00:00:00 +0000 UTC": must be a time of the years 0 to 9999`},
		"port":         {"pods", pod(func(p *corev1.Pod) { p.Spec.Containers[1].LivenessProbe = probe(intstr.IntOrString{Type: 7}) }), `spec.containers[1].livenessProbe.httpGet.port: Invalid value: 7: must be an integer or a string`},
		"good port":    {"pods", pod(func(p *corev1.Pod) { p.Spec.Containers[1].LivenessProbe = probe(intstr.FromString("x")) }), ""},
		"not JSON":     {"controllerrevisions", &appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: []byte(`{"a":`)}}, `data: Invalid value: "<value omitted>": error parsing data as JSON: unexpected end of JSON input`},
		"not UTF-8":    {"controllerrevisions", &appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: []byte("{\"a\":\"\xff\"}")}}, `data: Invalid value: "<value omitted>": must be UTF-8`},
		"empty":        {"controllerrevisions", &appsv1.ControllerRevision{}, ""},
		"fields":       {"configmaps", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{FieldsV1: &metav1.FieldsV1{Raw: []byte("x")}}}}}, `metadata.managedFields[0].fieldsV1: Invalid value: "<value omitted>": error parsing data as JSON: invalid character 'x' looking for beginning of value`},
		"no number":    {"customresourcedefinitions", schema(apiextensionsv1.JSONSchemaProps{Maximum: &nan}), `spec.versions[0].schema.openAPIV3Schema.properties[a].maximum: Invalid value: "NaN": must be a finite number`},
		"default":      {"customresourcedefinitions", schema(apiextensionsv1.JSONSchemaProps{Default: &apiextensionsv1.JSON{Raw: []byte("]")}}), `spec.versions[0].schema.openAPIV3Schema.properties[a].default: Invalid value: "<value omitted>": error parsing data as JSON: invalid character ']' looking for beginning of value`},
		"good default": {"customresourcedefinitions", schema(apiextensionsv1.JSONSchemaProps{Default: &apiextensionsv1.JSON{Raw: []byte("1")}}), ""},
	} {
		got := ""
		if errs := resourceOf(c.obj).EncodeFaults()(c.obj); len(errs) > 0 {
			got = errs.ToAggregate().Error()
		}
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

// TestEncodable checks that random objects of every kind can be encoded.
func TestEncodable(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, kind := range scheme.Scheme.AllKnownTypes() {
		example, ok := reflect.New(kind).Interface().(Object)
		if !ok {
			continue
		}
		r := resourceOf(example)
		faults := r.EncodeFaults()
		for range 50 {
			obj := r.New()
			filler.Fill(random, reflect.ValueOf(obj).Elem())
			errs := faults(obj)
			for _, err := range errs {
				if err.Detail != "must be UTF-8" && err.BadValue != "<value omitted>" { // raw values that the filler does not make JSON
					t.Errorf("%s: %v", kind, err)
				}
			}
		}
	}
}

func BenchmarkEncodeFaults(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, example := range map[string]Object{"configmaps": &corev1.ConfigMap{}, "pods": &corev1.Pod{}} {
		r := resourceOf(example)
		obj := r.New()
		filler.Fill(random, reflect.ValueOf(obj).Elem())
		obj.SetManagedFields(nil)
		faults := r.EncodeFaults()
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				faults(obj)
			}
		})
	}
}
