package match

import (
	"encoding/base64"
	"encoding/json"
	"reflect"
	"sync"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"github.com/miniapiserver/miniapiserver/internal/gotype"
)

// Shapes lets expressions read fields of typed objects without converting the whole object. It caches the
// members of Go types by their names. The zero value is ready for concurrent use.
type Shapes struct{ known sync.Map } // reflect.Type -> map[string]*gotype.Field

// show returns an object as a value for expressions, or nil. Without shapes it converts the whole
// object.
func (s *Shapes) show(obj runtime.Object, kind schema.GroupVersionKind) (any, error) {
	v := reflect.ValueOf(obj)
	if s == nil || obj == nil || v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct || gotype.HasOwnJSON(v.Type()) {
		return jsonOf(obj, kind)
	}
	return &structValue{shapes: s, v: v.Elem(), kind: &kind, convert: func() (map[string]any, error) {
		m, err := jsonOf(obj, kind)
		fields, _ := m.(map[string]any)
		return fields, err
	}}, nil
}

// members returns the fields of a struct type by JSON name.
func (s *Shapes) members(t reflect.Type) map[string]*gotype.Field {
	if m, ok := s.known.Load(t); ok {
		return m.(map[string]*gotype.Field)
	}
	fields := gotype.Members(t)
	m := make(map[string]*gotype.Field, len(fields))
	for i := range fields {
		m[fields[i].Name] = &fields[i]
	}
	known, _ := s.known.LoadOrStore(t, m)
	return known.(map[string]*gotype.Field)
}

// value returns v as a value for expressions, equal to the one in the JSON of the object.
func (s *Shapes) value(v reflect.Value) ref.Val {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return types.NullValue
		}
		return s.value(v.Elem())
	case reflect.String:
		return types.String(v.String())
	case reflect.Bool:
		return types.Bool(v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if !gotype.HasOwnJSON(v.Type()) {
			return types.Int(v.Int())
		}
	case reflect.Struct:
		if !gotype.HasOwnJSON(v.Type()) {
			return s.structOf(v)
		}
	case reflect.Slice:
		if v.IsNil() {
			return types.NullValue
		}
		if !gotype.HasOwnJSON(v.Type()) {
			return s.list(v)
		}
	case reflect.Map:
		if v.IsNil() {
			return types.NullValue
		}
		if !gotype.HasOwnJSON(v.Type()) {
			return s.mapOf(v)
		}
	}
	return valueByJSON(v.Interface())
}

// valueByJSON converts x to JSON and back.
func valueByJSON(x any) ref.Val {
	text, err := json.Marshal(x)
	if err != nil {
		return types.WrapErr(err)
	}
	var out any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(text, &out); err != nil {
		return types.WrapErr(err)
	}
	return types.DefaultTypeAdapter.NativeToValue(out)
}

func (s *Shapes) structOf(v reflect.Value) ref.Val {
	v = gotype.Addressable(v)
	return &structValue{shapes: s, v: v, convert: func() (map[string]any, error) {
		return runtime.DefaultUnstructuredConverter.ToUnstructured(v.Addr().Interface())
	}}
}

func (s *Shapes) list(v reflect.Value) ref.Val {
	switch list := v.Interface().(type) {
	case []byte:
		return types.String(base64.StdEncoding.EncodeToString(list))
	case []string:
		return types.NewStringList(types.DefaultTypeAdapter, list)
	}
	items := make([]ref.Val, v.Len())
	for i := range items {
		items[i] = s.value(v.Index(i))
	}
	return types.NewRefValList(types.DefaultTypeAdapter, items)
}

func (s *Shapes) mapOf(v reflect.Value) ref.Val {
	if m, ok := v.Interface().(map[string]string); ok {
		return types.NewStringStringMap(types.DefaultTypeAdapter, m)
	}
	m := make(map[ref.Val]ref.Val, v.Len())
	for it := v.MapRange(); it.Next(); {
		m[types.String(it.Key().String())] = s.value(it.Value())
	}
	return types.NewRefValMap(types.DefaultTypeAdapter, m)
}

// structValue is a struct as a CEL map. Operations other than access to a field by name use the
// converted map.
type structValue struct {
	shapes  *Shapes
	v       reflect.Value
	kind    *schema.GroupVersionKind // nil if the struct is not a top-level object
	convert func() (map[string]any, error)
	asMap   ref.Val
}

var _ traits.Mapper = (*structValue)(nil)

// Find implements traits.Mapper.
func (s *structValue) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(key), false
	}
	if s.kind != nil {
		switch name {
		case "kind":
			return types.String(s.kind.Kind), true
		case "apiVersion":
			return types.String(s.kind.GroupVersion().String()), true
		}
	}
	m := s.shapes.members(s.v.Type())[string(name)]
	if m == nil {
		return nil, false
	}
	f := m.In(s.v)
	if !f.IsValid() || m.Omits(f) {
		return nil, false
	}
	return s.shapes.value(f), true
}

// Get implements traits.Indexer.
func (s *structValue) Get(key ref.Val) ref.Val {
	v, found := s.Find(key)
	if !found {
		return types.ValOrErr(v, "no such key: %v", key)
	}
	return v
}

// Contains implements traits.Container.
func (s *structValue) Contains(key ref.Val) ref.Val {
	v, found := s.Find(key)
	if !found && v != nil && types.IsUnknownOrError(v) {
		return v
	}
	return types.Bool(found)
}

// mapValue returns the converted map.
func (s *structValue) mapValue() ref.Val {
	if s.asMap == nil {
		if m, err := s.convert(); err != nil {
			s.asMap = types.WrapErr(err)
		} else {
			s.asMap = types.DefaultTypeAdapter.NativeToValue(m)
		}
	}
	return s.asMap
}

// ConvertToNative implements ref.Val.
func (s *structValue) ConvertToNative(t reflect.Type) (any, error) {
	return s.mapValue().ConvertToNative(t)
}

// ConvertToType implements ref.Val.
func (s *structValue) ConvertToType(t ref.Type) ref.Val { return s.mapValue().ConvertToType(t) }

// Equal implements ref.Val.
func (s *structValue) Equal(other ref.Val) ref.Val { return s.mapValue().Equal(other) }

// Type implements ref.Val.
func (s *structValue) Type() ref.Type { return types.MapType }

// Value implements ref.Val.
func (s *structValue) Value() any { return s.mapValue().Value() }

// Iterator implements traits.Iterable.
func (s *structValue) Iterator() traits.Iterator {
	if m, ok := s.mapValue().(traits.Mapper); ok {
		return m.Iterator()
	}
	return types.NewDynamicList(types.DefaultTypeAdapter, []string{}).Iterator()
}

// Size implements traits.Sizer.
func (s *structValue) Size() ref.Val {
	if m, ok := s.mapValue().(traits.Mapper); ok {
		return m.Size()
	}
	return s.mapValue()
}
