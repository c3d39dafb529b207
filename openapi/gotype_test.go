package openapi

import (
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// wagon has a field of every kind that has a schema.
type wagon struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Text              string            `json:"text"`
	Count             *int32            `json:"count,omitempty"`
	Share             float64           `json:"share,omitzero"`
	Ready             bool              `json:"ready,omitempty"`
	Labels            map[string]string `json:"labels,omitempty"`
	Raw               []byte            `json:"raw,omitempty"`
	Axles             []axle            `json:"axles,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	Names             []string          `json:"names,omitempty"`
	Pod               corev1.PodSpec    `json:"pod,omitempty"`
	Hidden            chan int          `json:"-"`
}

type axle struct {
	Name string `json:"name"`
	Size int64  `json:"size,omitempty"`
}

func (axle) SwaggerDoc() map[string]string { return map[string]string{"size": "Size in mm."} }

func TestTypeDefinitions(t *testing.T) {
	kind := CustomKind{GroupVersionKind: schema.GroupVersionKind{Group: "rail.example.com", Version: "v1", Kind: "Wagon"}, ListKind: "WagonList", Plural: "wagons"}
	defs, err := TypeDefinitions(kind, reflect.TypeFor[wagon]())
	if err != nil {
		t.Fatal(err)
	}
	if len(defs) != 2 || defs[0].Name != "com.example.rail.v1.Wagon" || defs[1].Name != "com.example.rail.v1.WagonList" {
		t.Fatalf("got %d definitions: %+v", len(defs), defs)
	}
	for _, want := range []string{
		`"text":{"type":"string"}`, `"count":{"format":"int32","type":"integer"}`, `"share":{"format":"double","type":"number"}`,
		`"ready":{"type":"boolean"}`, `"labels":{"additionalProperties":{"type":"string"},"type":"object"}`,
		`"raw":{"format":"byte","type":"string"}`,
		`"names":{"items":{"type":"string"},"type":"array","x-kubernetes-list-type":"atomic"}`,
		`"size":{"description":"Size in mm.","format":"int64","type":"integer"}`,
		`"x-kubernetes-list-map-keys":["name"]`, `"x-kubernetes-patch-merge-key":"name"`,
		`"required":["text"]`, `"required":["name"]`,
		`"kind":{"description":"Kind is a string value`,
		`"pod":{"$ref":"#/components/schemas/io.k8s.api.core.v1.PodSpec"}`,
		`"metadata":{"allOf":[{"$ref":"#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}],"description":`,
	} {
		if !strings.Contains(string(defs[0].V3), want) {
			t.Errorf("%s is not in %s", want, defs[0].V3)
		}
	}
	if want := `"pod":{"$ref":"#/definitions/io.k8s.api.core.v1.PodSpec"}`; !strings.Contains(string(defs[0].V2), want) {
		t.Errorf("%s is not in %s", want, defs[0].V2)
	}
	for _, def := range defs {
		if _, err := Parser(def.Name, nil, defs...); err != nil {
			t.Error(err)
		}
	}
}

type endless struct {
	Next []endless `json:"next,omitempty"`
}

func TestTypesWithoutSchema(t *testing.T) {
	for want, rt := range map[string]reflect.Type{
		"next: the Go type openapi.endless contains itself": reflect.TypeFor[endless](),
		"any: no schema for the Go type interface {}": reflect.TypeFor[struct {
			Any any `json:"any"`
		}](),
	} {
		if _, err := TypeDefinitions(CustomKind{}, rt); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", rt, err, want)
		}
	}
}
