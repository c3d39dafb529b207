package representation

import (
	"bytes"
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/miniapiserver/miniapiserver/storage"
)

// message is the protobuf of an object without an envelope. It is whole, or made from the value in etcd without a copy: the
// two differ only in metadata.resourceVersion, which is empty in the value.
type message struct {
	whole []byte // nil if the message is made from the value

	meta     []byte // stored metadata
	position int    // of the resourceVersion in it
	after    []byte // message after the metadata
	version  int64
}

const (
	fieldMetadata        = 1 // in every object
	fieldResourceVersion = 6 // in its metadata
)

// emptyVersion is the stored field: its tag and a length of zero.
const emptyVersion = "\x32\x00"

// isSentAsStored reports whether values in etcd have the version of the codec, so that messages can be made from them.
func (c *Codec) isSentAsStored() bool {
	return c.hasProto && c.version.FromHub == nil && c.resource.StoredVersion() == c.version.GroupVersion
}

// message returns the protobuf of an object in the form of the view.
func (v *View) message(s Encodable) (message, error) {
	item, ok := s.(*storage.Item)
	if v.as != "" {
		if m, ok, err := v.codec.meta.storedMetadata(item); ok || err != nil {
			return m, err
		}
		raw, err := s.Encoding(v.codec.partialProtoSlot, v.codec.toPartialProto)
		return message{whole: raw}, err
	}
	if ok {
		return v.codec.itemMessage(item)
	}
	raw, err := s.Encoding(v.codec.protoSlot, v.codec.toProto)
	return message{whole: raw}, err
}

// storedMetadata returns the protobuf of the PartialObjectMetadata of an item, made from its value. It reports false if the
// object has to be decoded. The item may be nil.
func (c *Codec) storedMetadata(item *storage.Item) (m message, ok bool, err error) {
	if item == nil || !c.sentAsStored {
		return m, false, nil
	}
	m, err = c.itemMessage(item)
	if err != nil || m.whole != nil {
		return m, false, err
	}
	for _, name := range c.resource.HiddenAnnotations {
		if bytes.Contains(m.meta, []byte(name)) {
			return m, false, nil
		}
	}
	m.after = nil
	return m, true, nil
}

// itemMessage returns the protobuf of an item.
func (c *Codec) itemMessage(item *storage.Item) (message, error) {
	if err := item.Corrupt(); err != nil {
		return message{}, err
	}
	stored, ok := c.storedMessage(item)
	if ok && (!c.hasDefaults || item.HasDefaults()) {
		return stored, nil
	}
	if raw := item.CachedEncoding(c.protoSlot); raw != nil {
		return message{whole: raw}, nil
	}
	obj, err := item.Object()
	if err != nil {
		return message{}, err
	}
	raw, err := c.encodeProto(obj)
	switch {
	case err != nil:
		return message{}, err
	case ok && stored.equals(raw):
		item.SetHasDefaults()
		return stored, nil
	}
	return message{whole: item.CacheEncoding(c.protoSlot, raw)}, nil
}

// storedMessage parses the value of an item. It reports false if no message can be made from the value.
func (c *Codec) storedMessage(item *storage.Item) (m message, ok bool) {
	if !c.sentAsStored {
		return m, false
	}
	raw, ok := c.protoHead.Raw(item.Value())
	if !ok {
		return m, false
	}
	meta, after, ok := consumeField(raw, fieldMetadata)
	if !ok {
		return m, false
	}
	position := versionAt(meta)
	if position < 0 {
		return m, false
	}
	return message{meta: meta, position: position, after: after, version: item.Revision()}, true
}

// versionAt returns the position of the empty resourceVersion in encoded metadata; -1 if there is
// none. All fields before it are strings.
func versionAt(meta []byte) int {
	const version, text = fieldResourceVersion<<3 | byte(protowire.BytesType), byte(protowire.BytesType)
	for position := 0; position+1 < len(meta); {
		switch tag := meta[position]; {
		case tag == version && meta[position+1] == 0:
			return position
		case tag >= version || tag&7 != text:
			return -1
		}
		size, n := protowire.ConsumeVarint(meta[position+1:])
		if n < 0 || size > uint64(len(meta)) {
			return -1
		}
		position += 1 + n + int(size)
	}
	return -1
}

// consumeField parses the first field of a message, which must be of bytes.
func consumeField(raw []byte, want protowire.Number) (value, rest []byte, ok bool) {
	number, kind, n := protowire.ConsumeTag(raw)
	if n < 0 || number != want || kind != protowire.BytesType {
		return nil, nil, false
	}
	value, m := protowire.ConsumeBytes(raw[n:])
	if m < 0 {
		return nil, nil, false
	}
	return value, raw[n+m:], true
}

// size returns the size of the message.
func (m *message) size() int {
	if m.whole != nil {
		return len(m.whole)
	}
	meta := len(m.meta) + digits(m.version)
	return protowire.SizeTag(fieldMetadata) + protowire.SizeBytes(meta) + len(m.after)
}

// append appends the message to b.
func (m *message) append(b []byte) []byte {
	if m.whole != nil {
		return append(b, m.whole...)
	}
	count := digits(m.version)
	b = protowire.AppendTag(b, fieldMetadata, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(len(m.meta)+count))
	b = append(b, m.meta[:m.position]...)
	b = protowire.AppendTag(b, fieldResourceVersion, protowire.BytesType)
	b = strconv.AppendInt(append(b, byte(count)), m.version, 10)
	b = append(b, m.meta[m.position+len(emptyVersion):]...)
	return append(b, m.after...)
}

// equals reports whether append would append raw.
func (m *message) equals(raw []byte) bool {
	head := m.size() - len(m.after)
	if len(raw) != head+len(m.after) || !bytes.Equal(raw[head:], m.after) {
		return false
	}
	stored := message{meta: m.meta, position: m.position, version: m.version}
	return bytes.Equal(raw[:head], stored.append(make([]byte, 0, head)))
}

// digits returns the number of decimal digits of a number that is not negative.
func digits(n int64) int {
	count := 1
	for limit := int64(10); n >= limit && count < 19; count++ {
		if limit > math.MaxInt64/10 {
			return count + 1
		}
		limit *= 10
	}
	return count
}
