package representation

import (
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/miniapiserver/miniapiserver/proto"
	"github.com/miniapiserver/miniapiserver/storage"
)

// storedProto is an object's protobuf for clients, made from the value in etcd without decoding
// it. The two differ only in metadata.resourceVersion, which is empty in the value.
type storedProto struct {
	before   []byte // metadata before the field
	after    []byte // message after the field
	metaSize int    // size of the stored metadata
	version  int64
}

const (
	fieldMetadata        = 1 // in every object
	fieldResourceVersion = 6 // in its metadata
)

// emptyVersion is the stored field: its tag and a length of zero.
const emptyVersion = "\x32\x00"

// storedHead returns the Head of the values that storedProto can use; zero if there are none. It cannot use values of other versions, nor values to which defaults are added.
func storedHead(c *Codec) proto.Head {
	if c.resource.Default != nil || c.version.FromHub != nil || c.resource.StoredVersion() != c.version.GroupVersion {
		return proto.Head{}
	}
	return proto.NewHead(c.version.String(), c.resource.Kind)
}

// storedProto parses the value of an item. It reports false if the item must be decoded.
func (c *Codec) storedProto(item *storage.Item) (s storedProto, ok bool) {
	raw, ok := c.storedHead.Raw(item.Value())
	if !ok {
		return s, false
	}
	meta, after, ok := consumeField(raw, fieldMetadata)
	if !ok {
		return s, false
	}
	position := versionAt(meta)
	if position < 0 {
		return s, false
	}
	metaStart := len(raw) - len(after) - len(meta)
	return storedProto{before: meta[:position], after: raw[metaStart+position+len(emptyVersion):],
		metaSize: len(meta), version: item.Revision()}, true
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
func consumeField(message []byte, want protowire.Number) (value, rest []byte, ok bool) {
	number, kind, n := protowire.ConsumeTag(message)
	if n < 0 || number != want || kind != protowire.BytesType {
		return nil, nil, false
	}
	value, m := protowire.ConsumeBytes(message[n:])
	if m < 0 {
		return nil, nil, false
	}
	return value, message[n+m:], true
}

// size returns the size of the message.
func (s *storedProto) size() int {
	meta := s.metaSize + digits(s.version)
	return protowire.SizeTag(fieldMetadata) + protowire.SizeVarint(uint64(meta)) + len(s.before) + len(emptyVersion) + digits(s.version) + len(s.after)
}

// append appends the message to b.
func (s *storedProto) append(b []byte) []byte {
	b = protowire.AppendTag(b, fieldMetadata, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(s.metaSize+digits(s.version)))
	b = append(b, s.before...)
	b = protowire.AppendTag(b, fieldResourceVersion, protowire.BytesType)
	b = append(b, byte(digits(s.version)))
	b = strconv.AppendInt(b, s.version, 10)
	return append(b, s.after...)
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
