package bounds

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Major types of CBOR (RFC 8949, section 3.1).
const (
	cborUnsigned = iota
	cborNegative
	cborBytes
	cborText
	cborArray
	cborMap
	cborTag
	cborSimple
)

// indefinite is the additional information of an item that a break ends, and of the break itself.
const indefinite = 31

// Tags of byte strings that become text (RFC 8949, section 3.4.5.2).
const (
	tagBase64URL = 21
	tagBase64    = 22
	tagBase16    = 23
)

// maxTags is the maximum number of tags of one data item.
const maxTags = 8

// errMalformed is the error of data that is not CBOR, which the decoder reports with its reason.
var errMalformed = errors.New("malformed CBOR")

// CBOR checks a CBOR data item, and returns it as JSON, to which the other limits apply. It accepts
// more than the decoders: simple values and keys that JSON does not have, duplicate keys, and
// bytes after the item. ok is false for data that is not CBOR.
func CBOR(data []byte) (text []byte, ok bool, err error) {
	r := cborReader{data: data, out: make([]byte, 0, len(data)+len(data)/4)}
	switch err := r.item(0); {
	case err == errMalformed:
		return nil, false, nil
	case err != nil:
		return nil, false, err
	}
	return r.out, true, nil
}

// cborReader writes the JSON of a data item.
type cborReader struct {
	data []byte
	at   int
	out  []byte
}

// head reads the head of an item. n is its argument; it is meaningless if info is indefinite.
func (r *cborReader) head() (major int, info byte, n uint64, err error) {
	if r.at >= len(r.data) {
		return 0, 0, 0, errMalformed
	}
	b := r.data[r.at]
	r.at++
	major, info = int(b>>5), b&31
	switch {
	case info < 24:
		return major, info, uint64(info), nil
	case info == indefinite:
		return major, info, 0, nil
	case info > 27:
		return 0, 0, 0, errMalformed
	}
	width := 1 << (info - 24)
	if len(r.data)-r.at < width {
		return 0, 0, 0, errMalformed
	}
	var argument [8]byte
	copy(argument[8-width:], r.data[r.at:])
	r.at += width
	return major, info, binary.BigEndian.Uint64(argument[:]), nil
}

// item reads a data item inside of some arrays and maps.
func (r *cborReader) item(depth int) error {
	var tag uint64
	for tags := 0; ; tags++ {
		major, info, n, err := r.head()
		if err != nil {
			return err
		}
		if major != cborTag {
			return r.untagged(depth, major, info, n, tag)
		}
		if tags == maxTags {
			return &Error{fmt.Sprintf("exceeded max tags of %d", maxTags)}
		}
		if info == indefinite {
			return errMalformed
		}
		tag = n
	}
}

// untagged reads an item after its head. tag is its last tag.
func (r *cborReader) untagged(depth, major int, info byte, n, tag uint64) error {
	if len(r.out) > MaxBody {
		return &Error{fmt.Sprintf("exceeded max length of %d as JSON", MaxBody)}
	}
	switch major {
	case cborUnsigned, cborNegative:
		if info == indefinite {
			return errMalformed
		}
		r.integer(major, n)
		return nil
	case cborBytes, cborText:
		content, err := r.content(major, info, n)
		if err == nil {
			r.text(content, major, tag)
		}
		return err
	case cborArray, cborMap:
		if depth++; depth > MaxDepth+managedDepth {
			return errDepth()
		}
		return r.container(depth, major, info, n)
	}
	if info == indefinite {
		return errMalformed // a break outside of a container
	}
	r.simple(info, n)
	return nil
}

func (r *cborReader) integer(major int, n uint64) {
	if major == cborNegative {
		r.out = append(r.out, '-')
		if n != math.MaxUint64 {
			n++
		}
	}
	r.out = strconv.AppendUint(r.out, n, 10)
}

// content reads the content of a string, which may be in chunks.
func (r *cborReader) content(major int, info byte, n uint64) ([]byte, error) {
	if info != indefinite {
		return r.bytes(n)
	}
	var all []byte
	for {
		chunkMajor, info, n, err := r.head()
		switch {
		case err != nil:
			return nil, err
		case chunkMajor == cborSimple && info == indefinite:
			return all, nil
		case chunkMajor != major || info == indefinite:
			return nil, errMalformed
		}
		chunk, err := r.bytes(n)
		if err != nil {
			return nil, err
		}
		all = append(all, chunk...)
	}
}

func (r *cborReader) bytes(n uint64) ([]byte, error) {
	if n > uint64(len(r.data)-r.at) {
		return nil, errMalformed
	}
	r.at += int(n)
	return r.data[r.at-int(n) : r.at], nil
}

// text appends a string as the decoders show it.
func (r *cborReader) text(content []byte, major int, tag uint64) {
	r.out = append(r.out, '"')
	switch {
	case major == cborBytes && tag == tagBase64:
		r.out = base64.StdEncoding.AppendEncode(r.out, content)
	case major == cborBytes && tag == tagBase64URL:
		r.out = base64.RawURLEncoding.AppendEncode(r.out, content)
	case major == cborBytes && tag == tagBase16:
		r.out = hex.AppendEncode(r.out, content)
	default:
		for _, b := range content {
			switch {
			case b == '"', b == '\\':
				r.out = append(r.out, '\\', b)
			case b < ' ':
				r.out = hex.AppendEncode(append(r.out, `\u00`...), []byte{b})
			default:
				r.out = append(r.out, b)
			}
		}
	}
	r.out = append(r.out, '"')
}

// container reads the items of an array or a map.
func (r *cborReader) container(depth, major int, info byte, n uint64) error {
	open, end := byte('['), byte(']')
	if major == cborMap {
		open, end = '{', '}'
	}
	r.out = append(r.out, open)
	for i := uint64(0); info == indefinite || i < n; i++ {
		if info == indefinite && r.at < len(r.data) && r.data[r.at] == cborSimple<<5|indefinite {
			r.at++
			break
		}
		if i > 0 {
			r.out = append(r.out, ',')
		}
		if major == cborMap {
			if err := r.key(depth); err != nil {
				return err
			}
		}
		if err := r.item(depth); err != nil {
			return err
		}
	}
	r.out = append(r.out, end)
	return nil
}

// key reads the key of a map. JSON has only strings.
func (r *cborReader) key(depth int) error {
	start := len(r.out)
	if err := r.item(depth); err != nil {
		return err
	}
	switch r.out[start] {
	case '"':
	case '{', '[':
		r.out = append(r.out[:start], `""`...)
	default:
		r.out = append(slices.Insert(r.out, start, '"'), '"')
	}
	r.out = append(r.out, ':')
	return nil
}

// simple appends a simple value or a number. Values that JSON does not have become null.
func (r *cborReader) simple(info byte, n uint64) {
	const boolFalse, boolTrue = 20, 21
	const half, single, double = 25, 26, 27
	value := math.NaN()
	switch info {
	case boolFalse, boolTrue:
		r.out = strconv.AppendBool(r.out, info == boolTrue)
		return
	case half:
		value = halfFloat(uint16(n))
	case single:
		value = float64(math.Float32frombits(uint32(n)))
	case double:
		value = math.Float64frombits(n)
	}
	if math.IsNaN(value) || math.IsInf(value, 0) {
		r.out = append(r.out, "null"...)
		return
	}
	r.out = strconv.AppendFloat(r.out, value, 'g', -1, 64)
}

// halfFloat returns the value of a finite number of 16 bits; NaN for others.
func halfFloat(bits uint16) float64 {
	sign := 1.0
	if bits>>15 == 1 {
		sign = -1
	}
	exponent, fraction := int(bits>>10&31), float64(bits&1023)
	switch exponent {
	case 0:
		return sign * math.Ldexp(fraction, -24)
	case 31:
		return math.NaN()
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}
