package conversation

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/miniapiserver/miniapiserver/internal/jsonscan"
)

// reformat formats JSON like the recorder, a Python program, and preserves the order of keys: in
// ASCII, with a space after commas and colons. Some responses quote the request, so the replay must
// send the same bytes.
func reformat(raw []byte) string {
	var b strings.Builder
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '"':
			end := jsonscan.StringEnd(raw, i)
			quoteLiteral(&b, raw[i+1:end-1])
			i = end
		case c == ',' || c == ':':
			b.WriteByte(c)
			b.WriteByte(' ')
			i++
		case c == '-' || c >= '0' && c <= '9':
			n := i
			for n < len(raw) && strings.IndexByte("+-.eE0123456789", raw[n]) >= 0 {
				n++
			}
			b.WriteString(pythonNumber(string(raw[i:n])))
			i = n
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			i++
		default:
			b.WriteByte(c)
			i++
		}
	}
	return b.String()
}

// quoteLiteral quotes the content of a JSON string. It handles UTF-16 code units, so that unpaired
// surrogates are preserved.
func quoteLiteral(b *strings.Builder, s []byte) {
	b.WriteByte('"')
	for i := 0; i < len(s); {
		if s[i] != '\\' || i+1 >= len(s) {
			r, n := utf8.DecodeRune(s[i:])
			writeRune(b, r)
			i += n
			continue
		}
		if s[i+1] == 'u' && i+6 <= len(s) {
			u, _ := strconv.ParseUint(string(s[i+2:i+6]), 16, 16)
			writeUnit(b, uint16(u))
			i += 6
			continue
		}
		if s[i+1] == '/' {
			b.WriteByte('/')
		} else {
			b.Write(s[i : i+2])
		}
		i += 2
	}
	b.WriteByte('"')
}

func writeRune(b *strings.Builder, r rune) {
	for _, u := range utf16.Encode([]rune{r}) {
		writeUnit(b, u)
	}
}

func writeUnit(b *strings.Builder, u uint16) {
	const truncated = "\b\f\n\r\t\"\\"
	if u < utf8.RuneSelf {
		if i := strings.IndexByte(truncated, byte(u)); i >= 0 {
			b.WriteByte('\\')
			b.WriteByte(`bfnrt"\`[i])
			return
		}
	}
	if u >= ' ' && u <= '~' {
		b.WriteByte(byte(u))
		return
	}
	fmt.Fprintf(b, `\u%04x`, u)
}

// pythonNumber formats a number like Python: integers of any size unchanged, floats in their
// shortest form.
func pythonNumber(s string) string {
	if !strings.ContainsAny(s, ".eE") {
		if s == "-0" {
			return "0"
		}
		return s
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return s
	}
	truncated := strconv.FormatFloat(f, 'e', -1, 64)
	if e := strings.IndexByte(truncated, 'e'); e >= 0 {
		if exp, err := strconv.Atoi(truncated[e+1:]); err == nil && (exp < -4 || exp >= 16) {
			return truncated
		}
	}
	plain := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(plain, ".") {
		plain += ".0"
	}
	return plain
}

// dump formats a decoded value with sorted keys.
func dump(v any) string {
	var b strings.Builder
	writeValue(&b, v)
	return b.String()
}

func writeValue(b *strings.Builder, v any) {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case json.Number:
		b.WriteString(pythonNumber(v.String()))
	case string:
		b.WriteByte('"')
		for _, r := range v {
			writeRune(b, r)
		}
		b.WriteByte('"')
	case []any:
		b.WriteByte('[')
		for i, x := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			writeValue(b, x)
		}
		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')
		for i, k := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				b.WriteString(", ")
			}
			writeValue(b, k)
			b.WriteString(": ")
			writeValue(b, v[k])
		}
		b.WriteByte('}')
	default:
		fmt.Fprint(b, v)
	}
}
