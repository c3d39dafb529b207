package quickjson

import "encoding/json"

// Entries of escapes: plain bytes are written unchanged, and the library writes strings with
// unusual bytes. Other entries are the letter after the backslash.
const (
	plain   = 0
	unusual = 1
)

var escapes = func() (out [256]byte) {
	for b := range out {
		if b < ' ' || b >= 0x80 {
			out[b] = unusual
		}
	}
	out['<'], out['>'], out['&'] = unusual, unusual, unusual
	out['"'], out['\\'] = '"', '\\'
	out['\n'], out['\r'], out['\t'] = 'n', 'r', 't'
	return out
}()

// PlainLen returns the number of leading bytes of s that encoding/json writes unchanged.
func PlainLen(s string) int {
	for i := range len(s) {
		if escapes[s[i]] != plain {
			return i
		}
	}
	return len(s)
}

// AppendString appends s as encoding/json writes it.
func AppendString(dst []byte, s string) []byte {
	before := len(dst)
	dst = append(dst, '"')
	start := 0
	for i := range len(s) {
		switch e := escapes[s[i]]; e {
		case plain:
		case unusual:
			data, _ := json.Marshal(s) // cannot fail for a string
			return append(dst[:before], data...)
		default:
			dst = append(append(dst, s[start:i]...), '\\', e)
			start = i + 1
		}
	}
	return append(append(dst, s[start:]...), '"')
}

// AppendContent appends s as AppendString does, without the quotes.
func AppendContent(dst []byte, s string) []byte {
	start := len(dst)
	dst = AppendString(dst, s)
	content := dst[start+1 : len(dst)-1]
	return append(dst[:start], content...)
}
