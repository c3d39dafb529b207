package api

import (
	"reflect"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/miniapiserver/miniapiserver/internal/gotype"
	"github.com/miniapiserver/miniapiserver/proto"
)

// StoredField returns a function that reads a field of Indexed from a stored value without decoding it. The result
// is that of Selectable for the decoded object, if the value can be decoded. The function reports false for
// values that have to be decoded. StoredField returns nil if all have to be.
func (r *Resource) StoredField() func(value []byte, field string) ([]byte, bool) {
	if r.Custom != nil || len(r.Indexed) == 0 || r.Storage.Encoding != Protobuf {
		return nil
	}
	v, err := r.writtenAs(r.StoredVersion().String(), r.Kind)
	if err != nil || v.ToHub != nil {
		return nil
	}
	paths := map[string][]protowire.Number{}
	for _, field := range r.Indexed {
		if path := stringPath(reflect.TypeOf(r.New()).Elem(), field); path != nil {
			paths[field] = path
		}
	}
	if len(paths) == 0 {
		return nil
	}
	head := proto.NewHead(r.StoredVersion().String(), r.Kind)
	return func(value []byte, field string) ([]byte, bool) {
		raw, ok := head.Raw(value)
		if !ok || len(paths[field]) == 0 {
			return nil, false
		}
		return stringAt(raw, paths[field], nil)
	}
}

// stringPath returns the protobuf numbers of the structs and of the string on a path of JSON names; nil if there is
// something else on it.
func stringPath(rt reflect.Type, path string) (numbers []protowire.Number) {
	for name := range strings.SplitSeq(path, ".") {
		if rt.Kind() != reflect.Struct {
			return nil
		}
		var number int
		for _, f := range gotype.Fields(rt) {
			if f.Name == name {
				number, rt = f.Number, f.Type
				break
			}
		}
		if number == 0 {
			return nil
		}
		numbers = append(numbers, protowire.Number(number))
	}
	if rt.Kind() != reflect.String {
		return nil
	}
	return numbers
}

// stringAt returns the string at a path in a message. As for the generated decoders, the last of several strings
// counts, and several messages of one field are one message in parts; text is the string of the parts before.
// stringAt reports false if the message is unusual, since a decoder may refuse it.
func stringAt(message []byte, path []protowire.Number, text []byte) ([]byte, bool) {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 || kind == protowire.StartGroupType || kind == protowire.EndGroupType {
			return nil, false
		}
		message = message[n:]
		if number != path[0] {
			if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
				return nil, false
			}
			message = message[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(message)
		if n < 0 || kind != protowire.BytesType {
			return nil, false
		}
		message = message[n:]
		if len(path) == 1 {
			text = value
			continue
		}
		var ok bool
		if text, ok = stringAt(value, path[1:], text); !ok {
			return nil, false
		}
	}
	return text, true
}
