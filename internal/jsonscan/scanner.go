package jsonscan

// Text is a JSON text.
type Text interface{ string | []byte }

// Scanner goes through a text and checks that it is JSON. It accepts exactly the texts
// that encoding/json accepts. Once a method has returned false, the Scanner is of no
// further use.
type Scanner[T Text] struct {
	Text T
	// At is the offset of the first byte that the Scanner has not gone past.
	At int
	// Depth is the number of objects and arrays that contain At, and MaxDepth the
	// greatest permitted one.
	Depth, MaxDepth int
	// Spaced reports whether the Scanner has gone past white space.
	Spaced bool
}

// String is a JSON string as it stands in a text.
type String[T Text] struct {
	// Content is the text between the quotes.
	Content T
	// Plain reports whether Content is ASCII without escapes, which needs no decoding.
	Plain bool
}

// Next skips white space and returns the byte at At, or 0 at the end of the text.
func (s *Scanner[T]) Next() byte {
	for ; s.At < len(s.Text); s.At++ {
		switch b := s.Text[s.At]; b {
		case ' ', '\t', '\r', '\n':
			s.Spaced = true
		default:
			return b
		}
	}
	return 0
}

// AtEnd skips white space and reports whether the text ends there.
func (s *Scanner[T]) AtEnd() bool { return s.Next() == 0 && s.At == len(s.Text) }

// Byte goes past white space and the byte b.
func (s *Scanner[T]) Byte(b byte) bool {
	ok := s.Next() == b
	s.At++
	return ok
}

// Literal goes past true, false or null, which must stand at At.
func (s *Scanner[T]) Literal(word string) bool {
	end := s.At + len(word)
	ok := end <= len(s.Text) && string(s.Text[s.At:end]) == word
	s.At = end
	return ok
}

// Value goes past white space and a value, and returns the text of the value.
func (s *Scanner[T]) Value() (text T, ok bool) {
	b := s.Next()
	start := s.At
	switch b {
	case '"':
		_, ok = s.String()
	case '{':
		ok = s.Members(func(String[T]) bool { return s.skipValue() })
	case '[':
		ok = s.Elements(func(int) bool { return s.skipValue() })
	case 't':
		ok = s.Literal("true")
	case 'f':
		ok = s.Literal("false")
	case 'n':
		ok = s.Literal("null")
	default:
		_, ok = s.Number()
	}
	if !ok {
		return text, false
	}
	return s.Text[start:s.At], true
}

func (s *Scanner[T]) skipValue() bool {
	_, ok := s.Value()
	return ok
}

// Members goes past an object, whose brace must stand at At. It calls each with the
// name of each member, to go past the value of that member.
func (s *Scanner[T]) Members(each func(name String[T]) bool) bool {
	return s.parts('}', func(int) bool {
		if s.Next() != '"' {
			return false
		}
		name, ok := s.String()
		return ok && s.Byte(':') && each(name)
	})
}

// Elements goes past an array, whose bracket must stand at At. It calls each with the
// index of each element, to go past that element.
func (s *Scanner[T]) Elements(each func(i int) bool) bool { return s.parts(']', each) }

// parts goes past an object or an array, which ends with the byte end.
func (s *Scanner[T]) parts(end byte, each func(i int) bool) bool {
	if s.Depth++; s.Depth > s.MaxDepth {
		return false
	}
	s.At++
	if s.Next() == end {
		s.At++
		s.Depth--
		return true
	}
	for i := 0; each(i); i++ {
		switch s.Next() {
		case ',':
			s.At++
		case end:
			s.At++
			s.Depth--
			return true
		default:
			return false
		}
	}
	return false
}

// String goes past a string, whose first quote must stand at At.
func (s *Scanner[T]) String() (str String[T], ok bool) {
	start := s.At + 1
	plain := true
	for i := start; i < len(s.Text); i++ {
		switch b := s.Text[i]; {
		case b == '"':
			s.At = i + 1
			return String[T]{s.Text[start:i], plain}, true
		case b < ' ':
			return str, false
		case b == '\\':
			n := escapeLen(s.Text[i:])
			if n == 0 {
				return str, false
			}
			i += n - 1
			plain = false
		case b >= 0x80:
			plain = false
		}
	}
	return str, false
}

// Number goes past a number, which must stand at At. It reports whether the number has
// neither a fraction nor an exponent.
func (s *Scanner[T]) Number() (isInteger, ok bool) {
	if s.At < len(s.Text) && s.Text[s.At] == '-' {
		s.At++
	}
	first := s.At
	if n := s.digits(); n == 0 || n > 1 && s.Text[first] == '0' {
		return false, false
	}
	isInteger = true
	if s.At < len(s.Text) && s.Text[s.At] == '.' {
		isInteger = false
		if s.At++; s.digits() == 0 {
			return false, false
		}
	}
	if s.At < len(s.Text) && (s.Text[s.At] == 'e' || s.Text[s.At] == 'E') {
		isInteger = false
		s.At++
		if s.At < len(s.Text) && (s.Text[s.At] == '+' || s.Text[s.At] == '-') {
			s.At++
		}
		if s.digits() == 0 {
			return false, false
		}
	}
	return isInteger, true
}

// digits goes past decimal digits and returns their number.
func (s *Scanner[T]) digits() int {
	start := s.At
	for s.At < len(s.Text) && '0' <= s.Text[s.At] && s.Text[s.At] <= '9' {
		s.At++
	}
	return s.At - start
}
