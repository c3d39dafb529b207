package ssa

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"pgregory.net/rapid"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
)

// widgets is a custom resource of two versions, which have different names for one field.
func widgets() *api.Resource {
	gv := schema.GroupVersion{Group: "example.com", Version: "v1"}
	beta := schema.GroupVersion{Group: "example.com", Version: "v1beta1"}
	res := &api.Resource{
		AnyKind: api.AnyKind{
			Names: api.Names{Name: "widgets", Singular: "widget", Kind: "Widget"},
			Versions: []api.Version{
				{GroupVersion: gv},
				{
					GroupVersion: beta, New: func() api.Object { return unstructuredOf(nil) },
					ToHub: renaming(gv, "length", "size"), FromHub: renaming(beta, "size", "length"),
				},
			},
			Storage: api.Storage{Prefix: "example.com/widgets"},
			Status:  &api.Field{Name: "status"},
		},
		New:    func() api.Object { return unstructuredOf(nil) },
		Custom: &api.Custom{},
	}
	for _, v := range res.Versions {
		form := api.AnyKind{Names: res.Names, Versions: []api.Version{v}, Status: res.Status}
		res.Custom.Forms = append(res.Custom.Forms, &api.Resource{AnyKind: form, Custom: &api.Custom{}})
	}
	return res
}

func renaming(gv schema.GroupVersion, from, to string) func(api.Object) (api.Object, error) {
	return func(obj api.Object) (api.Object, error) {
		u := obj.DeepCopyObject().(*untyped.Object)
		u.SetGroupVersionKind(gv.WithKind("Widget"))
		if spec, ok := u.Object["spec"].(map[string]any); ok {
			if v, ok := spec[from]; ok {
				delete(spec, from)
				spec[to] = v
			}
		}
		return u, nil
	}
}

const widgetSchema = `
types:
- name: v1
  map:
    fields: &top
    - {name: apiVersion, type: {scalar: string}}
    - {name: kind, type: {scalar: string}}
    - {name: metadata, type: {namedType: meta}}
    - {name: spec, type: {namedType: spec}}
    - {name: status, type: {namedType: deduced}}
- name: v1beta1
  map:
    fields: *top
- name: deduced
  scalar: untyped
  list: {elementType: {namedType: atomic}, elementRelationship: atomic}
  map: {elementType: {namedType: deduced}, elementRelationship: separable}
- name: atomic
  scalar: untyped
  list: {elementType: {namedType: atomic}, elementRelationship: atomic}
  map: {elementType: {namedType: atomic}, elementRelationship: atomic}
- name: meta
  map:
    elementType: {namedType: deduced}
    fields:
    - {name: name, type: {scalar: string}}
    - {name: labels, type: {map: {elementType: {scalar: string}}}}
    - {name: finalizers, type: {list: {elementType: {scalar: string}, elementRelationship: associative}}}
    - {name: ownerReferences, type: {list: {elementType: {namedType: deduced}, elementRelationship: associative, keys: [uid]}}}
- name: spec
  map:
    fields:
    - {name: size, type: {scalar: numeric}}
    - {name: length, type: {scalar: numeric}}
    - {name: any, type: {namedType: deduced}}
    - {name: whole, type: {map: {elementType: {scalar: untyped}, elementRelationship: atomic}}}
    - {name: numbers, type: {list: {elementType: {scalar: numeric}, elementRelationship: associative}}}
    - name: parts
      type:
        nullable: true
        list:
          elementRelationship: associative
          keys: [kind, id]
          elementType: {namedType: part}
- name: part
  map:
    fields:
    - {name: id, type: {scalar: numeric}}
    - {name: kind, type: {scalar: string}, default: plain}
    - {name: color, type: {scalar: string}}
    - {name: parts, type: {map: {elementType: {namedType: part}}}}
`

// widgetTypes is a TypeConverter and Schemas of the widgets.
type widgetTypes struct{ parser *typed.Parser }

func (w widgetTypes) schemas(gvk schema.GroupVersionKind) (typed.ParseableType, bool) {
	t := w.parser.Type(gvk.Version)
	return t, t.IsValid()
}

func (w widgetTypes) ObjectToTyped(obj runtime.Object, o ...typed.ValidationOptions) (*typed.TypedValue, error) {
	t, _ := w.schemas(obj.GetObjectKind().GroupVersionKind())
	return t.FromUnstructured(toCatalogue(obj).(*untyped.Object).Object, o...)
}

func (w widgetTypes) TypedToObject(v *typed.TypedValue) (runtime.Object, error) {
	return unstructuredOf(v.AsValue().Unstructured().(map[string]any)), nil
}

func part(key map[string]any) generator {
	return keyed(key, map[string]generator{
		"color": oneOf("red", "blue", nil),
		"parts": object(map[string]generator{"a": keyed(nil, map[string]generator{"id": oneOf(1.0, 2.0)}), "b": oneOf(map[string]any{}, nil)}),
	})
}

func widgetDoc(beta bool) map[string]generator {
	size := "size"
	if beta {
		size = "length"
	}
	return map[string]generator{
		"spec": object(map[string]generator{
			// Some values are of other types than the schema has.
			size:      oneOf(1.0, 2.0, 2.5, nil, 1.0, 2.0, 2.5, nil, "x"),
			"any":     oneOf("s", 1.0, true, nil, map[string]any{"a": 1.0}, map[string]any{"a": map[string]any{"b": 1.0}}, map[string]any{}, []any{}, []any{1.0, "x"}),
			"whole":   oneOf(map[string]any{"a": 1.0}, map[string]any{"b": 1.0}, map[string]any{}, nil, map[string]any{"a": 1.0}, map[string]any{"a": []any{}}),
			"numbers": listOf(oneOf(1.0), oneOf(10.0), oneOf(9.0), oneOf(0.5)),
			"parts": listOf(part(map[string]any{"id": 1.0}), part(map[string]any{"id": 10.0, "kind": "plain"}),
				part(map[string]any{"id": 9.0, "kind": "x"}), part(map[string]any{"kind": "y"})),
		}),
		"status": oneOf(map[string]any{"a": 1.0}, map[string]any{"a": "b", "c": []any{map[string]any{}}}, map[string]any{}),
	}
}

// changedSchema returns widgetSchema with atomic values changed to granular ones and vice versa.
func changedSchema() string {
	return strings.NewReplacer(
		"name: whole, type: {map: {elementType: {scalar: untyped}, elementRelationship: atomic}}", "name: whole, type: {map: {elementType: {scalar: untyped}}}",
		"elementRelationship: associative\n          keys: [kind, id]", "elementRelationship: atomic",
		"name: labels, type: {map: {elementType: {scalar: string}}}", "name: labels, type: {map: {elementType: {scalar: string}, elementRelationship: atomic}}",
	).Replace(widgetSchema)
}

func widgetParser(t *testing.T, schema string) widgetTypes {
	t.Helper()
	parser, err := typed.NewParser(typed.YAMLObject(schema))
	if err != nil {
		t.Fatal(err)
	}
	return widgetTypes{parser}
}

func TestCustomHistories(t *testing.T) {
	declared, changed := widgetParser(t, widgetSchema), widgetParser(t, changedSchema())
	deduced := func(schema.GroupVersionKind) (typed.ParseableType, bool) { return typed.DeducedParseableType, true }
	for _, kind := range []struct {
		name      string
		converter managedfields.TypeConverter
		schemas   Schemas
	}{
		{"declared", declared, declared.schemas},
		{"deduced", managedfields.NewDeducedTypeConverter(), deduced},
	} {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			res := widgets()
			if _, err := api.New(res); err != nil {
				t.Fatal(err)
			}
			resets := Resets{"": {"status"}, "status": {"spec"}}
			rapid.Check(t, func(rt *rapid.T) {
				b := newBoth(res, kind.converter, kind.schemas, resets)
				b.managers = managerNames[:5]
				steps := rapid.IntRange(1, 8).Draw(rt, "steps")
				change := rapid.IntRange(0, 2*steps).Draw(rt, "change")
				for i := range steps {
					if i == change && kind.name == "declared" {
						b.m, b.o.converter = New(res, changed.schemas, resets), changed
					}
					b.step(rt, func(v *api.Version) map[string]generator { return widgetDoc(v.GroupVersion.Version == "v1beta1") })
				}
			})
		})
	}
}
