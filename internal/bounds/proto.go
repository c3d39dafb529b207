package bounds

// maxProtoDepth is the maximum nesting of messages. One level of JSON is two levels of
// protobuf if its type is a union, as that of a schema's items is. Recursive types are
// checked again as JSON.
const maxProtoDepth = 2*MaxDepth + 16

// Proto checks the nesting of a protobuf message. The generated decoders recurse without a
// limit, and Go ends the process when a stack overflows.
//
// Without its type, a nested message cannot be distinguished from a string or bytes. Proto
// takes each of them for a message, as far as it can be parsed, since a decoder may get
// that far. Text and random bytes do not reach the limit.
func Proto(message []byte) error {
	var room [32]int // more than the objects of the API need
	ends, sum := append(room[:0], len(message)), 0
	for at := 0; len(ends) > 0; {
		end := ends[len(ends)-1]
		if at >= end {
			ends = ends[:len(ends)-1]
			at = end
			continue
		}
		value, next, nested, ok := field(message[:end], at)
		switch {
		case !ok: // the rest is not a message, or the decoders refuse it
			at = end
			continue
		case nested && len(ends) == maxProtoDepth:
			return errDepth()
		case nested:
			if sum += next - value; sum > maxNested {
				return errNested()
			}
			ends = append(ends, next)
			next = value
		}
		at = next
	}
	return nil
}

// Wire types of protobuf.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireStart   = 3
	wireEnd     = 4
	wireFixed32 = 5
)

// field parses the field at an offset. It returns the offsets of its value and of the next
// field, and whether the value may be a message. It accepts everything that the generated
// decoders accept. Those skip groups; here the fields of a group count as fields of the
// message.
func field(data []byte, at int) (value, next int, nested, ok bool) {
	tag, at, ok := varint(data, at)
	if !ok {
		return 0, 0, false, false
	}
	switch tag & 7 {
	case wireVarint:
		_, next, ok = varint(data, at)
		return at, next, false, ok
	case wireFixed64:
		return at, at + 8, false, at+8 <= len(data)
	case wireFixed32:
		return at, at + 4, false, at+4 <= len(data)
	case wireStart, wireEnd:
		return at, at, false, true
	case wireBytes:
		size, begin, ok := varint(data, at)
		if !ok || size > uint64(len(data)-begin) {
			return 0, 0, false, false
		}
		return begin, begin + int(size), size > 0, true
	}
	return 0, 0, false, false
}

// varint parses a number of at most ten bytes, and drops bits beyond 64.
func varint(data []byte, at int) (n uint64, next int, ok bool) {
	for shift := 0; shift < 64 && at < len(data); shift += 7 {
		b := data[at]
		at++
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n, at, true
		}
	}
	return 0, 0, false
}
