package proto

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// AppendListHead appends the envelope of a list up to its first item. meta is the list's
// metadata (a metav1.ListMeta), and itemsSize the sum of ItemSize over all items. AppendItem
// for each item and AppendTail complete the list, so a list can be sent in parts.
func AppendListHead(dst []byte, apiVersion, kind string, meta Message, itemsSize int) ([]byte, error) {
	metaSize := meta.Size()
	metaField := fieldSize(fieldListMeta, metaSize)
	dst = appendEnvelopeHead(dst, apiVersion, kind, metaField+itemsSize, metaField)
	dst = appendField(dst, fieldListMeta, metaSize)
	dst, err := appendMessage(dst, meta, metaSize)
	if err != nil {
		return nil, fmt.Errorf("encode metadata of %s: %w", kind, err)
	}
	return dst, nil
}

// ItemSize returns the size that an item of size bytes has in a list.
func ItemSize(size int) int { return fieldSize(fieldItems, size) }

// AppendItem appends one encoded item, without an envelope of its own.
func AppendItem(dst, raw []byte) []byte { return append(AppendItemHead(dst, len(raw)), raw...) }

// AppendItemHead appends the head of an item of size bytes, which the caller appends.
func AppendItemHead(dst []byte, size int) []byte { return appendField(dst, fieldItems, size) }

// VisitList calls meta with the metadata of an encoded list, and item with each of its items.
func VisitList(data []byte, meta, item func(raw []byte) error) error {
	return visitFields(data, func(n protowire.Number, value []byte) error {
		switch n {
		case fieldListMeta:
			return meta(value)
		case fieldItems:
			return item(value)
		}
		return nil
	})
}
