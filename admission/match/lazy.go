package match

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"
)

// Shapes knows how Go types look to expressions, so that of an object only what
// an expression looks at is converted. The zero value is ready for use, by many
// at a time; it remembers every type it has seen.
type Shapes struct{ known sync.Map } // reflect.Type -> map[string]*member

// member is a field of a struct, by the name that it has in JSON.
type member struct {
	index     []int
	omitEmpty bool
	omitZero  bool
}

// show is an object as expressions see it; nil for none. Without shapes it is
// converted as a whole.
func (s *Shapes) show(obj runtime.Object, kind schema.GroupVersionKind) (any, error) {
	v := reflect.ValueOf(obj)
	if s == nil || obj == nil || v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct || converts(v.Type()) {
		return jsonOf(obj, kind)
	}
	return &structValue{shapes: s, v: v.Elem(), kind: &kind, whole: func() (map[string]any, error) {
		m, err := jsonOf(obj, kind)
		fields, _ := m.(map[string]any)
		return fields, err
	}}, nil
}

// members are the fields of a struct type.
func (s *Shapes) members(t reflect.Type) map[string]*member {
	if m, ok := s.known.Load(t); ok {
		return m.(map[string]*member)
	}
	m := map[string]*member{}
	addMembers(m, t, nil)
	known, _ := s.known.LoadOrStore(t, m)
	return known.(map[string]*member)
}

func addMembers(m map[string]*member, t reflect.Type, at []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		index := append(at[:len(at):len(at)], i)
		switch {
		case name == "-" || !f.IsExported():
		case name == "" && f.Type.Kind() == reflect.Struct:
			addMembers(m, f.Type, index)
		case name != "":
			m[name] = &member{index, strings.Contains(options, "omitempty"), strings.Contains(options, "omitzero")}
		}
	}
}

// converts tells of types that have their own form in JSON.
func converts(t reflect.Type) bool {
	for _, is := range []reflect.Type{reflect.TypeFor[json.Marshaler](), reflect.TypeFor[runtime.UnstructuredConverter](), reflect.TypeFor[encoding.TextMarshaler]()} {
		if t.Implements(is) || t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(is) {
			return true
		}
	}
	return false
}

// value is what expressions see of v, as they would see it in the JSON of the
// object.
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
		if !converts(v.Type()) {
			return types.Int(v.Int())
		}
	case reflect.Struct:
		if !converts(v.Type()) {
			return s.structure(v)
		}
	case reflect.Slice:
		if v.IsNil() {
			return types.NullValue
		}
		if !converts(v.Type()) {
			return s.list(v)
		}
	case reflect.Map:
		if v.IsNil() {
			return types.NullValue
		}
		if !converts(v.Type()) {
			return s.mapping(v)
		}
	}
	return plain(v.Interface())
}

// plain goes by way of JSON.
func plain(x any) ref.Val {
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

func (s *Shapes) structure(v reflect.Value) ref.Val {
	if !v.CanAddr() {
		c := reflect.New(v.Type()).Elem()
		c.Set(v)
		v = c
	}
	return &structValue{shapes: s, v: v, whole: func() (map[string]any, error) {
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

func (s *Shapes) mapping(v reflect.Value) ref.Val {
	if m, ok := v.Interface().(map[string]string); ok {
		return types.NewStringStringMap(types.DefaultTypeAdapter, m)
	}
	m := make(map[ref.Val]ref.Val, v.Len())
	for it := v.MapRange(); it.Next(); {
		m[types.String(it.Key().String())] = s.value(it.Value())
	}
	return types.NewRefValMap(types.DefaultTypeAdapter, m)
}

// structValue is a struct that expressions see as a map. What is not asked for by
// name is answered by the map that it stands for.
type structValue struct {
	shapes *Shapes
	v      reflect.Value
	kind   *schema.GroupVersionKind // of a whole object
	whole  func() (map[string]any, error)
	asMap  ref.Val
}

var _ traits.Mapper = (*structValue)(nil)

// Find returns a field by its name.
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
	f := s.v.FieldByIndex(m.index)
	if m.omitEmpty && empty(f) || m.omitZero && zero(f) {
		return nil, false
	}
	return s.shapes.value(f), true
}

// empty is what omitempty leaves out.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Map, reflect.Slice, reflect.Array:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// zero is what omitzero leaves out.
func zero(v reflect.Value) bool {
	if z, ok := v.Interface().(interface{ IsZero() bool }); ok && (v.Kind() != reflect.Pointer || !v.IsNil()) {
		return z.IsZero()
	}
	if v.CanAddr() {
		if z, ok := v.Addr().Interface().(interface{ IsZero() bool }); ok {
			return z.IsZero()
		}
	}
	return v.IsZero()
}

// Get returns a field by its name, or an error.
func (s *structValue) Get(key ref.Val) ref.Val {
	v, found := s.Find(key)
	if !found {
		return types.ValOrErr(v, "no such key: %v", key)
	}
	return v
}

// Contains tells whether there is a field.
func (s *structValue) Contains(key ref.Val) ref.Val {
	v, found := s.Find(key)
	if !found && v != nil && types.IsUnknownOrError(v) {
		return v
	}
	return types.Bool(found)
}

// all is the map that s stands for.
func (s *structValue) all() ref.Val {
	if s.asMap == nil {
		if m, err := s.whole(); err != nil {
			s.asMap = types.WrapErr(err)
		} else {
			s.asMap = types.DefaultTypeAdapter.NativeToValue(m)
		}
	}
	return s.asMap
}

// ConvertToNative implements ref.Val.
func (s *structValue) ConvertToNative(t reflect.Type) (any, error) { return s.all().ConvertToNative(t) }

// ConvertToType implements ref.Val.
func (s *structValue) ConvertToType(t ref.Type) ref.Val { return s.all().ConvertToType(t) }

// Equal implements ref.Val.
func (s *structValue) Equal(other ref.Val) ref.Val { return s.all().Equal(other) }

// Type implements ref.Val.
func (s *structValue) Type() ref.Type { return types.MapType }

// Value implements ref.Val.
func (s *structValue) Value() any { return s.all().Value() }

// Iterator goes through the names of the fields.
func (s *structValue) Iterator() traits.Iterator {
	if m, ok := s.all().(traits.Mapper); ok {
		return m.Iterator()
	}
	return types.NewDynamicList(types.DefaultTypeAdapter, []string{}).Iterator()
}

// Size is the number of fields.
func (s *structValue) Size() ref.Val {
	if m, ok := s.all().(traits.Mapper); ok {
		return m.Size()
	}
	return s.all()
}
