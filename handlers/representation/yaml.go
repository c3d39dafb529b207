package representation

import (
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

// toYAML converts JSON to YAML. JSON strings may contain characters that YAML allows
// only as escapes, such as DEL and the C1 controls, and line breaks that YAML folds.
// They are escaped first, because the YAML parser refuses or changes them.
func toYAML(data []byte) ([]byte, error) {
	return yaml.JSONToYAML(escapeUnprintable(data))
}

// escapeUnprintable returns JSON in which the characters that YAML refuses or changes
// in quoted text are written as \u escapes. Valid JSON contains them only in strings. It
// returns data itself if there are none.
func escapeUnprintable(data []byte) []byte {
	var out []byte
	done := 0
	for i := 0; i < len(data); {
		if c := data[i]; c >= ' ' && c < 0x7f {
			i++
			continue
		}
		r, size := utf8.DecodeRune(data[i:])
		if !yamlPrintable(r) || r == utf8.RuneError && size == 1 {
			out = append(out, data[done:i]...)
			out = append(out, '\\', 'u', hexDigit(r>>12), hexDigit(r>>8), hexDigit(r>>4), hexDigit(r))
			done = i + size
		}
		i += size
	}
	if done == 0 {
		return data
	}
	return append(out, data[done:]...)
}

// yamlPrintable reports whether a character means itself in quoted YAML. All other
// characters are in the basic plane.
func yamlPrintable(r rune) bool {
	switch {
	case r == '\t', r == '\n', r == '\r':
		return true
	case r < ' ', r >= 0x7f && r < 0xa0, r == 0xfeff, r == 0xfffe, r == 0xffff:
		return false
	case r == 0x2028, r == 0x2029: // line breaks in YAML, as NEL is
		return false
	}
	return true
}

func hexDigit(r rune) byte { return "0123456789abcdef"[r&0xf] }
