package since

import (
	"reflect"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/miniapiserver/miniapiserver/internal/gotype"
	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
)

func release(t *testing.T, minor int) *Release {
	t.Helper()
	r, err := New(kubeversion.Minor{Major: 1, Minor: minor})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestNewestReleaseHasNothingToOmit(t *testing.T) {
	if r := release(t, kubeversion.Binary().Minor); r != nil {
		t.Errorf("%+v", r)
	}
}

func podWithNewerFields() *corev1.Pod {
	return &corev1.Pod{Spec: corev1.PodSpec{
		EvictionResponders: []corev1.EvictionResponder{{}},
		Volumes: []corev1.Volume{
			{Name: "a"},
			{Name: "b", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Mode: new(int32(0o700))}}},
		},
		Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}, {Operator: "Gt"}},
	}}
}

func TestOmit(t *testing.T) {
	for _, c := range []struct {
		minor int
		want  []string
	}{
		{34, []string{"spec.volumes[1].emptyDir.mode", "spec.evictionResponders"}},
		{36, []string{"spec.volumes[1].emptyDir.mode", "spec.evictionResponders"}},
	} {
		pod := podWithNewerFields()
		if got := release(t, c.minor).Omit(pod); !slices.Equal(got, c.want) {
			t.Errorf("1.%d: omitted %v, want %v", c.minor, got, c.want)
		}
		if pod.Spec.EvictionResponders != nil || pod.Spec.Volumes[1].EmptyDir.Mode != nil {
			t.Errorf("1.%d: %+v", c.minor, pod.Spec)
		}
		if again := release(t, c.minor).Omit(pod); len(again) > 0 {
			t.Errorf("1.%d: omitted again: %v", c.minor, again)
		}
	}
}

// TestOmitInMaps checks values of a map, which are replaced.
func TestOmitInMaps(t *testing.T) {
	slice := &resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{Devices: []resourcev1.Device{{
		Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"n": {IntValue: new(int64(1)), IntValues: []int64{1}}},
	}}}}
	if got, want := release(t, 35).Omit(slice), []string{"spec.devices[0].attributes[n].ints"}; !slices.Equal(got, want) {
		t.Errorf("omitted %v, want %v", got, want)
	}
	if a := slice.Spec.Devices[0].Attributes["n"]; a.IntValue == nil || a.IntValues != nil {
		t.Errorf("%+v", a)
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		minor int
		obj   any
		want  string // empty if all values are supported
	}{
		{34, podWithNewerFields(), `spec.tolerations[1].operator: Unsupported value: "Gt": supported values: "Equal", "Exists"`},
		{35, podWithNewerFields(), ""},
		{36, &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: "Recreate"}}},
			`spec.updateStrategy.type: Unsupported value: "Recreate": supported values: "OnDelete", "RollingUpdate"`},
		{36, &appsv1.StatefulSet{}, ""},
	} {
		got := ""
		if err := release(t, c.minor).Validate(c.obj).ToAggregate(); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("1.%d: got %s, want %s", c.minor, got, c.want)
		}
	}
}

// TestDifferences checks that the data name fields that the Go types have.
func TestDifferences(t *testing.T) {
	found := release(t, 34).Differences(reflect.TypeFor[corev1.Pod]())
	for rt, d := range found {
		have := map[string]bool{}
		for _, f := range gotype.Fields(rt) {
			have[f.Name] = true
		}
		for _, name := range d.Fields {
			if !have[name] {
				t.Errorf("%v has no field %s", rt, name)
			}
		}
	}
	if got := found[reflect.TypeFor[corev1.EmptyDirVolumeSource]()].Fields; !slices.Equal(got, []string{"mode"}) {
		t.Errorf("newer fields of an emptyDir: %v", got)
	}
	if got := found[reflect.TypeFor[corev1.Toleration]()].Values["operator"]; !slices.Equal(got, []string{"Gt", "Lt"}) {
		t.Errorf("newer operators of a toleration: %v", got)
	}
}

// TestRecursiveTypes checks that types that contain themselves have walks.
func TestRecursiveTypes(t *testing.T) {
	r := release(t, 34)
	schema := apiextensionsv1.JSONSchemaProps{Properties: map[string]apiextensionsv1.JSONSchemaProps{"a": {}}}
	if got := r.Omit(&schema); len(got) > 0 {
		t.Errorf("omitted %v", got)
	}
}

func BenchmarkOmit(b *testing.B) {
	r, err := New(kubeversion.Minor{Major: 1, Minor: 34})
	if err != nil {
		b.Fatal(err)
	}
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: make([]corev1.Container, 3), Volumes: make([]corev1.Volume, 3)}}
	b.ReportAllocs()
	for b.Loop() {
		r.Omit(pod)
	}
}
