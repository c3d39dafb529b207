// Package proto reads and writes the form in which Kubernetes wraps protobuf:
// the four bytes k8s\0 and, after them, a small message that says which kind
// and version the enclosed bytes are of. Values in etcd, bodies of requests and
// answers all have it.
//
// An Envelope is what was read; Append and AppendRaw write one, and what
// AppendListHead begins is one of a list. The enclosed message itself is the
// business of the generated types of k8s.io/api: here it is bytes, which are
// neither looked into nor copied on reading.
package proto

import (
	"bytes"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// Prefix starts every envelope.
const Prefix = "k8s\x00"

// Errors of Decode. ErrPrefix: the bytes are not an envelope at all. ErrEmpty:
// nothing follows the prefix.
var (
	ErrPrefix = errors.New("proto: missing k8s prefix")
	ErrEmpty  = errors.New("proto: empty body")
)

// Field numbers of the envelope, of the type it starts with, and of lists.
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

// Envelope is a message with the kind and version it has.
type Envelope struct {
	APIVersion, Kind string
	// Raw is the message. After Decode it is part of what was decoded.
	Raw []byte
	// ContentEncoding and ContentType are empty where Raw is plain protobuf.
	ContentEncoding, ContentType string
}

// Message is a type that writes itself into a buffer of its own size, as the
// generated types of k8s.io/api do.
type Message interface {
	Size() int
	MarshalToSizedBuffer([]byte) (int, error)
}

// Is tells whether data starts like an envelope.
func Is(data []byte) bool { return bytes.HasPrefix(data, []byte(Prefix)) }

// Decode reads an envelope. The Raw of the result shares memory with data.
// Fields that are not known are passed over.
func Decode(data []byte) (Envelope, error) {
	if !Is(data) {
		return Envelope{}, ErrPrefix
	}
	data = data[len(Prefix):]
	if len(data) == 0 {
		return Envelope{}, ErrEmpty
	}
	var e Envelope
	err := fields(data, func(n protowire.Number, value []byte) error {
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
	return fields(data, func(n protowire.Number, value []byte) error {
		switch n {
		case fieldAPIVersion:
			e.APIVersion = string(value)
		case fieldKind:
			e.Kind = string(value)
		}
		return nil
	})
}

// fields calls visit for each length-delimited field of a message; those of
// other wire types are skipped.
func fields(data []byte, visit func(n protowire.Number, value []byte) error) error {
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
