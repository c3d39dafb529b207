package bounds

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// list returns n items of a JSON list.
func list(n int, item string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
}

// TestInto checks that short items with large Go types are found wherever a type has them, and
// that as many items of a small type are accepted.
func TestInto(t *testing.T) {
	const many = 300_000
	definition := func(schema string) string {
		return `{"spec":{"versions":[{"schema":{"openAPIV3Schema":` + schema + `}}]}}`
	}
	for name, tt := range map[string]struct {
		text string
		into any
		good bool
	}{
		"containers":       {`{"spec":{"containers":` + list(many, `{}`) + `}}`, &corev1.Pod{}, false},
		"null":             {`{"spec":{"containers":` + list(many, `null`) + `}}`, &corev1.Pod{}, false},
		"spaces":           {`{"spec":{"containers" : ` + list(many, " {\n}") + `}}`, &corev1.Pod{}, false},
		"other case":       {`{"Spec":{"CONTAINERS":` + list(many, `{}`) + `}}`, &corev1.Pod{}, false},
		"inside a list":    {`{"spec":{"containers":[{},{"ports":` + list(2*many, `{}`) + `,"volumeMounts":` + list(many, `{}`) + `}]}}`, &corev1.Pod{}, false},
		"owners":           {`{"metadata":{"ownerReferences":` + list(3*many, `{}`) + `}}`, &corev1.Pod{}, false},
		"pointers":         {`{"spec":{"containers":` + list(many/3, `{"securityContext":{"seLinuxOptions":{}}}`) + `}}`, &corev1.Pod{}, false},
		"schemas":          {definition(`{"allOf":` + list(many, `{}`) + `}`), &apiextensionsv1.CustomResourceDefinition{}, false},
		"a map of schemas": {definition(`{"properties":{` + strings.Repeat(`"a":{},`, many) + `"b":{}}}`), &apiextensionsv1.CustomResourceDefinition{}, false},
		"a union":          {definition(`{"allOf":` + list(many/4, `{"items":{}}`) + `}`), &apiextensionsv1.CustomResourceDefinition{}, false},
		"a union of lists": {definition(`{"items":` + list(many, `{}`) + `}`), &apiextensionsv1.CustomResourceDefinition{}, false},
		"small items":      {`{"spec":{"containers":[{"args":` + list(many, `""`) + `,"env":` + list(many, `{}`) + `}]}}`, &corev1.Pod{}, true},
		"unknown fields":   {`{"spec":{"others":` + list(many, `{}`) + `}}`, &corev1.Pod{}, true},
		"raw":              {definition(`{"default":` + list(many, `{}`) + `}`), &apiextensionsv1.CustomResourceDefinition{}, true},
		"wrong types":      {`{"spec":{"containers":{"a":` + list(many, `{}`) + `}}}`, &corev1.Pod{}, true},
		"broken":           {`{"spec":{"containers":` + list(many/5, `{}`) + `}`, &corev1.Pod{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var limit *Error
			if err := JSONInto([]byte(tt.text), tt.into); (err == nil) != tt.good || err != nil && !errors.As(err, &limit) {
				t.Errorf("JSON: %v", err)
			}
			var content map[string]any
			if json.Unmarshal([]byte(tt.text), &content) != nil || strings.Contains(tt.text, `"a":{},"a"`) {
				return
			}
			if err := ContentInto(nil, content, func() any { return tt.into }); (err == nil) != tt.good {
				t.Errorf("content: %v", err)
			}
		})
	}
}

// TestProtoInto checks that short items with large Go types are found in messages.
func TestProtoInto(t *testing.T) {
	const many = 300_000
	schemas := map[string]apiextensionsv1.JSONSchemaProps{}
	for i := range many / 3 {
		schemas[string(rune(0x10000+i))] = apiextensionsv1.JSONSchemaProps{}
	}
	definition := &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
		{Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Properties: schemas}}}}}}
	for name, tt := range map[string]struct {
		object interface{ Marshal() ([]byte, error) }
		good   bool
	}{
		"containers":       {&corev1.Pod{Spec: corev1.PodSpec{Containers: make([]corev1.Container, many)}}, false},
		"owners":           {&corev1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: make([]metav1.OwnerReference, 3*many)}}, false},
		"a map of schemas": {definition, false},
		"small items":      {&corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Args: make([]string, many), Env: make([]corev1.EnvVar, many)}}}}, true},
		"bytes":            {&corev1.Secret{Data: map[string][]byte{"a": make([]byte, 1<<20)}}, true},
	} {
		message, err := tt.object.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		into := reflect.New(reflect.TypeOf(tt.object).Elem()).Interface()
		if err := ProtoInto(message, into); (err == nil) != tt.good {
			t.Errorf("%s: %v", name, err)
		}
		_ = ProtoInto(message[:len(message)-1], into) // a broken message ends the walk
	}
	// An item without content has two bytes.
	containers := []byte(strings.Repeat("\x12\x00", many))
	if spec := append(appendVarint([]byte{0x12}, uint64(len(containers))), containers...); ProtoInto(spec, &corev1.Pod{}) == nil {
		t.Error("containers without content")
	}
}

// TestMaxSize checks that no type is larger than the walk of memory assumes.
func TestMaxSize(t *testing.T) {
	for _, rt := range []reflect.Type{reflect.TypeFor[corev1.Pod](), reflect.TypeFor[apiextensionsv1.JSONSchemaProps](), reflect.TypeFor[corev1.Node]()} {
		if rt.Size() > maxSize {
			t.Errorf("%s: %d bytes", rt, rt.Size())
		}
	}
}

// FuzzInto checks that the walks end at the faults of any text.
func FuzzInto(f *testing.F) {
	f.Add([]byte(`{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"items":[{"a":{}}]}}}]}}`))
	f.Fuzz(func(_ *testing.T, data []byte) {
		if len(data) > 1000 || len(data) == 0 {
			return
		}
		for len(data) < maxDecoded/maxSize {
			data = append(data, data...)
		}
		_ = JSONInto(data, &apiextensionsv1.CustomResourceDefinition{})
		_ = ProtoInto(data, &apiextensionsv1.CustomResourceDefinition{})
	})
}
