// Package proto reads and writes the envelope in which Kubernetes stores and sends protobuf:
// the four bytes k8s\0, followed by a runtime.Unknown message that has the API version and
// kind of the enclosed message.
//
// Decode reads an Envelope, Append, AppendRaw and a Head write one, and AppendListHead starts that
// of a list. The enclosed message is opaque to this package; the generated types of
// k8s.io/api encode and decode it.
package proto

import (
	"bytes"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// Prefix is the start of every envelope.
const Prefix = "k8s\x00"

// Errors of Decode. ErrPrefix means that the data is not an envelope, and ErrEmpty that
// nothing follows the prefix.
var (
	ErrPrefix = errors.New("proto: missing k8s prefix")
	ErrEmpty  = errors.New("proto: empty body")
)

// Field numbers of runtime.Unknown, of its TypeMeta, and of lists.
const (
	fieldTypeMeta        = 1
	fieldRaw             = 2
	fieldContentEncoding = 3
	fieldContentType     = 4

	fieldAPIVersion = 1
	fieldKind       = 2

	fieldListMeta = 1
	fieldItems    = 2
)

// Envelope is an encoded message with its API version and kind.
type Envelope struct {
	APIVersion, Kind string
	// Raw is the message. Decode returns a part of its input.
	Raw []byte
	// ContentEncoding and ContentType are empty if Raw is plain protobuf.
	ContentEncoding, ContentType string
}

// Message is a type that marshals itself into a buffer of its size, as the generated types
// of k8s.io/api do.
type Message interface {
	Size() int
	MarshalToSizedBuffer([]byte) (int, error)
}

// Is reports whether data starts with Prefix.
func Is(data []byte) bool { return bytes.HasPrefix(data, []byte(Prefix)) }

// Decode decodes an envelope. Raw of the result shares memory with data. Unknown fields are
// ignored.
func Decode(data []byte) (Envelope, error) {
	if !Is(data) {
		return Envelope{}, ErrPrefix
	}
	data = data[len(Prefix):]
	if len(data) == 0 {
		return Envelope{}, ErrEmpty
	}
	var e Envelope
	err := visitFields(data, func(n protowire.Number, value []byte) error {
		switch n {
		case fieldTypeMeta:
			return e.decodeTypeMeta(value)
		case fieldRaw:
			e.Raw = value
		case fieldContentEncoding:
			e.ContentEncoding = string(value)
		case fieldContentType:
			e.ContentType = string(value)
		}
		return nil
	})
	if err != nil {
		return Envelope{}, fmt.Errorf("envelope: %w", err)
	}
	return e, nil
}

func (e *Envelope) decodeTypeMeta(data []byte) error {
	return visitFields(data, func(n protowire.Number, value []byte) error {
		switch n {
		case fieldAPIVersion:
			e.APIVersion = string(value)
		case fieldKind:
			e.Kind = string(value)
		}
		return nil
	})
}

// visitFields calls visit for each length-delimited field of a message, and skips other fields.
func visitFields(data []byte, visit func(n protowire.Number, value []byte) error) error {
	for len(data) > 0 {
		n, t, size := protowire.ConsumeTag(data)
		if size < 0 {
			return protowire.ParseError(size)
		}
		data = data[size:]
		if t != protowire.BytesType {
			if size = protowire.ConsumeFieldValue(n, t, data); size < 0 {
				return protowire.ParseError(size)
			}
			data = data[size:]
			continue
		}
		value, size := protowire.ConsumeBytes(data)
		if size < 0 {
			return protowire.ParseError(size)
		}
		if err := visit(n, value); err != nil {
			return err
		}
		data = data[size:]
	}
	return nil
}
