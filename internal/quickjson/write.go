package quickjson

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/miniapiserver/miniapiserver/internal/jsonscan"
)

// scratches has buffers for output whose length is not known in advance.
var scratches = sync.Pool{New: func() any { return new([]byte) }}

// Exactly returns the bytes that write appends, in memory of exactly that size.
func Exactly(write func([]byte) ([]byte, error)) ([]byte, error) {
	scratch := scratches.Get().(*[]byte)
	defer scratches.Put(scratch)
	data, err := write((*scratch)[:0])
	if err != nil {
		return nil, err
	}
	*scratch = data
	return append(make([]byte, 0, len(data)), data...), nil
}

// Append appends the JSON of the t to which value points. value must not be nil.
func (t *Type) Append(dst []byte, value any) ([]byte, error) {
	v := reflect.ValueOf(value)
	if v.Type() != reflect.PointerTo(t.rt) {
		return appendByLibrary(dst, v)
	}
	return t.write(dst, v.Elem())
}

// writing returns the function that writes values of a type.
func (p *Plans) writing(rt reflect.Type, f *fields) func([]byte, reflect.Value) ([]byte, error) {
	switch {
	case rt.Kind() == reflect.Pointer:
		return p.writingPointer(rt)
	case rt.Kind() != reflect.Interface && rt.Implements(marshaler):
		isValid := slices.Contains(p.Valid, rt)
		return func(dst []byte, v reflect.Value) ([]byte, error) { return appendByMethod(dst, v, isValid) }
	case reflect.PointerTo(rt).Implements(marshaler), reflect.PointerTo(rt).Implements(textMarshaler):
		return appendByLibrary
	}
	switch rt.Kind() {
	case reflect.String:
		return func(dst []byte, v reflect.Value) ([]byte, error) { return AppendString(dst, v.String()), nil }
	case reflect.Bool:
		return func(dst []byte, v reflect.Value) ([]byte, error) { return strconv.AppendBool(dst, v.Bool()), nil }
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return func(dst []byte, v reflect.Value) ([]byte, error) { return strconv.AppendInt(dst, v.Int(), 10), nil }
	case reflect.Slice:
		return p.writingSlice(rt)
	case reflect.Map:
		return p.writingMap(rt)
	case reflect.Struct:
		if f != nil {
			return f.append
		}
	}
	return appendByLibrary
}

// appendByLibrary appends v as encoding/json writes it inside another value.
func appendByLibrary(dst []byte, v reflect.Value) ([]byte, error) {
	if v.CanAddr() {
		v = v.Addr()
	}
	data, err := json.Marshal(v.Interface())
	return append(dst, data...), err
}

// appendByMethod writes a value that has a method MarshalJSON. It copies the result if
// encoding/json would copy it unchanged. isValid means that the result certainly is JSON.
func appendByMethod(dst []byte, v reflect.Value, isValid bool) ([]byte, error) {
	to := v
	if v.CanAddr() {
		to = v.Addr()
	}
	data, err := to.Interface().(json.Marshaler).MarshalJSON()
	if err != nil || !compact(data, isValid) {
		return appendByLibrary(dst, v)
	}
	return append(dst, data...), nil
}

// compact reports whether data is JSON with neither white space nor characters that
// encoding/json escapes for HTML. isValid means that it certainly is JSON.
func compact(data []byte, isValid bool) bool {
	for _, b := range data {
		if b <= ' ' || b >= 0x80 || b == '<' || b == '>' || b == '&' {
			return false
		}
	}
	if isValid {
		return true
	}
	s := jsonscan.Scanner[[]byte]{Text: data, MaxDepth: maxDepth}
	_, ok := s.Value()
	return ok && s.AtEnd()
}

func (p *Plans) writingPointer(rt reflect.Type) func([]byte, reflect.Value) ([]byte, error) {
	elem := p.of(rt.Elem())
	return func(dst []byte, v reflect.Value) ([]byte, error) {
		if v.IsNil() {
			return append(dst, "null"...), nil
		}
		return elem.write(dst, v.Elem())
	}
}

func (p *Plans) writingSlice(rt reflect.Type) func([]byte, reflect.Value) ([]byte, error) {
	elem := p.of(rt.Elem())
	if rt.Elem().Kind() == reflect.Uint8 {
		if pointer := reflect.PointerTo(rt.Elem()); pointer.Implements(marshaler) || pointer.Implements(textMarshaler) {
			return appendByLibrary
		}
		return appendBytes
	}
	return func(dst []byte, v reflect.Value) ([]byte, error) {
		if v.IsNil() {
			return append(dst, "null"...), nil
		}
		var err error
		dst = append(dst, '[')
		for i := range v.Len() {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = elem.write(dst, v.Index(i)); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	}
}

func appendBytes(dst []byte, v reflect.Value) ([]byte, error) {
	if v.IsNil() {
		return append(dst, "null"...), nil
	}
	dst = base64.StdEncoding.AppendEncode(append(dst, '"'), v.Bytes())
	return append(dst, '"'), nil
}

func (p *Plans) writingMap(rt reflect.Type) func([]byte, reflect.Value) ([]byte, error) {
	if rt.Key().Kind() != reflect.String || rt.Key().Implements(textMarshaler) {
		return appendByLibrary
	}
	if rt == reflect.TypeFor[map[string]string]() {
		return appendTexts
	}
	elem := p.of(rt.Elem())
	return func(dst []byte, v reflect.Value) ([]byte, error) {
		if v.IsNil() {
			return append(dst, "null"...), nil
		}
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		var err error
		dst = append(dst, '{')
		for i, key := range keys {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(AppendString(dst, key.String()), ':')
			if dst, err = elem.write(dst, v.MapIndex(key)); err != nil {
				return nil, err
			}
		}
		return append(dst, '}'), nil
	}
}

func appendTexts(dst []byte, v reflect.Value) ([]byte, error) {
	texts, _ := v.Interface().(map[string]string)
	if texts == nil {
		return append(dst, "null"...), nil
	}
	var room [ordinary]string
	names := slices.AppendSeq(room[:0], maps.Keys(texts))
	slices.Sort(names)
	dst = append(dst, '{')
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(AppendString(dst, name), ':')
		dst = AppendString(dst, texts[name])
	}
	return append(dst, '}'), nil
}

// append writes a struct.
func (f *fields) append(dst []byte, v reflect.Value) ([]byte, error) {
	var err error
	dst = append(dst, '{')
	first := true
	for _, field := range f.all {
		is := field.In(v)
		if field.Omits(is) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		if dst, err = field.t.write(append(dst, field.key...), is); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}
