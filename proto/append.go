package proto

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// envelopeTail follows the message: its content encoding and content type, which kube-apiserver
// writes even if they are empty. Here they always are.
const envelopeTail = "\x1a\x00\x22\x00"

// Append appends the envelope of m to dst. It marshals the message in place.
func Append(dst []byte, apiVersion, kind string, m Message) ([]byte, error) {
	return NewHead(apiVersion, kind).Append(dst, m)
}

// Head is the part of an envelope before the size of its message: API version and kind. A
// caller that writes many messages of one kind makes it once.
type Head struct {
	text []byte
	kind string
}

// NewHead returns the Head of the messages of a kind.
func NewHead(apiVersion, kind string) Head {
	text := appendEnvelopeHead(nil, apiVersion, kind, 0, 0)
	return Head{slices.Clone(text[:len(text)-1]), kind} // without the size, which is one byte here
}

// Append appends the envelope of m to dst. It marshals the message in place.
func (h Head) Append(dst []byte, m Message) ([]byte, error) {
	size := m.Size()
	dst = h.AppendHead(slices.Grow(dst, h.EnvelopeSize(size)), size)
	dst, err := appendMessage(dst, m, size)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", h.kind, err)
	}
	return AppendTail(dst), nil
}

// EnvelopeSize returns the size of the envelope of a message of size bytes.
func (h Head) EnvelopeSize(size int) int {
	return len(h.text) + protowire.SizeBytes(size) + len(envelopeTail)
}

// AppendHead appends an envelope up to its message of size bytes, which the caller appends before AppendTail.
func (h Head) AppendHead(dst []byte, size int) []byte {
	return protowire.AppendVarint(append(dst, h.text...), uint64(size))
}

// AppendTail appends the end of an envelope, after its message.
func AppendTail(dst []byte) []byte { return append(dst, envelopeTail...) }

// Raw returns the message in an envelope, and false if Append would write the envelope otherwise. The zero Head has no
// messages.
func (h Head) Raw(envelope []byte) (message []byte, ok bool) {
	rest, ok := bytes.CutPrefix(envelope, h.text)
	if !ok || len(h.text) == 0 {
		return nil, false
	}
	message, n := protowire.ConsumeBytes(rest)
	return message, n >= 0 && string(rest[n:]) == envelopeTail
}

// AppendRaw appends the envelope of an encoded message to dst.
func AppendRaw(dst []byte, apiVersion, kind string, raw []byte) []byte {
	dst = appendEnvelopeHead(dst, apiVersion, kind, len(raw), len(raw))
	return AppendTail(append(dst, raw...))
}

// appendEnvelopeHead appends the envelope up to the message of rawSize bytes. It grows dst for
// room bytes of the message and the tail.
func appendEnvelopeHead(dst []byte, apiVersion, kind string, rawSize, room int) []byte {
	metaSize := fieldSize(fieldAPIVersion, len(apiVersion)) + fieldSize(fieldKind, len(kind))
	dst = slices.Grow(dst, len(Prefix)+fieldSize(fieldTypeMeta, metaSize)+fieldSize(fieldRaw, 0)+binary.MaxVarintLen64+room+len(envelopeTail))
	dst = append(dst, Prefix...)
	dst = appendField(dst, fieldTypeMeta, metaSize)
	dst = append(appendField(dst, fieldAPIVersion, len(apiVersion)), apiVersion...)
	dst = append(appendField(dst, fieldKind, len(kind)), kind...)
	return appendField(dst, fieldRaw, rawSize)
}

func appendMessage(dst []byte, m Message, size int) ([]byte, error) {
	start := len(dst)
	dst = slices.Grow(dst, size)[:start+size]
	n, err := m.MarshalToSizedBuffer(dst[start:])
	if err != nil {
		return nil, err
	}
	if n != size {
		return nil, fmt.Errorf("message has %d bytes, Size returned %d", n, size)
	}
	return dst, nil
}

// appendField appends the tag and the length of a field of size bytes.
func appendField(dst []byte, n protowire.Number, size int) []byte {
	dst = protowire.AppendTag(dst, n, protowire.BytesType)
	return protowire.AppendVarint(dst, uint64(size))
}

func fieldSize(n protowire.Number, size int) int {
	return protowire.SizeTag(n) + protowire.SizeBytes(size)
}
