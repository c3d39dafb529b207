package validation

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
)

func TestInternalForm(t *testing.T) {
	one := intstr.FromInt32(1)
	for _, c := range []struct {
		value any
		want  string
	}{
		{"a", `"a"`},
		{(*int32)(nil), `null`},
		{new(int32(3)), `3`},
		{[]string{"a"}, `["a"]`},
		{corev1.ResourceList{"cpu": resource.MustParse("1")}, `{"cpu":"1"}`},
		{metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}, `{"matchLabels":{"a":"b"}}`},
		{appsv1.DeploymentStrategy{Type: "Slow"}, `{"Type":"Slow","RollingUpdate":null}`},
		{&appsv1.DaemonSetUpdateStrategy{Type: "Slow", RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxSurge: &one}},
			`{"Type":"Slow","RollingUpdate":{"MaxUnavailable":0,"MaxSurge":1}}`},
		{appsv1.RollingUpdateStatefulSetStrategy{}, `{"Partition":0,"MaxUnavailable":null}`},
		{flowcontrolv1.LimitedPriorityLevelConfiguration{},
			`{"NominalConcurrencyShares":0,"LimitResponse":{"Type":"","Queuing":null},"LendablePercent":null,"BorrowingLimitPercent":null}`},
		{corev1.PersistentVolumeClaim{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}, ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: corev1.PersistentVolumeClaimStatus{Phase: "Bound"}},
			`{"name":"a","Spec":{"AccessModes":null,"Selector":null,"Resources":{"Limits":null,"Requests":null},"VolumeName":"","StorageClassName":null,` +
				`"VolumeMode":null,"DataSource":null,"DataSourceRef":null,"VolumeAttributesClassName":null},` +
				`"Status":{"Phase":"Bound","AccessModes":null,"Capacity":null,"Conditions":null,"AllocatedResources":null,"AllocatedResourceStatuses":null,` +
				`"CurrentVolumeAttributesClassName":null,"ModifyVolumeStatus":null,"HealthStatus":null}}`},
		{admissionv1.NamedRuleWithOperations{ResourceNames: []string{"a"}},
			`{"ResourceNames":["a"],"RuleWithOperations":{"Operations":null,"APIGroups":null,"APIVersions":null,"Resources":null,"Scope":null}}`},
	} {
		got, err := json.Marshal(InternalForm(c.value))
		if err != nil || string(got) != c.want {
			t.Errorf("%#v\n got %s %v\nwant %s", c.value, got, err, c.want)
		}
	}
}

// TestInternalFormOfPod checks that the internal form of a pod has the order of the published type,
// which it has since Kubernetes 1.37.
func TestInternalFormOfPod(t *testing.T) {
	form, err := json.Marshal(InternalForm(corev1.PodSpec{
		HostNetwork: true, DeprecatedServiceAccount: "d",
		Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Quobyte: &corev1.QuobyteVolumeSource{Volume: "q"}}}},
	}))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		`"NodeName":"","HostNetwork":true,"HostPID":false,"HostIPC":false,"ShareProcessNamespace":null,"SecurityContext":null`,
		`"ServiceAccountName":"","DeprecatedServiceAccount":"d","AutomountServiceAccountToken"`, `"VsphereVolume":null,"Quobyte":{"Registry":"","Volume":"q",`, `{"Volumes":[{"Name":"v","HostPath":null,`,
	} {
		if !strings.Contains(string(form), part) {
			t.Errorf("no %s in %s", part, form)
		}
	}
}

// TestInternalShapes checks that every shape lists the fields of its type once, and omits only
// fields without an internal counterpart.
func TestInternalShapes(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var walk func(t reflect.Type, visit func(t reflect.Type))
	walk = func(t reflect.Type, visit func(t reflect.Type)) {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			walk(t.Elem(), visit)
		case reflect.Struct:
			if seen[t] {
				return
			}
			seen[t] = true
			visit(t)
			for i := range t.NumField() {
				walk(t.Field(i).Type, visit)
			}
		}
	}
	absent := map[reflect.Type]string{
		reflect.TypeFor[corev1.NodeSpec]():  "PodCIDR",
		reflect.TypeFor[corev1.PodStatus](): "PodIP",
	}
	found := 0
	for _, kind := range scheme.Scheme.AllKnownTypes() {
		walk(kind, func(typ reflect.Type) {
			shape := internalShape(typ)
			if shape == "" {
				return
			}
			found++
			names := strings.Fields(strings.ReplaceAll(shape, "!", ""))
			for _, name := range append(names, strings.Fields(absent[typ])...) {
				if _, ok := typ.FieldByName(name); !ok {
					t.Errorf("%v has no field %s", typ, name)
				}
			}
			if want := typ.NumField() - len(strings.Fields(absent[typ])); len(names) != want {
				t.Errorf("the shape of %v has %d fields, want %d", typ, len(names), want)
			}
		})
	}
	if found < 19 {
		t.Errorf("only %d shapes are in use", found)
	}
}
