package gotypes

import (
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

type sample struct {
	corev1.ObjectReference `json:",inline"`
	Named                  string `json:"named,omitempty"`
	Hidden                 string `json:"-"`
	Untagged               string
}

func TestFields(t *testing.T) {
	var names []string
	for _, name := range Fields(reflect.TypeFor[sample]()) {
		names = append(names, name)
	}
	if want := []string{"", "named"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}

func TestElement(t *testing.T) {
	pod := reflect.TypeFor[corev1.Pod]()
	for _, of := range []reflect.Type{pod, reflect.TypeFor[*corev1.Pod](), reflect.TypeFor[map[string][]*[2]corev1.Pod]()} {
		if got := Element(of); got != pod {
			t.Errorf("%v: %v, want %v", of, got, pod)
		}
	}
	if got, want := Name(pod), "k8s.io/api/core/v1.Pod"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
