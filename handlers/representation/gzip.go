package representation

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"hash/crc32"
	"net/http"
	"strings"
	"sync"
)

// Large responses are compressed for clients that accept gzip. A gzip stream is a
// header, blocks, and a checksum of the uncompressed data. Blocks without references to
// earlier data that end at a byte boundary can be concatenated in any order, and the
// checksum of the stream follows from the checksums of its parts. So each part of a
// response is compressed once and cached (gzip_parts.go).

const (
	// gzipThreshold is the size from which responses are compressed: kube-apiserver's.
	gzipThreshold = 128 << 10
	encodingGzip  = "gzip"
	// gzipHead is the header: deflate, no name, no time, unknown operating system.
	gzipHead = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
	// gzipLast is an empty final block.
	gzipLast = "\x01\x00\x00\xff\xff"
)

// compressible reports whether the response may be compressed. The chain's response writer
// has read this from the headers of the request.
func compressible(w http.ResponseWriter) bool {
	c, ok := w.(interface{ AcceptsGzip() bool })
	return ok && c.AcceptsGzip()
}

// AcceptsGzip reports whether the client accepts a response compressed with gzip. Only the bare
// name counts, as in kube-apiserver: a coding with a weight and the coding * do not.
func AcceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		if strings.TrimSpace(part) == encodingGzip {
			return true
		}
	}
	return false
}

func setGzip(header http.Header) {
	header.Set("Content-Encoding", encodingGzip)
	header.Add("Vary", "Accept-Encoding")
}

// gzipPart is a part of a stream: its blocks, and the size and checksum of the data.
type gzipPart struct {
	blocks []byte
	size   int
	crc    uint32
	shift  uint32 // factor for the checksum of the preceding parts
}

// deflater compresses one part at a time.
type deflater struct {
	w   *flate.Writer
	out bytes.Buffer
}

// deflaters are pooled because each has tables of half a megabyte.
var deflaters = sync.Pool{New: func() any {
	d := &deflater{}
	d.w, _ = flate.NewWriter(&d.out, flate.BestSpeed) // fails only for invalid levels
	return d
}}

// compressPart compresses data as a part. The level is kube-apiserver's.
func compressPart(data []byte) (*gzipPart, error) {
	d := deflaters.Get().(*deflater)
	defer deflaters.Put(d)
	d.out.Reset()
	d.w.Reset(&d.out)
	if _, err := d.w.Write(data); err != nil {
		return nil, err
	}
	if err := d.w.Flush(); err != nil { // to a byte boundary
		return nil, err
	}
	return &gzipPart{blocks: bytes.Clone(d.out.Bytes()), size: len(data), crc: crc32.ChecksumIEEE(data), shift: crcShift(len(data))}, nil
}

// gzipSum accumulates the checksum and size of a stream.
type gzipSum struct{ crc, size uint32 }

// add adds a part to the stream and appends its blocks to b.
func (s *gzipSum) add(b []byte, p *gzipPart) []byte {
	s.crc = crcMultiply(p.shift, s.crc) ^ p.crc
	s.size += uint32(p.size)
	return append(b, p.blocks...)
}

// end appends the end of the stream to b.
func (s *gzipSum) end(b []byte) []byte {
	b = append(b, gzipLast...)
	b = binary.LittleEndian.AppendUint32(b, s.crc)
	return binary.LittleEndian.AppendUint32(b, s.size)
}

// gzipWhole compresses a complete response.
func gzipWhole(data []byte) ([]byte, error) {
	p, err := compressPart(data)
	if err != nil {
		return nil, err
	}
	var sum gzipSum
	b := make([]byte, 0, len(gzipHead)+len(p.blocks)+len(gzipLast)+8)
	return sum.end(sum.add(append(b, gzipHead...), p)), nil
}

// The checksum of gzip is a remainder of polynomials over GF(2). The checksum of the
// concatenation of a and b is
//
//	crc(a b) = crc(a) * x^(8*len(b)) + crc(b)
//
// modulo the polynomial crc32.IEEE, whose bits are reversed: the highest bit is the
// coefficient of x^0.

// crcMultiply returns the product of two polynomials.
func crcMultiply(a, b uint32) uint32 {
	var product uint32
	for ; a != 0; a <<= 1 {
		if a&(1<<31) != 0 {
			product ^= b
		}
		low := b & 1
		b >>= 1
		if low != 0 {
			b ^= crc32.IEEE
		}
	}
	return product
}

// crcShift returns x^(8*n).
func crcShift(n int) uint32 {
	const one, byX8 = 1 << 31, 1 << 23
	result, factor := uint32(one), uint32(byX8)
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			result = crcMultiply(result, factor)
		}
		factor = crcMultiply(factor, factor)
	}
	return result
}
