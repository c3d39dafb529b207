package bounds

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/miniapiserver/miniapiserver/internal/gotype"
	"github.com/miniapiserver/miniapiserver/internal/jsonscan"
)

// An item of a list is a text of two characters, {}, but a value of hundreds of bytes when it is
// decoded into a Go type, and several copies of it exist during a request. The size of the
// decoded values is therefore added up along the Go type before a text is decoded. Texts with few
// values cannot exceed the limit and are not walked.

// maxDecoded is the maximum sum of the sizes of all items of lists and maps, and of all values
// behind pointers, in a decoded object. No object that fits into etcd needs half of it.
const maxDecoded = 48 << 20

// maxSize is more than the size of any type of k8s.io/api with its map key.
const maxSize = 2 << 10

func errDecoded() error {
	return &Error{fmt.Sprintf("exceeded max decoded size of %d", maxDecoded)}
}

// JSONInto checks a JSON text that is to be decoded into a value of the type of into: its
// quantities, and the size of the decoded value. The text must have passed JSON.
func JSONInto(text []byte, into any) error {
	if err := quantities(text, into); err != nil {
		return err
	}
	if _, values := counts(text); values <= maxDecoded/maxSize {
		return nil
	}
	return Decoded(text, into)
}

// Decoded checks the size of the value of the type of into that a JSON text is to be decoded into. The
// decoder must call Quantity itself. Texts that Measure calls small need no check.
func Decoded(text []byte, into any) error {
	w := newMemoryWalk()
	s := jsonscan.Scanner[[]byte]{Text: text, MaxDepth: MaxDepth + managedDepth}
	w.json(&s, gotype.Deref(reflect.TypeOf(into)))
	return w.result()
}

// ProtoInto is JSONInto for a protobuf message.
func ProtoInto(message []byte, into any) error {
	if err := protoQuantities(message, into); err != nil {
		return err
	}
	const shortest = 2 // the bytes of an item without content
	if len(message)/shortest <= maxDecoded/maxSize {
		return nil
	}
	w := newMemoryWalk()
	w.proto(message, gotype.Deref(reflect.TypeOf(into)))
	return w.result()
}

// ContentInto is JSONInto for content that was decoded from JSON or YAML into maps. text is what it
// was decoded from, or the patch that changed it. The function into makes a value of the type
// that the content will be decoded into.
func ContentInto(text []byte, content map[string]any, into func() any) error {
	if strangeNumber(text, false) || bytes.Contains(text, []byte{'\\'}) { // escapes are resolved in content
		plain, err := json.Marshal(content)
		if err != nil {
			return err
		}
		if err := quantities(plain, into()); err != nil {
			return err
		}
	}
	if countValues(content, maxDecoded/maxSize) >= 0 {
		return nil
	}
	w := newMemoryWalk()
	w.content(content, gotype.Deref(reflect.TypeOf(into())))
	return w.result()
}

// countValues returns left less the number of values in v, or -1 if there are more.
func countValues(v any, left int) int {
	if left--; left < 0 {
		return -1
	}
	switch v := v.(type) {
	case map[string]any:
		for _, value := range v {
			if left = countValues(value, left); left < 0 {
				return left
			}
		}
	case []any:
		for _, item := range v {
			if left = countValues(item, left); left < 0 {
				return left
			}
		}
	}
	return left
}

// memoryWalk adds up the sizes of the values in a text along a Go type.
type memoryWalk struct {
	size    uintptr
	members map[reflect.Type]map[string]reflect.Type // by lower-case name, since some decoders ignore case
	fields  map[reflect.Type]map[uint64]reflect.Type // by protobuf number
}

func newMemoryWalk() *memoryWalk {
	return &memoryWalk{members: map[reflect.Type]map[string]reflect.Type{}, fields: map[reflect.Type]map[uint64]reflect.Type{}}
}

func (w *memoryWalk) full() bool { return w.size > maxDecoded }

func (w *memoryWalk) result() error {
	if w.full() {
		return errDecoded()
	}
	return nil
}

// json adds the size of the values inside the next value, which will be decoded into rt. It
// returns false at the limit, and at an error in the text, which the decoder reports.
func (w *memoryWalk) json(s *jsonscan.Scanner[[]byte], rt reflect.Type) bool {
	if rt == nil {
		_, ok := s.Value()
		return ok
	}
	switch b := s.Next(); {
	case b == 'n' || b != '{' && b != '[':
		_, ok := s.Value()
		return ok
	case b == '{':
		rt = w.pointed(objectType(rt))
		return s.Members(func(name jsonscan.String[[]byte]) bool {
			if rt == nil {
				return w.json(s, nil)
			}
			return w.json(s, w.member(rt, string(name.Content))) && !w.full()
		})
	}
	elem := elementType(rt)
	return s.Elements(func(int) bool {
		if elem != nil {
			w.size += elem.Size()
		}
		return w.json(s, elem) && !w.full()
	})
}

// content is json for decoded JSON.
func (w *memoryWalk) content(v any, rt reflect.Type) {
	switch v := v.(type) {
	case map[string]any:
		if rt = w.pointed(objectType(rt)); rt == nil {
			return
		}
		for name, value := range v {
			if w.full() {
				return
			}
			w.content(value, w.member(rt, name))
		}
	case []any:
		elem := elementType(rt)
		if elem == nil {
			return
		}
		for _, item := range v {
			if w.size += elem.Size(); w.full() {
				return
			}
			w.content(item, elem)
		}
	}
}

// pointed returns the type of a value without pointers, whose target it adds.
func (w *memoryWalk) pointed(rt reflect.Type) reflect.Type {
	for rt != nil && rt.Kind() == reflect.Pointer {
		rt = rt.Elem()
		w.size += rt.Size()
	}
	return rt
}

// member returns the type of a member of an object of type rt, and adds its size if the object is a
// map; nil for members whose size does not depend on a type.
func (w *memoryWalk) member(rt reflect.Type, name string) reflect.Type {
	switch rt.Kind() {
	case reflect.Map:
		w.size += rt.Key().Size() + rt.Elem().Size()
		return rt.Elem()
	case reflect.Struct:
		members, ok := w.members[rt]
		if !ok {
			members = map[string]reflect.Type{}
			for _, f := range gotype.Members(rt) {
				members[strings.ToLower(f.Name)], members[f.Name] = f.Type, f.Type
			}
			w.members[rt] = members
		}
		if of, ok := members[name]; ok {
			return of
		}
		return members[strings.ToLower(name)]
	}
	return nil
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// objectType returns the type that an object is decoded into where a value of type rt is expected.
// A union such as JSONSchemaPropsOrArray has methods that decode into one of its fields.
func objectType(rt reflect.Type) reflect.Type {
	return alternative(rt, func(f reflect.Type) bool { return f.Kind() == reflect.Pointer && f.Elem().Kind() == reflect.Struct })
}

// elementType returns the type of the items of an array where a value of type rt is expected; nil
// if that is no list.
func elementType(rt reflect.Type) reflect.Type {
	if rt == nil {
		return nil
	}
	list := alternative(gotype.Deref(rt), func(f reflect.Type) bool { return f.Kind() == reflect.Slice })
	if list == nil || list.Kind() != reflect.Slice && list.Kind() != reflect.Array {
		return nil
	}
	return list.Elem()
}

// alternative returns the type of the last field of a union that fits, and rt for other types.
func alternative(rt reflect.Type, fits func(reflect.Type) bool) reflect.Type {
	if rt == nil {
		return nil
	}
	union := gotype.Deref(rt)
	if union.Kind() != reflect.Struct || !reflect.PointerTo(union).Implements(unmarshaler) {
		return rt
	}
	for i := union.NumField() - 1; i >= 0; i-- {
		if f := union.Field(i); f.IsExported() && fits(f.Type) {
			return f.Type
		}
	}
	return rt
}

// proto adds the size of the values in a message, which will be decoded into rt.
func (w *memoryWalk) proto(message []byte, rt reflect.Type) {
	if rt.Kind() != reflect.Struct {
		return
	}
	types, ok := w.fields[rt]
	if !ok {
		types = protoFields(rt)
		w.fields[rt] = types
	}
	for at := 0; at < len(message) && !w.full(); {
		tag, _, ok := varint(message, at)
		if !ok {
			return
		}
		value, next, _, ok := field(message, at)
		if !ok {
			return
		}
		const numberBits = 29 // the decoders ignore the others
		if of := types[tag>>3&(1<<numberBits-1)]; of != nil && tag&7 == wireBytes {
			w.protoField(message[value:next], of)
		}
		at = next
	}
}

// protoField adds a field of a message, whose type is a list, a map, a pointer or a struct.
func (w *memoryWalk) protoField(value []byte, of reflect.Type) {
	switch of.Kind() {
	case reflect.Slice:
		w.size += of.Elem().Size()
		w.proto(value, w.pointed(of.Elem()))
	case reflect.Map:
		w.size += of.Key().Size() + of.Elem().Size()
		_ = eachField(value, func(n uint64, value []byte) error {
			if n == 2 { // the value of the entry
				w.proto(value, gotype.Deref(of.Elem()))
			}
			return nil
		})
	default:
		w.proto(value, w.pointed(of))
	}
}

// protoFields returns the types of the fields of a message that can have a size beyond that of the
// struct.
func protoFields(rt reflect.Type) map[uint64]reflect.Type {
	types := map[uint64]reflect.Type{}
	for _, f := range gotype.Fields(rt) {
		switch t := f.Type; t.Kind() {
		case reflect.Slice, reflect.Map, reflect.Pointer, reflect.Struct:
			if f.Number > 0 && (t.Kind() != reflect.Slice || t.Elem().Kind() != reflect.Uint8) {
				types[uint64(f.Number)] = t
			}
		}
	}
	return types
}
