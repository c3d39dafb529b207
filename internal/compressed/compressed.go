// Package compressed stores compressed texts that can be concatenated, in any order and any
// number of times, without being compressed again.
//
// A Text is a sequence of deflate blocks (RFC 1951) that are independent of earlier data
// and end at a byte boundary. The concatenation of such blocks is the content of a gzip
// file with one member (RFC 1952), whose checksum can be computed from those of the texts
// (sum.go). A File is that concatenation. It stores only the header and the trailer of the
// gzip file in addition to the texts.
package compressed

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"hash/crc32"
	"io"
	"slices"
)

// Text is a compressed text. It is immutable.
type Text struct {
	blocks []byte
	size   int64 // of the uncompressed text
	sum    uint32
	shift  uint32 // factor of the checksum of a preceding text
	hash   [sha256.Size]byte
}

// end is an empty last block.
const end = "\x01\x00\x00\xff\xff"

// Bytes returns the uncompressed text.
func (t *Text) Bytes() ([]byte, error) { return new(unpacker).unpack(t, nil) }

// unpacker decompresses Texts one after the other. The zero value works.
type unpacker struct {
	blocks, end bytes.Reader
	flate       io.Reader
}

// unpack returns the uncompressed text, in the array of into if it has room.
func (u *unpacker) unpack(t *Text, into []byte) ([]byte, error) {
	u.blocks.Reset(t.blocks)
	u.end.Reset([]byte(end))
	from := io.MultiReader(&u.blocks, &u.end)
	if u.flate == nil {
		u.flate = flate.NewReader(from)
	} else if err := u.flate.(flate.Resetter).Reset(from, nil); err != nil {
		return nil, err
	}
	out := slices.Grow(into[:0], int(t.size))[:t.size]
	_, err := io.ReadFull(u.flate, out)
	return out, err
}

// Compressor compresses Texts one after the other. It reuses its buffers, which are much
// larger than a typical Text. The zero value works.
type Compressor struct {
	out    bytes.Buffer
	writer *flate.Writer
}

// Compress returns a Text.
func (c *Compressor) Compress(text []byte) (*Text, error) {
	c.out.Reset()
	if c.writer == nil {
		// The other levels gain little for texts as repetitive as schemas.
		w, err := flate.NewWriter(&c.out, flate.BestSpeed)
		if err != nil {
			return nil, err
		}
		c.writer = w
	} else {
		c.writer.Reset(&c.out)
	}
	if _, err := c.writer.Write(text); err != nil {
		return nil, err
	}
	if err := c.writer.Flush(); err != nil {
		return nil, err
	}
	return &Text{
		blocks: bytes.Clone(c.out.Bytes()), size: int64(len(text)),
		sum: crc32.ChecksumIEEE(text), shift: shift(len(text)), hash: sha256.Sum256(text),
	}, nil
}

// File is a concatenation of texts. It is safe for concurrent use.
type File struct {
	texts []*Text
	tail  []byte // of the gzip file
	hash  [sha512.Size]byte
}

// head is the gzip header, without a name and a time.
const head = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff"

// Join returns the concatenation of texts.
func Join(texts ...*Text) *File {
	var size int64
	var sum uint32
	hash := sha512.New()
	for _, t := range texts {
		sum = multiply(sum, t.shift) ^ t.sum
		size += t.size
		hash.Write(t.hash[:])
	}
	tail := binary.LittleEndian.AppendUint32([]byte(end), sum)
	tail = binary.LittleEndian.AppendUint32(tail, uint32(size)) // RFC 1952 defines it modulo 2^32
	return &File{texts: texts, tail: tail, hash: [sha512.Size]byte(hash.Sum(nil))}
}

// Hash returns a hash of the sequence of texts.
func (f *File) Hash() [sha512.Size]byte { return f.hash }

// Gzip returns a reader of the file in gzip format.
func (f *File) Gzip() io.ReadSeeker {
	segments := make([][]byte, 0, len(f.texts)+2)
	segments = append(segments, []byte(head))
	for _, t := range f.texts {
		segments = append(segments, t.blocks)
	}
	segments = append(segments, f.tail)
	return newReader(len(segments), func(i int) int64 { return int64(len(segments[i])) },
		func(i int) ([]byte, error) { return segments[i], nil })
}

// Plain returns a reader of the uncompressed texts. It holds one of them in memory at a
// time.
func (f *File) Plain() io.ReadSeeker {
	var u unpacker
	var text []byte
	return newReader(len(f.texts), func(i int) int64 { return f.texts[i].size }, func(i int) ([]byte, error) {
		var err error
		text, err = u.unpack(f.texts[i], text)
		return text, err
	})
}
