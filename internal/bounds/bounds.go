// Package bounds limits the cost of decoding a document. The server checks every request
// body, whatever its verb and media type, and every object that a patch, a webhook or a
// policy produces, before it decodes them.
//
//	MaxBody    3 MiB    the text, a YAML document with its aliases expanded, and CBOR as JSON
//	MaxDepth   512      nesting of objects and arrays
//	maxNested  128 MiB  the sum of the lengths of all objects and arrays
//	maxPaths   32 MiB   the sum of the lengths of the paths to all values
//	maxDecoded 48 MiB   the sum of the sizes of all values in lists, maps and pointers
//
// The JSON decoders stop at 10,000 levels. MaxDepth is far below, because an object is
// decoded again inside of a list, a watch event or a review, and its managedFields mirror
// all of its levels.
//
// maxNested limits the cost of decoders that read a value once for each level above it, as
// those of all types with an UnmarshalJSON method do. maxPaths limits the size of error
// messages, each of which contains the path of a field: one long name above many invalid
// fields would produce gigabytes of text.
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
	maxNested = 128 << 20
	maxPaths  = 32 << 20
)

// managedDepth is the additional depth that is allowed in metadata.managedFields. They
// mirror the object four levels below its top, with one more level for each value, so that
// an object of MaxDepth levels can be read and written back.
const managedDepth = 8

// Error is the error of a document that exceeds a limit.
type Error struct{ message string }

// Error implements error.
func (e *Error) Error() string { return e.message }

func errDepth() error {
	return &Error{fmt.Sprintf("exceeded max depth of %d", MaxDepth)}
}

func errNested() error {
	return &Error{fmt.Sprintf("exceeded max nested length of %d", maxNested)}
}

// JSON checks a JSON text, which need not be valid.
func JSON(text []byte) error { return JSONAt(text, 0) }

// JSONAt checks a JSON text that is part of a document, at a depth.
func JSONAt(text []byte, depth int) error {
	_, err := measure(text, depth)
	return err
}

// Measure is JSON, and reports whether the text has so few values that it cannot exceed maxDecoded.
func Measure(text []byte) (isSmall bool, err error) { return measure(text, 0) }

func measure(text []byte, depth int) (isSmall bool, err error) {
	containers, values := counts(text)
	if depth+containers > MaxDepth || values*len(text) > maxPaths { // false for nearly all documents, which need no scan
		s := scanner{text: text, base: depth}
		err = s.scan()
	}
	return values <= maxDecoded/maxSize, err
}

// counts returns at least the numbers of objects and arrays, and of all values, in a JSON text.
func counts(text []byte) (containers, values int) {
	containers = bytes.Count(text, []byte{'{'}) + bytes.Count(text, []byte{'['})
	return containers, containers + bytes.Count(text, []byte{','}) + 1
}

// level is an object or array that contains the position of the scanner.
type level struct {
	start int
	// path is the length of the path to the level.
	path int
	// name is the last string in the level, which is a name if a colon follows it.
	name span
	// object is false for an array.
	object bool
	// managed means that the level is within metadata.managedFields.
	managed bool
}

type span struct{ from, to int }

// scanner reads a JSON text once and measures it.
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
		if s.nested > maxNested {
			return errNested()
		}
		if s.paths > maxPaths {
			return &Error{fmt.Sprintf("exceeded max length of field paths of %d", maxPaths)}
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

// named reports whether the last name in a level is name.
func (s *scanner) named(n int, name string) bool {
	l := &s.levels[n]
	return l.object && string(s.text[l.name.from:l.name.to]) == name
}

func (s *scanner) close(at int) {
	n := len(s.levels)
	if n == 0 {
		return // the decoder refuses the text
	}
	s.nested += at + 1 - s.levels[n-1].start
	s.levels = s.levels[:n-1]
}

// value adds the length of the path of a value.
func (s *scanner) value() {
	if n := len(s.levels); n > 0 {
		s.paths += s.levels[n-1].child()
	}
}

// child returns the length of the path to a value in l.
func (l *level) child() int {
	const index = 4 // [12]
	if !l.object {
		return l.path + index
	}
	return l.path + 1 + l.name.to - l.name.from
}
