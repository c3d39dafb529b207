package quickjson

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"sync"
)

// Plans has the plans of Go types, each made at first use. The zero value is ready; it is safe
// for concurrent use.
type Plans struct {
	// Valid are types whose MarshalJSON certainly returns JSON, because the values were
	// validated before. It must be set before the first use.
	Valid []reflect.Type

	mu    sync.Mutex
	types map[reflect.Type]*Type
}

// Type is the plan of a Go type.
type Type struct {
	rt reflect.Type
	// read reads a value into v, which is zero. It returns false if the text or the type is
	// unusual.
	read func(r *reader, v reflect.Value) bool
	// write appends the JSON of v.
	write func(dst []byte, v reflect.Value) ([]byte, error)
}

// Of returns the plan of a type.
func (p *Plans) Of(rt reflect.Type) *Type {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.of(rt)
}

var (
	marshaler       = reflect.TypeFor[json.Marshaler]()
	unmarshaler     = reflect.TypeFor[json.Unmarshaler]()
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// of is Of with p.mu held. Types may be recursive.
func (p *Plans) of(rt reflect.Type) *Type {
	if t, ok := p.types[rt]; ok {
		return t
	}
	if p.types == nil {
		p.types = map[reflect.Type]*Type{}
	}
	t := &Type{rt: rt}
	p.types[rt] = t
	var f *fields
	if rt.Kind() == reflect.Struct && !rt.Implements(marshaler) && !reflect.PointerTo(rt).Implements(unmarshaler) {
		f = p.fieldsOf(rt)
	}
	t.read, t.write = p.reading(rt, f), p.writing(rt, f)
	return t
}

// tooMany is the maximum number of fields; the set of fields that were read is one word.
const tooMany = 64

// fields has the fields of a struct in their order, including those of embedded structs.
type fields struct {
	all    []*structField
	byName map[string]*structField
}

type structField struct {
	index     []int
	name      string
	key       []byte // the encoded name with the colon
	t         *Type
	omitEmpty bool
	omitZero  func(reflect.Value) bool // nil if it is never omitted as zero
	number    int
}

// fieldsOf returns the fields of a struct; nil if it is unusual.
func (p *Plans) fieldsOf(rt reflect.Type) *fields {
	f := &fields{byName: map[string]*structField{}}
	if !p.addFields(f, rt, nil) || len(f.all) > tooMany {
		return nil
	}
	return f
}

func (p *Plans) addFields(f *fields, rt reflect.Type, at []int) bool {
	for i := range rt.NumField() {
		sf := rt.Field(i)
		index := append(append([]int(nil), at...), i)
		tag := sf.Tag.Get("json")
		if tag == "-" {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if sf.Anonymous && name == "" {
			if sf.Type.Kind() != reflect.Struct || !sf.IsExported() || !p.addFields(f, sf.Type, index) {
				return false
			}
			continue
		}
		if !sf.IsExported() {
			continue
		}
		if name == "" {
			name = sf.Name
		}
		field := &structField{index: index, name: name, number: len(f.all), key: append(AppendString(nil, name), ':')}
		for option := range strings.SplitSeq(options, ",") {
			switch option {
			case "omitempty":
				field.omitEmpty = true
			case "omitzero":
				field.omitZero = zeroOf(sf.Type)
			case "string":
				return false
			}
		}
		if f.byName[name] != nil || strings.ContainsFunc(name, func(r rune) bool { return r > 'z' || r < '$' || r == '\\' }) {
			return false
		}
		field.t = p.of(sf.Type)
		f.byName[name] = field
		f.all = append(f.all, field)
	}
	return true
}

// zeroOf returns a function that reports whether omitzero omits a value of a type.
func zeroOf(rt reflect.Type) func(reflect.Value) bool {
	type zeroer interface{ IsZero() bool }
	zeroerType := reflect.TypeFor[zeroer]()
	switch {
	case rt.Kind() == reflect.Pointer && rt.Implements(zeroerType):
		return func(v reflect.Value) bool { return v.IsNil() || v.Interface().(zeroer).IsZero() }
	case reflect.PointerTo(rt).Implements(zeroerType):
		return func(v reflect.Value) bool {
			if !v.CanAddr() { // a value of a map
				to := reflect.New(rt).Elem()
				to.Set(v)
				v = to
			}
			return v.Addr().Interface().(zeroer).IsZero()
		}
	}
	return reflect.Value.IsZero
}
