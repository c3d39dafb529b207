package representation

import (
	"bytes"
	"unicode/utf8"
)

// maxSimpleKey is the maximum length of a key of YAML, with the blanks that follow it.
const maxSimpleKey = 1024

// isYAMLText reports whether JSON has only characters and escapes that mean the same in YAML. YAML has
// no escapes of surrogate pairs and no \/, allows tabs and control characters in few places, takes
// some separators for line breaks, and wants a key and its colon in one line. False means no more than
// that it is not known.
func isYAMLText(data []byte) bool {
	inString, start, line := false, 0, 0 // start of the last string, and of the line
	for i := 0; i < len(data); i++ {
		switch b := data[i]; {
		case b == '"':
			if inString = !inString; inString {
				start = i
			}
		case b == ':' && !inString:
			if start < line || i-start >= maxSimpleKey {
				return false
			}
		case b == '\\':
			n := escapeLength(data[i:])
			if n == 0 {
				return false
			}
			i += n - 1
		case b >= utf8.RuneSelf:
			r, n := utf8.DecodeRune(data[i:])
			if r < 0xA0 || r == '\u2028' || r == '\u2029' || r == '\uFEFF' || r == '\uFFFE' || r == '\uFFFF' || r == utf8.RuneError {
				return false
			}
			i += n - 1
		case b == '\n':
			line = i
		case b < ' ', b == 0x7F:
			return false
		}
	}
	return true
}

// escapeLength returns the length of the escape at the beginning of data, or 0 if YAML may not have it.
func escapeLength(data []byte) int {
	switch {
	case len(data) < 2:
		return 0
	case bytes.IndexByte([]byte(`"\bfnrt`), data[1]) >= 0:
		return 2
	case data[1] != 'u' || len(data) < len(`\u0000`):
		return 0
	case (data[2] == 'd' || data[2] == 'D') && data[3] >= '8':
		return 0
	}
	return len(`\u0000`)
}
