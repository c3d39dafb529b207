package gotype

import (
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// Field is a field of a struct that is exported, or an embedded struct, whose fields may be exported.
type Field struct {
	// GoName is the name in Go, Name the name in JSON. Name is empty for an inlined struct, and for a
	// field that JSON does not contain.
	GoName, Name string
	Type         reflect.Type
	// Index leads to the field from the struct whose fields were asked for.
	Index []int
	// IsInlined reports that the fields of this struct are members of the JSON object around it.
	IsInlined bool
	// IsInPointer reports that the field is in an inlined struct that is behind a pointer.
	IsInPointer bool
	// OmitEmpty and OmitZero are the options of these names; AsString is the option "string".
	OmitEmpty, OmitZero, AsString bool
	// Number is the number in protobuf, or 0 if protobuf does not contain the field.
	Number int
	// MergeKey is the key field of the elements of a list that is merged by strategic merge patches.
	MergeKey string

	isZero func(reflect.Value) bool
}

// FieldNamed returns the field of a struct type with a name in Go; ok is false if there is none.
func FieldNamed(t reflect.Type, goName string) (f Field, ok bool) {
	return find(Fields(t), func(f *Field) bool { return f.GoName == goName })
}

// Member returns the member with a JSON name of a struct type or of a pointer to one; ok is false if there
// is none.
func Member(t reflect.Type, name string) (f Field, ok bool) {
	if t = Deref(t); t.Kind() != reflect.Struct {
		return Field{}, false
	}
	return find(Members(t), func(f *Field) bool { return f.Name == name })
}

func find(fields []Field, is func(*Field) bool) (Field, bool) {
	for i := range fields {
		if is(&fields[i]) {
			return fields[i], true
		}
	}
	return Field{}, false
}

// structFields has the fields of a struct type.
type structFields struct{ fields, members []Field }

var known sync.Map // reflect.Type -> *structFields

// Fields returns the fields of a struct type in their order. Callers must not change the slice.
func Fields(t reflect.Type) []Field { return of(t).fields }

// Members returns the fields that the JSON object of a struct type contains, with the fields of inlined
// structs in place of the structs. Callers must not change the slice.
func Members(t reflect.Type) []Field { return of(t).members }

func of(t reflect.Type) *structFields {
	if s, ok := known.Load(t); ok {
		return s.(*structFields)
	}
	s := &structFields{fields: make([]Field, 0, t.NumField())}
	for sf := range t.Fields() {
		if sf.IsExported() || isEmbeddedStruct(sf) {
			s.fields = append(s.fields, parse(sf))
		}
	}
	s.members = members(s.fields)
	stored, _ := known.LoadOrStore(t, s)
	return stored.(*structFields)
}

// parse reads the tags of a field.
func parse(sf reflect.StructField) Field {
	f := Field{GoName: sf.Name, Type: sf.Type, Index: sf.Index, MergeKey: sf.Tag.Get("patchMergeKey")}
	if parts := strings.SplitN(sf.Tag.Get("protobuf"), ",", 3); len(parts) > 1 {
		f.Number, _ = strconv.Atoi(parts[1])
	}
	tag := sf.Tag.Get("json")
	if tag == "-" {
		return f
	}
	name, options, _ := strings.Cut(tag, ",")
	f.IsInlined = name == "" && isEmbeddedStruct(sf)
	if name == "" && !f.IsInlined {
		name = sf.Name
	}
	f.Name = name
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "omitempty":
			f.OmitEmpty = true
		case "omitzero":
			f.OmitZero, f.isZero = true, zeroFunc(sf.Type)
		case "string":
			f.AsString = true
		}
	}
	return f
}

func isEmbeddedStruct(sf reflect.StructField) bool {
	return sf.Anonymous && Deref(sf.Type).Kind() == reflect.Struct
}

// members returns the JSON members among the fields of a struct.
func members(fields []Field) []Field {
	out := fields[:0:0]
	for _, f := range fields {
		switch {
		case f.IsInlined:
			for _, inner := range Members(Deref(f.Type)) {
				inner.Index = append(append([]int(nil), f.Index...), inner.Index...)
				inner.IsInPointer = inner.IsInPointer || f.Type.Kind() == reflect.Pointer
				out = append(out, inner)
			}
		case f.Name != "":
			out = append(out, f)
		}
	}
	return out
}

// In returns the field of a struct v. It is the zero Value if the field is in an inlined struct whose
// pointer is nil.
func (f *Field) In(v reflect.Value) reflect.Value {
	v = v.Field(f.Index[0])
	for _, i := range f.Index[1:] {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return reflect.Value{}
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	return v
}

// Omits reports whether JSON omits the field because of its value v.
func (f *Field) Omits(v reflect.Value) bool {
	return f.OmitEmpty && isEmpty(v) || f.OmitZero && f.isZero(v)
}

// isEmpty reports whether the option omitempty omits v.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

type zeroer interface{ IsZero() bool }

// zeroFunc returns a function that reports whether the option omitzero omits a value of a type.
func zeroFunc(t reflect.Type) func(reflect.Value) bool {
	switch is := reflect.TypeFor[zeroer](); {
	case t.Kind() == reflect.Pointer && t.Implements(is):
		return func(v reflect.Value) bool { return v.IsNil() || v.Interface().(zeroer).IsZero() }
	case reflect.PointerTo(t).Implements(is):
		return func(v reflect.Value) bool { return Addressable(v).Addr().Interface().(zeroer).IsZero() }
	}
	return reflect.Value.IsZero
}
