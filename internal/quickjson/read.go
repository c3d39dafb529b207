package quickjson

import (
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strconv"
)

// Read decodes data into the zero value of t that into points to. It returns false if the text
// is invalid, has unknown or duplicate fields, or is otherwise unusual; the value is then
// undefined.
func (t *Type) Read(data []byte, into any) bool {
	v := reflect.ValueOf(into)
	if v.Type() != reflect.PointerTo(t.rt) {
		return false
	}
	r := newReader(data)
	ok := t.read(r, v.Elem())
	return r.done() && ok
}

// reading returns the function that reads values of a type.
func (p *Plans) reading(rt reflect.Type, f *fields) func(*reader, reflect.Value) bool {
	switch pointer := reflect.PointerTo(rt); {
	case rt.Kind() == reflect.Pointer:
		return p.readingPointer(rt)
	case rt.Kind() != reflect.Interface && pointer.Implements(unmarshaler):
		return readByMethod(p.Accepts[rt])
	case pointer.Implements(textUnmarshaler):
		return refuse
	}
	switch rt.Kind() {
	case reflect.String:
		return readString
	case reflect.Bool:
		return readBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return readInt
	case reflect.Float64:
		return readFloat
	case reflect.Slice:
		return p.readingSlice(rt)
	case reflect.Map:
		return p.readingMap(rt)
	case reflect.Struct:
		if f != nil {
			return f.read
		}
	}
	return refuse
}

// refuse is the function for types that cannot be read.
func refuse(*reader, reflect.Value) bool { return false }

// null skips a null, which leaves a value unchanged.
func (r *reader) null() bool { return r.Next() == 'n' && r.Literal("null") }

func readByMethod(accepts func([]byte) bool) func(*reader, reflect.Value) bool {
	return func(r *reader, v reflect.Value) bool {
		text, ok := r.Value()
		return ok && (accepts == nil || accepts(text)) && v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(text) == nil
	}
}

func readString(r *reader, v reflect.Value) bool {
	if r.Next() != '"' {
		return r.null()
	}
	text, ok := r.text()
	if ok {
		v.SetString(string(text))
	}
	return ok
}

func readBool(r *reader, v reflect.Value) bool {
	switch r.Next() {
	case 't':
		v.SetBool(true)
		return r.Literal("true")
	case 'f':
		return r.Literal("false")
	}
	return r.null()
}

func readInt(r *reader, v reflect.Value) bool {
	if r.Next() == 'n' {
		return r.null()
	}
	n, ok := r.integer()
	if !ok || v.OverflowInt(n) {
		return false
	}
	v.SetInt(n)
	return true
}

func readFloat(r *reader, v reflect.Value) bool {
	if r.Next() == 'n' {
		return r.null()
	}
	start := r.At
	if _, ok := r.Number(); !ok {
		return false
	}
	n, err := strconv.ParseFloat(string(r.Text[start:r.At]), 64)
	v.SetFloat(n)
	return err == nil
}

func (p *Plans) readingPointer(rt reflect.Type) func(*reader, reflect.Value) bool {
	elem := p.of(rt.Elem())
	return func(r *reader, v reflect.Value) bool {
		if r.Next() == 'n' {
			return r.null()
		}
		to := reflect.New(elem.rt)
		v.Set(to)
		return elem.read(r, to.Elem())
	}
}

func (p *Plans) readingSlice(rt reflect.Type) func(*reader, reflect.Value) bool {
	if rt.Elem().Kind() == reflect.Uint8 {
		return readBytes
	}
	elem := p.of(rt.Elem())
	return func(r *reader, v reflect.Value) bool {
		if r.Next() != '[' {
			return r.null()
		}
		ok := r.Elements(func(n int) bool {
			v.Grow(1)
			v.SetLen(n + 1)
			return elem.read(r, v.Index(n))
		})
		if ok && v.IsNil() {
			v.Set(reflect.MakeSlice(rt, 0, 0))
		}
		return ok
	}
}

func readBytes(r *reader, v reflect.Value) bool {
	if r.Next() != '"' {
		return r.null()
	}
	text, ok := r.text()
	if !ok {
		return false
	}
	data := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(data, text)
	if err != nil {
		return false
	}
	v.SetBytes(data[:n])
	return true
}

func (p *Plans) readingMap(rt reflect.Type) func(*reader, reflect.Value) bool {
	key := rt.Key()
	if key.Kind() != reflect.String || reflect.PointerTo(key).Implements(textUnmarshaler) {
		return refuse
	}
	elem := p.of(rt.Elem())
	if rt == reflect.TypeFor[map[string]string]() {
		return readTexts
	}
	return func(r *reader, v reflect.Value) bool {
		if r.Next() != '{' {
			return r.null()
		}
		out := reflect.MakeMap(rt)
		v.Set(out)
		return r.Members(func(str quoted) bool {
			name, ok := r.name(str)
			value := reflect.New(elem.rt).Elem()
			if !ok || !elem.read(r, value) {
				return false
			}
			before := out.Len()
			out.SetMapIndex(reflect.ValueOf(name).Convert(key), value)
			return out.Len() > before
		})
	}
}

func readTexts(r *reader, v reflect.Value) bool {
	if r.Next() != '{' {
		return r.null()
	}
	out := map[string]string{}
	*v.Addr().Interface().(*map[string]string) = out
	return r.Members(func(str quoted) bool {
		key, ok := r.name(str)
		if !ok {
			return false
		}
		if r.Next() == 'n' { // the same as an empty text
			if _, isTwice := out[key]; isTwice || !r.null() {
				return false
			}
			out[key] = ""
			return true
		}
		if r.Next() != '"' {
			return false
		}
		text, ok := r.text()
		before := len(out)
		out[key] = string(text)
		return ok && len(out) > before
	})
}

// read reads a struct.
func (f *fields) read(r *reader, v reflect.Value) bool {
	if r.Next() != '{' {
		return r.null()
	}
	var met uint64
	return r.Members(func(str quoted) bool {
		// The fields of a struct have plain names, and none is that of an escaped one.
		field := f.byName[string(str.Content)]
		if field == nil || met&(1<<field.number) != 0 {
			return false
		}
		met |= 1 << field.number
		return field.t.read(r, field.In(v))
	})
}
