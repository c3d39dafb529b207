package ssa

import (
	"reflect"
	"testing"
)

// TestIdentified checks that items which lost their keys by a removal count as removed.
func TestIdentified(t *testing.T) {
	_, schemas := builtIn()
	res := resource(t, "services")
	v, err := New(res, schemas, ResetsOf(res)).view(res.Versions[0].GroupVersion)
	if err != nil {
		t.Fatal(err)
	}
	service := func(ports ...any) map[string]any {
		return map[string]any{"spec": map[string]any{"type": "ClusterIP", "ports": ports}}
	}
	port := map[string]any{"port": int64(80), "protocol": "TCP"}
	for _, test := range []struct {
		name     string
		in, want map[string]any
		changed  bool
	}{
		{"all found", service(port), service(port), false},
		{"an item became null", service(port, nil), service(port), true},
		{"an item of nothing", service("x", port), service(port), true},
		{"no list", map[string]any{"spec": nil}, map[string]any{"spec": nil}, false},
	} {
		got, changed := v.root.identified(test.in)
		if changed != test.changed || !reflect.DeepEqual(got, any(test.want)) {
			t.Errorf("%s: got %v (changed %t), want %v", test.name, got, changed, test.want)
		}
		if _, err := v.root.fields(got); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}
