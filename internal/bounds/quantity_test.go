package bounds

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestQuantity checks which quantities are accepted.
func TestQuantity(t *testing.T) {
	for text, good := range map[string]bool{
		"": true, "1": true, "1.5Gi": true, "1E": true, "1e3": true, "-1e-3": true, "1e999": true, "1E-999": true, "nonsense": true, "1e": true, "1e+-3": true,
		"1e1000": false, "1e-1000": false, "1E+2147483648": false, "1e-2147483648": false, "1e99999999999999999999999": false,
		strings.Repeat("1", maxQuantityText): true, strings.Repeat("1", maxQuantityText+1): false,
	} {
		if err := Quantity(text); (err == nil) != good {
			t.Errorf("%.40s: %v", text, err)
		}
		if good {
			_, _ = resource.ParseQuantity(text) // it ends
		}
	}
}

// TestQuantities checks that an expensive quantity is found wherever a type has one, and
// that the same text elsewhere is accepted.
func TestQuantities(t *testing.T) {
	for _, q := range []string{`"1e-2147483648"`, `1e-2147483648`, `" 1E+2147483648"`, `"` + strings.Repeat("9", 2000) + `"`} {
		for _, tt := range []struct {
			text string
			into any
			good bool
		}{
			{`{"spec":{"containers":[{"resources":{"limits":{"cpu":` + q + `}}}]}}`, &corev1.Pod{}, false},
			{`{"SPEC":{"containers":[{},{"resources":{"limits":{"a":"1","cpu":` + q + `,"cpu":1}}}]}}`, &corev1.Pod{}, false},
			{`{"spec":{"volumes":[{"emptyDir":{"sizeLimit":` + q + `}}]}}`, &corev1.Pod{}, false},
			{`{"spec":{"hard":{"pods":` + q + `}}}`, &corev1.ResourceQuota{}, false},
			{`{"spec":{"limits":[{"max":{"pods":` + q + `}}]}}`, &corev1.LimitRange{}, false},
			{`{"spec":{"metrics":[{"pods":{"target":{"averageValue":` + q + `}}}]}}`, &autoscalingv2.HorizontalPodAutoscaler{}, false},
			{`{"status":{"capacity":{"cpu":` + q + `}}}`, &corev1.Node{}, false},
			{`{"data":{"cpu":` + q + `}}`, &corev1.ConfigMap{}, true},
			{`{"metadata":{"annotations":{"cpu":` + q + `}},"spec":{"containers":[{"image":` + q + `}],"other":{"cpu":` + q + `}}}`, &corev1.Pod{}, true},
		} {
			if err := quantities([]byte(tt.text), tt.into); (err == nil) != tt.good {
				t.Errorf("%.100s: %v", tt.text, err)
			}
			var content map[string]any
			if json.Unmarshal([]byte(tt.text), &content) != nil || strings.HasPrefix(q, "1e") || strings.Contains(tt.text, "SPEC") {
				continue // as a number in a map it has been parsed
			}
			if err := ContentInto([]byte(strings.ReplaceAll(tt.text, "2147483648", `2147\u003483648`)), content, func() any { return tt.into }); (err == nil) != tt.good {
				t.Errorf("merged %.100s: %v", tt.text, err)
			}
		}
	}
}

// TestQuantitiesOfBrokenText checks that the walk ends at an error in the text.
func TestQuantitiesOfBrokenText(t *testing.T) {
	for _, text := range []string{`[=b{0E0000`, `{"a":1e5000`, `{1e5000:`, `{"a" 1e5000}`, `[1e5000,}`, `{"a":[1e5000}`, "[\x00 1e5000"} {
		if err := quantities([]byte(text), &corev1.ResourceQuota{}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestProtoQuantities checks that expensive quantities are found in messages.
func TestProtoQuantities(t *testing.T) {
	// A message contains the text of a quantity, so that another text of the same length
	// can replace it.
	place := resource.MustParse("111111111")
	bad := func(m interface{ Marshal() ([]byte, error) }) []byte {
		data, err := m.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		return []byte(strings.ReplaceAll(string(data), "111111111", "1e-999999"))
	}
	list := corev1.ResourceList{"cpu": place}
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{}, {Resources: corev1.ResourceRequirements{Limits: list}}}}}
	volume := &corev1.Pod{Spec: corev1.PodSpec{Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &place}}}}}}
	for i, tt := range []struct {
		message []byte
		into    any
		good    bool
	}{
		{bad(pod), &corev1.Pod{}, false},
		{bad(volume), &corev1.Pod{}, false},
		{bad(&corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Hard: list}}), &corev1.ResourceQuota{}, false},
		{bad(&corev1.ConfigMap{Data: map[string]string{"111111111": "111111111"}}), &corev1.ConfigMap{}, true},
		{bad(&corev1.Pod{Spec: corev1.PodSpec{NodeName: "111111111", ImagePullSecrets: []corev1.LocalObjectReference{{Name: "111111111"}}}}), &corev1.Pod{}, true},
	} {
		if err := protoQuantities(tt.message, tt.into); (err == nil) != tt.good {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// FuzzQuantities checks that a text that passes the check is decoded quickly.
func FuzzQuantities(f *testing.F) {
	f.Add(`{"spec":{"hard":{"pods":"1e-2147483648"}}}`)
	f.Add(`{"spec":{"hard":{"pods":1E+99999},"x":[{"y":"1.5e9"}]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		q := &corev1.ResourceQuota{}
		if len(text) > 5000 || JSON([]byte(text)) != nil || quantities([]byte(text), q) != nil {
			return
		}
		began := time.Now()
		_ = json.Unmarshal([]byte(text), q)
		if took := time.Since(began); took > time.Second {
			t.Errorf("%q took %s", text, took)
		}
	})
}

func BenchmarkStrangeNumber(b *testing.B) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: make([]corev1.Container, 10)}}
	text, err := json.Marshal(pod)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if strangeNumber(text, true) {
			b.Fatal("strange")
		}
	}
}

// TestRecursiveTypes checks that a type holds a quantity if it does so only through a type that holds it in turn.
func TestRecursiveTypes(t *testing.T) {
	type outer struct {
		Inner    *struct{ Outer []*outer }
		Quantity resource.Quantity
	}
	type endless struct{ Inner []endless }
	for rt, want := range map[reflect.Type]bool{
		reflect.TypeFor[outer](): true, reflect.TypeFor[outer]().Field(0).Type: true, reflect.TypeFor[endless](): false,
	} {
		for range 2 {
			if holdsQuantity(rt) != want {
				t.Errorf("%v holds a quantity: %t", rt, !want)
			}
		}
	}
}

// BenchmarkProtoQuantities checks a pod with a digest that looks like a number.
func BenchmarkProtoQuantities(b *testing.B) {
	list := corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("1Gi")}
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: "image@sha256:1e98765",
		Resources: corev1.ResourceRequirements{Limits: list, Requests: list}}}}}
	message, err := pod.Marshal()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := protoQuantities(message, pod); err != nil {
			b.Fatal(err)
		}
	}
}
