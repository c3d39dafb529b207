// Package bounds limits what a document may cost before anything decodes it.
// The server applies the same limits to every body, whatever its verb and media
// type, and to every object that a patch, a webhook or a policy produces.
//
//	MaxBody    3 MiB    the text, and a YAML document with its aliases expanded
//	MaxDepth   512      objects and arrays that contain each other
//	MaxNested  128 MiB  the sum of the lengths of all objects and arrays
//	MaxPaths   32 MiB   the sum of the lengths of the paths to all values
//
// The JSON decoders stop at 10,000 levels. MaxDepth is far below, because an
// object is decoded again inside of a list, a watch event or a review, and its
// managedFields mirror all of its levels.
//
// MaxNested limits what decoders cost that read a value once for each level
// above it, as every type with an UnmarshalJSON method does. MaxPaths limits what
// error messages cost, each of which shows the path of a field: without it, one
// long name above many faulty fields produces gigabytes of text.
package bounds

import (
	"bytes"
	"fmt"

	"github.com/miniapiserver/miniapiserver/internal/jsonscan"
)

// The limits. See the package comment.
const (
	MaxBody   = 3 << 20
	MaxDepth  = 512
	MaxNested = 128 << 20
	MaxPaths  = 32 << 20
)

// managedDepth is how much deeper metadata.managedFields may be than the rest
// of an object. They mirror the object four levels below its top, and have one
// level for each value, so that an object of MaxDepth levels which a client reads
// can be written back.
const managedDepth = 8

// Error says which limit a document exceeds.
type Error struct{ message string }

// Error implements error.
func (e *Error) Error() string { return e.message }

func errDepth() error {
	return &Error{fmt.Sprintf("exceeded max depth of %d", MaxDepth)}
}

func errNested() error {
	return &Error{fmt.Sprintf("exceeded max nested length of %d", MaxNested)}
}

// JSON checks a JSON text. It does not find out whether the text is valid, only
// whether a decoder may read it.
func JSON(text []byte) error { return JSONAt(text, 0) }

// JSONAt checks a JSON text that is part of a document, at a certain depth.
func JSONAt(text []byte, depth int) error {
	containers := bytes.Count(text, []byte{'{'}) + bytes.Count(text, []byte{'['})
	values := containers + bytes.Count(text, []byte{','}) + 1
	if depth+containers <= MaxDepth && values*len(text) <= MaxPaths {
		return nil // as nearly all documents are, without a closer look
	}
	s := scanner{text: text, base: depth}
	return s.scan()
}

// level is an object or array that the scanner is in.
type level struct {
	start int
	// path is the length of the path to it.
	path int
	// name is the last string that stands in it, which before a colon is a name.
	name span
	// object is false of an array.
	object bool
	// managed is set below metadata.managedFields.
	managed bool
}

type span struct{ from, to int }

// scanner goes through a JSON text once.
type scanner struct {
	text          []byte
	base          int
	levels        []level
	nested, paths int
}

func (s *scanner) scan() error {
	s.levels = make([]level, 0, 32)
	for at := 0; at < len(s.text); at++ {
		switch s.text[at] {
		case '"':
			end := jsonscan.StringEnd(s.text, at)
			if n := len(s.levels); n > 0 {
				s.levels[n-1].name = span{at + 1, max(at+1, end-1)} // a last string without an end may be a quote alone
			}
			at = end - 1
		case '{', '[':
			if err := s.open(at); err != nil {
				return err
			}
		case '}', ']':
			s.close(at)
		case ':':
			s.value()
		case ',':
			if n := len(s.levels); n > 0 && !s.levels[n-1].object {
				s.value()
			}
		}
		if s.nested > MaxNested {
			return errNested()
		}
		if s.paths > MaxPaths {
			return &Error{fmt.Sprintf("exceeded max length of field paths of %d", MaxPaths)}
		}
	}
	return nil
}

// open enters an object or array.
func (s *scanner) open(at int) error {
	l := level{start: at, object: s.text[at] == '{'}
	if n := len(s.levels); n > 0 {
		l.path = s.levels[n-1].child()
		l.managed = s.levels[n-1].managed || n == 2 && s.named(0, "metadata") && s.named(1, "managedFields")
	}
	s.levels = append(s.levels, l)
	allowed := MaxDepth
	if l.managed {
		allowed += managedDepth
	}
	if s.base+len(s.levels) > allowed {
		return errDepth()
	}
	if !l.object {
		s.value()
	}
	return nil
}

// named reports whether a level is an object whose last name is the given one.
func (s *scanner) named(n int, name string) bool {
	l := &s.levels[n]
	return l.object && string(s.text[l.name.from:l.name.to]) == name
}

func (s *scanner) close(at int) {
	n := len(s.levels)
	if n == 0 {
		return // a decoder refuses it
	}
	s.nested += at + 1 - s.levels[n-1].start
	s.levels = s.levels[:n-1]
}

// value counts the path of a value.
func (s *scanner) value() {
	if n := len(s.levels); n > 0 {
		s.paths += s.levels[n-1].child()
	}
}

// child is the length of the path to a value in l.
func (l *level) child() int {
	const index = 4 // [12]
	if !l.object {
		return l.path + index
	}
	return l.path + 1 + l.name.to - l.name.from
}
