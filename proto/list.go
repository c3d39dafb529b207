package proto

import "fmt"

// AppendListHead adds the envelope of a list of kind up to its first item, given
// the list's metadata (a metav1.ListMeta) and the sum of ItemSize over all
// items. Each item follows by AppendItem and the last one by AppendListTail, so
// that a list can be sent in parts.
func AppendListHead(dst []byte, apiVersion, kind string, meta Message, itemsSize int) ([]byte, error) {
	metaSize := meta.Size()
	metaField := fieldSize(fieldListMeta, metaSize)
	dst = appendHead(dst, apiVersion, kind, metaField+itemsSize, metaField)
	dst = appendField(dst, fieldListMeta, metaSize)
	dst, err := appendMessage(dst, meta, metaSize)
	if err != nil {
		return nil, fmt.Errorf("encode metadata of %s: %w", kind, err)
	}
	return dst, nil
}

// ItemSize is how much an item of so many bytes takes in a list.
func ItemSize(size int) int { return fieldSize(fieldItems, size) }

// AppendItem adds one item of a list, encoded already and without an envelope of
// its own.
func AppendItem(dst, raw []byte) []byte { return append(AppendItemHead(dst, len(raw)), raw...) }

// AppendItemHead begins an item of so many bytes, which the caller adds.
func AppendItemHead(dst []byte, size int) []byte { return appendField(dst, fieldItems, size) }

// AppendListTail adds what follows the last item.
func AppendListTail(dst []byte) []byte { return append(dst, tail...) }
