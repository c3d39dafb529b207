package proto

import (
	"encoding/binary"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// tail is what follows the message: its content encoding and type, which
// kube-apiserver writes even when they are empty, as they always are here.
const tail = "\x1a\x00\x22\x00"

// Append adds the envelope of m to dst. The message is written straight into
// its place.
func Append(dst []byte, apiVersion, kind string, m Message) ([]byte, error) {
	size := m.Size()
	dst = appendHead(dst, apiVersion, kind, size, size)
	dst, err := appendMessage(dst, m, size)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", kind, err)
	}
	return append(dst, tail...), nil
}

// AppendRaw adds the envelope of a message that is encoded already.
func AppendRaw(dst []byte, apiVersion, kind string, raw []byte) []byte {
	dst = appendHead(dst, apiVersion, kind, len(raw), len(raw))
	dst = append(dst, raw...)
	return append(dst, tail...)
}

// appendHead adds everything up to the message itself, which will have rawSize
// bytes, and makes room for so many of them and the tail.
func appendHead(dst []byte, apiVersion, kind string, rawSize, room int) []byte {
	metaSize := fieldSize(fieldAPIVersion, len(apiVersion)) + fieldSize(fieldKind, len(kind))
	dst = slices.Grow(dst, len(Prefix)+fieldSize(fieldTypeMeta, metaSize)+fieldSize(fieldRaw, 0)+binary.MaxVarintLen64+room+len(tail))
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
		return nil, fmt.Errorf("message has %d bytes, announced %d", n, size)
	}
	return dst, nil
}

// appendField adds tag and length of a field of size bytes.
func appendField(dst []byte, n protowire.Number, size int) []byte {
	dst = protowire.AppendTag(dst, n, protowire.BytesType)
	return protowire.AppendVarint(dst, uint64(size))
}

func fieldSize(n protowire.Number, size int) int {
	return protowire.SizeTag(n) + protowire.SizeBytes(size)
}
