package representation

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
	"github.com/miniapiserver/miniapiserver/internal/bounds"
	"github.com/miniapiserver/miniapiserver/internal/cbor"
)

// Objects are encoded in CBOR from their Go types, as clients decode them: bytes are no base64, and
// floats stay floats. Everything else, such as documents and metadata alone, is converted from JSON.

// Framing returns the form of the events of a watch as the messages of a WebSocket.
func (m Media) Framing() Framing {
	switch m.Format {
	case FormatProtobuf:
		return Framing{prefix: protoLengthSize}
	case FormatCBOR:
		return Framing{}
	}
	return Framing{text: true}
}

// ToCBOR converts the JSON of a response.
func ToCBOR(data []byte) ([]byte, error) {
	out, err := cbor.FromJSON(data)
	if err != nil {
		return nil, err
	}
	return append([]byte(cbor.Prefix), out...), nil
}

// openCBOR is openBody for CBOR.
func openCBOR(data []byte) (body, error) {
	text, ok, err := bounds.CBOR(data)
	if err != nil {
		return body{}, err
	}
	if !ok {
		if _, err := cbor.TypeOf(data); err != nil {
			return body{}, err
		}
		return body{}, errors.New("malformed CBOR")
	}
	return body{data: text, cbor: data}, bounds.JSON(text)
}

// readTypeOfCBOR is readTypeMeta for CBOR. An apiVersion that cannot be parsed counts as absent.
func (b *body) readTypeOfCBOR() error {
	meta, err := cbor.TypeOf(b.cbor)
	b.gvk = meta.GroupVersionKind()
	return err
}

// decodeCBOR is decodeInto for CBOR that is within the bounds.
func (b *body) decodeCBOR(obj any, fieldValidation string) error {
	into, ok := obj.(runtime.Object)
	if !ok {
		return fmt.Errorf("decode CBOR into %T", obj)
	}
	faults, err := cbor.Unmarshal(b.cbor, into, fieldValidation != metav1.FieldValidationIgnore)
	b.strict = append(b.strict, faults...)
	return err
}

// shown returns the body as messages show it.
func (b *body) shown() string {
	if b.cbor != nil {
		return cbor.Diagnose(b.cbor)
	}
	if b.yaml != nil {
		return string(b.yaml)
	}
	return string(b.data)
}

// appliedCBOR decodes an apply configuration. text is the configuration as JSON.
func appliedCBOR(data []byte) (patch map[string]any, text []byte, err error) {
	text, ok, err := bounds.CBOR(data)
	if err == nil && ok {
		err = bounds.JSON(text)
	}
	if err == nil {
		patch, err = cbor.Content(data)
	}
	if err != nil {
		return nil, nil, errPatch(err)
	}
	return patch, text, nil
}

// encodeCBOR returns the CBOR of an object of the hub type. Objects with a Go type have neither kind
// nor apiVersion in it, like the items of their lists.
func (c *Codec) encodeCBOR(obj api.Object) ([]byte, error) {
	v, err := c.versioned(obj)
	if err != nil {
		return nil, err
	}
	var data []byte
	if u, ok := v.(*untyped.Object); ok {
		data, err = cbor.Marshal(u.UnstructuredContent())
	} else {
		if !v.GetObjectKind().GroupVersionKind().Empty() {
			v = v.DeepCopyObject().(api.Object)
			v.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		}
		data, err = cbor.Marshal(v)
	}
	if err != nil {
		return nil, fmt.Errorf("encode %s as CBOR: %w", c.gvk.Kind, err)
	}
	return data, nil
}

// appendCBOR appends the CBOR of one object.
func (v *View) appendCBOR(b []byte, s Encodable) ([]byte, error) {
	b = append(b, cbor.Prefix...)
	if v.as != "" {
		text, err := v.appendPartial(nil, s)
		if err != nil {
			return b, err
		}
		data, err := cbor.FromJSON(text)
		return append(b, data...), err
	}
	data, err := s.Encoding(v.codec.cborSlot, v.codec.toCBOR)
	if err != nil || v.codec.resource.IsCustom() {
		return append(b, data...), err
	}
	return cbor.AppendMembers(b, 2, v.codec.cborHead(), data)
}

// cborHead returns the members of every object: kind and apiVersion.
func (c *Codec) cborHead() []byte {
	b := cbor.AppendString(cbor.AppendString(nil, "kind"), c.gvk.Kind)
	return cbor.AppendString(cbor.AppendString(b, "apiVersion"), c.apiVersion)
}

// cborList is a list in CBOR.
type cborList struct {
	view  *View
	meta  metav1.ListMeta
	items Encodables
}

func (l *cborList) head(b []byte) ([]byte, error) {
	kind, apiVersion := l.view.listKind()
	meta, err := cbor.FromJSON(l.view.encodeListMeta(l.meta))
	if err != nil {
		return b, err
	}
	b = cbor.AppendMapHead(append(b, cbor.Prefix...), 4)
	b = cbor.AppendString(cbor.AppendString(b, "kind"), kind)
	b = cbor.AppendString(cbor.AppendString(b, "apiVersion"), apiVersion)
	b = append(cbor.AppendString(b, "metadata"), meta...)
	return cbor.AppendArrayHead(cbor.AppendString(b, "items"), l.items.len()), nil
}

func (l *cborList) item(b []byte, i int) ([]byte, error) {
	data, err := l.items.at(i).Encoding(l.view.codec.cborSlot, l.view.codec.toCBOR)
	return append(b, data...), err
}

func (l *cborList) tail(b []byte) []byte { return b }

// appendCBOREventHead appends a WatchEvent up to the object of the event.
func appendCBOREventHead(b []byte, name string) []byte {
	b = cbor.AppendMapHead(append(b, cbor.Prefix...), 2)
	b = cbor.AppendString(cbor.AppendString(b, "type"), name)
	return cbor.AppendString(b, "object")
}
