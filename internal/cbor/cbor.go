// Package cbor encodes and decodes objects in CBOR (RFC 8949), as the CBOR serializer of apimachinery does, whose
// encoder and decoder it uses:
//
//   - Every object begins with the tag of self-described CBOR (Prefix).
//   - Go strings and names of fields are byte strings; []byte is a byte string with tag 22, which
//     stands for its base64 in JSON. The decoder accepts text strings too.
//   - Keys of maps are in the order of the core deterministic encoding.
//   - Duplicate keys are errors, even if unknown fields are not.
//
// Callers check data from clients with package bounds first.
package cbor

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	kjson "sigs.k8s.io/json"
)

// Prefix is the tag of self-described CBOR.
const Prefix = "\xd9\xd9\xf7"

// Is reports whether data is an encoded object.
func Is(data []byte) bool { return bytes.HasPrefix(data, []byte(Prefix)) }

// Marshal encodes a value without Prefix.
func Marshal(v any) ([]byte, error) { return direct.Marshal(v) }

// FromJSON converts JSON.
func FromJSON(text []byte) ([]byte, error) {
	var v any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(text, &v); err != nil {
		return nil, fmt.Errorf("convert JSON to CBOR: %w", err)
	}
	return Marshal(v)
}

// Content decodes a map into decoded JSON: maps, slices, strings, int64, float64, bool and nil. It
// returns nil for null.
func Content(data []byte) (map[string]any, error) {
	var content map[string]any
	err := direct.Unmarshal(data, &content)
	return content, err
}

// Diagnose returns an item in diagnostic notation, for messages.
func Diagnose(data []byte) string {
	text, err := direct.Diagnose(data)
	if err != nil {
		return ""
	}
	return text
}

// TypeOf returns the kind and apiVersion of an object.
func TypeOf(data []byte) (metav1.TypeMeta, error) {
	into := &typeOnly{}
	if _, err := Unmarshal(data, into, false); err != nil {
		return metav1.TypeMeta{}, err
	}
	return into.TypeMeta, nil
}

// typeOnly is an object of any kind, of which only the kind is read.
type typeOnly struct {
	metav1.TypeMeta `json:",inline"`
}

// DeepCopyObject implements runtime.Object.
func (t *typeOnly) DeepCopyObject() runtime.Object { return &typeOnly{t.TypeMeta} }

// Unmarshal decodes an object of a Go type, whatever its kind. The JSON in an object, such as that
// of a RawExtension, is converted from CBOR. If strict is true, unknown fields are faults.
func Unmarshal(data []byte, obj runtime.Object, strict bool) (faults []error, err error) {
	as := destination{obj}
	_, _, err = serializer.NewSerializer(as, as, serializer.Strict(strict)).Decode(data, nil, obj)
	if unknown, ok := runtime.AsStrictDecodingError(err); ok {
		return unknown.Errors(), nil
	}
	return nil, err
}

// destination tells the serializer that an object is of every kind.
type destination struct{ obj runtime.Object }

// ObjectKinds implements runtime.ObjectTyper. The kind counts for objects that do not name theirs.
func (destination) ObjectKinds(runtime.Object) ([]schema.GroupVersionKind, bool, error) {
	return []schema.GroupVersionKind{{Version: "v1", Kind: "Object"}}, false, nil
}

// Recognizes implements runtime.ObjectTyper.
func (destination) Recognizes(schema.GroupVersionKind) bool { return true }

// New implements runtime.ObjectCreater.
func (d destination) New(schema.GroupVersionKind) (runtime.Object, error) { return d.obj, nil }

// Initial bytes of arrays and maps without items, and of byte strings without content.
const (
	byteString = 0x40
	array      = 0x80
	object     = 0xa0
)

// AppendString appends a string.
func AppendString(b []byte, text string) []byte {
	return append(appendHead(b, byteString, len(text)), text...)
}

// AppendArrayHead appends the head of an array of n items.
func AppendArrayHead(b []byte, n int) []byte { return appendHead(b, array, n) }

// AppendMapHead appends the head of a map of n members.
func AppendMapHead(b []byte, n int) []byte { return appendHead(b, object, n) }

func appendHead(b []byte, major byte, n int) []byte {
	switch {
	case n < 24:
		return append(b, major|byte(n))
	case n <= math.MaxUint8:
		return append(b, major|24, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, major|25), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(b, major|26), uint32(n))
}

// errNotMap is the error of an encoding that is not a map of definite length.
var errNotMap = errors.New("not a map")

// AppendMembers appends a map that Marshal returned, with additional members before its own. extra
// is the number of members in before.
func AppendMembers(b []byte, extra int, before, encoded []byte) ([]byte, error) {
	if len(encoded) == 0 || encoded[0]&^31 != object {
		return b, errNotMap
	}
	n, rest := int(encoded[0]&31), encoded[1:]
	if n >= 24 { // no Go type has as many fields as need more than one byte
		if n != 24 || len(rest) == 0 {
			return b, errNotMap
		}
		n, rest = int(rest[0]), rest[1:]
	}
	return append(append(AppendMapHead(b, n+extra), before...), rest...), nil
}
