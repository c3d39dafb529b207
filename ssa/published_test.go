package ssa

import (
	"reflect"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/kinds"
)

// fill sets every field of v, each type once per path.
func fill(v reflect.Value, on map[reflect.Type]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if on[v.Type().Elem()] {
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), on)
	case reflect.Struct:
		if on[v.Type()] || shapeOf(v.Type()) == shapeOwn {
			return
		}
		on[v.Type()] = true
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), on)
			}
		}
		delete(on, v.Type())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), on)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, on)
		fill(value, on)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint8:
		v.SetUint(1)
	}
}

// TestPublished compares the topologies of the published schemas with the ones in client-go, by the
// fields of an object with every field set.
func TestPublished(t *testing.T) {
	catalogue, err := api.New(kinds.All()...)
	if err != nil {
		t.Fatal(err)
	}
	_, carried := builtIn()
	for _, res := range catalogue.Resources() {
		for i := range res.Versions {
			version := &res.Versions[i]
			if version.NotServed || res.Virtual != nil || version.Group == "apiextensions.k8s.io" || version.Group == api.RegistrationGroup {
				continue // client-go does not contain types that other modules publish
			}
			obj := res.NewOf(version)
			fill(reflect.ValueOf(obj).Elem(), map[reflect.Type]bool{})
			var got []Set
			for _, schemas := range []Schemas{Published(catalogue), carried} {
				v, err := New(res, schemas, nil).view(version.GroupVersion)
				if err != nil || v == nil {
					t.Fatalf("%s %s: %v", version, res.Kind, err)
				}
				s, err := v.diff(v.empty, obj)
				if err != nil {
					t.Fatalf("%s %s: %v", version, res.Kind, err)
				}
				got = append(got, s)
			}
			if a, b := string(got[0].appendJSON(nil)), string(got[1].appendJSON(nil)); a != b {
				t.Errorf("%s %s: published\n%s\nclient-go\n%s", version, res.Kind, a, b)
			}
		}
	}
}

// scribble overwrites everything that v shares with other values: elements of slices and maps, and
// what pointers point to.
func scribble(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			scribble(v.Elem())
			v.Elem().SetZero()
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				scribble(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			scribble(v.Index(i))
			v.Index(i).SetZero()
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			element := reflect.New(v.Type().Elem()).Elem()
			element.Set(v.MapIndex(key))
			scribble(element)
			v.SetMapIndex(key, reflect.Value{})
		}
	}
}

// TestApplySharesNothing checks that an apply neither changes the live object nor returns one that
// shares memory with it, for objects with every field set.
func TestApplySharesNothing(t *testing.T) {
	catalogue, err := api.New(kinds.All()...)
	if err != nil {
		t.Fatal(err)
	}
	applied := 0
	for _, res := range catalogue.Resources() {
		if res.Virtual != nil || res.IsCustom() {
			continue
		}
		for i := range res.Versions {
			version := &res.Versions[i]
			live := res.New()
			fill(reflect.ValueOf(live).Elem(), map[reflect.Type]bool{})
			live.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
			live.SetManagedFields(nil)
			before := live.DeepCopyObject()
			obj, err := New(res, Published(catalogue), nil).Apply(live, map[string]any{
				"apiVersion": version.String(), "kind": res.Kind, "metadata": map[string]any{"labels": map[string]any{"added": "by apply"}},
			}, Write{Version: version, Manager: "applier", Force: true, Now: time.Unix(1, 0)})
			if err != nil {
				continue // some made-up objects cannot be converted or encoded
			}
			applied++
			scribble(reflect.ValueOf(obj).Elem())
			if !equality.Semantic.DeepEqual(live, before) {
				t.Errorf("%s %s: the live object has changed", version, res.Kind)
			}
		}
	}
	if applied < 40 {
		t.Errorf("only %d objects could be applied to", applied)
	}
}
