// Package compressed keeps texts compressed in such a way that they can be put
// together, in any order and any number of times, without being compressed again.
//
// A Text is blocks of deflate (RFC 1951) that refer to nothing before them and end
// with a byte. One after the other, such blocks are what is in a gzip file of one
// member (RFC 1952), whose checksum follows from those of the texts (sum.go). A
// File is that: it has no bytes of its own but those before and behind the texts,
// so that a file of many texts costs little more than they do.
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

// Text is a text, compressed. It is never changed.
type Text struct {
	blocks []byte
	size   int64 // of the text itself
	sum    uint32
	shift  uint32 // what the sum of a text before this one is multiplied by
	hash   [sha256.Size]byte
}

// end is a last block, which is empty.
const end = "\x01\x00\x00\xff\xff"

// Bytes are those of the text itself.
func (t *Text) Bytes() ([]byte, error) { return new(unpacker).unpack(t, nil) }

// unpacker unpacks Texts, one after the other. The zero value works.
type unpacker struct {
	blocks, end bytes.Reader
	flate       io.Reader
}

// unpack gives the text itself, in the place of into where there is enough.
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

// Compressor makes Texts, one after the other. What it needs for that is much
// bigger than they usually are. The zero value works.
type Compressor struct {
	out    bytes.Buffer
	writer *flate.Writer
}

// Compress makes a Text.
func (c *Compressor) Compress(text []byte) (*Text, error) {
	c.out.Reset()
	if c.writer == nil {
		// The fastest level: texts that are kept so repeat themselves so much that
		// the others gain little.
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

// File is texts, one after the other. It is safe for concurrent use.
type File struct {
	texts []*Text
	tail  []byte // of the gzip file
	hash  [sha512.Size]byte
}

// head is that of every gzip file made here: nothing is said of where it comes from.
const head = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff"

// Join makes a File.
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
	tail = binary.LittleEndian.AppendUint32(tail, uint32(size)) // which RFC 1952 wants modulo 2^32
	return &File{texts: texts, tail: tail, hash: [sha512.Size]byte(hash.Sum(nil))}
}

// Hash tells files of the same texts, in the same order, from others.
func (f *File) Hash() [sha512.Size]byte { return f.hash }

// Gzip reads the file as gzip has it.
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

// Plain reads the texts themselves. It has one at a time in memory.
func (f *File) Plain() io.ReadSeeker {
	var u unpacker
	var text []byte
	return newReader(len(f.texts), func(i int) int64 { return f.texts[i].size }, func(i int) ([]byte, error) {
		var err error
		text, err = u.unpack(f.texts[i], text)
		return text, err
	})
}
