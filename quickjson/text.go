package quickjson

import "encoding/json"

// What is to be done with a byte of a string: nothing, a backslash before the
// letter given, or what only the library knows.
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

// AppendString appends s as encoding/json writes it.
func AppendString(dst []byte, s string) []byte {
	before := len(dst)
	dst = append(dst, '"')
	start := 0
	for i := range len(s) {
		switch e := escapes[s[i]]; e {
		case plain:
		case unusual:
			data, _ := json.Marshal(s) // every string has a JSON form
			return append(dst[:before], data...)
		default:
			dst = append(append(dst, s[start:i]...), '\\', e)
			start = i + 1
		}
	}
	return append(append(dst, s[start:]...), '"')
}
