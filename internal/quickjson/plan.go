package quickjson

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"github.com/miniapiserver/miniapiserver/internal/gotype"
)

// Plans has the plans of Go types, each made at first use. The zero value is ready; it is safe
// for concurrent use.
type Plans struct {
	// Valid are types whose MarshalJSON certainly returns JSON, because the values were
	// validated before. It must be set before the first use.
	Valid []reflect.Type
	// Accepts has, for types with an UnmarshalJSON method, functions that decide whether the method may
	// read a text. It must be set before the first use.
	Accepts map[reflect.Type]func(text []byte) bool

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
	*gotype.Field
	key    []byte // the encoded name with the colon
	t      *Type
	number int
}

// fieldsOf returns the fields of a struct; nil if it is unusual.
func (p *Plans) fieldsOf(rt reflect.Type) *fields {
	members := gotype.Members(rt)
	if len(members) > tooMany {
		return nil
	}
	f := &fields{byName: map[string]*structField{}}
	for i := range members {
		m := &members[i]
		if m.AsString || m.IsInPointer || f.byName[m.Name] != nil || strings.ContainsFunc(m.Name, isUnusual) {
			return nil
		}
		field := &structField{Field: m, number: i, key: append(AppendString(nil, m.Name), ':'), t: p.of(m.Type)}
		f.byName[m.Name] = field
		f.all = append(f.all, field)
	}
	return f
}

// isUnusual reports whether a character of a field's name needs care in JSON.
func isUnusual(r rune) bool { return r > 'z' || r < '$' || r == '\\' }
