package jsonscan

import (
	"encoding/json"
	"unicode/utf16"
	"unicode/utf8"
)

// Unquote returns the content of a valid JSON string as encoding/json decodes it, with
// U+FFFD for invalid characters.
func Unquote[T Text](quoted T) string {
	content := quoted[1 : len(quoted)-1]
	return String[T]{content, isPlain(content)}.Unquote()
}

// Unquote returns the content of s as the function Unquote does.
func (s String[T]) Unquote() string {
	if s.Plain {
		return string(s.Content)
	}
	if text, ok := Unescape(make([]byte, 0, len(s.Content)), s.Content); ok {
		return string(text)
	}
	var text string
	_ = json.Unmarshal([]byte(`"`+string(s.Content)+`"`), &text) // it is valid
	return text
}

func isPlain[T Text](content T) bool {
	for i := range len(content) {
		if b := content[i]; b == '\\' || b >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Unescape appends the decoded content of a valid JSON string. It returns false for content
// that is not UTF-8 or has surrogates, which the decoders handle.
func Unescape[T Text](dst []byte, content T) (text []byte, ok bool) {
	start, done := len(dst), 0
	for i := 0; i < len(content); i++ {
		if content[i] != '\\' {
			continue
		}
		dst = append(dst, content[done:i]...)
		i++
		switch b := content[i]; b {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r, _ := hexadecimal(content[i+1:])
			if utf16.IsSurrogate(r) {
				return dst, false
			}
			dst = utf8.AppendRune(dst, r)
			i += 4
		default:
			dst = append(dst, b)
		}
		done = i + 1
	}
	dst = append(dst, content[done:]...)
	return dst, utf8.Valid(dst[start:])
}

// escapeLen returns the length of the escape at the start of text, or 0 if it is not
// one.
func escapeLen[T Text](text T) int {
	if len(text) < 2 {
		return 0
	}
	switch text[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hexadecimal(text[2:]); ok {
			return 6
		}
	}
	return 0
}

// hexadecimal parses the first four digits of text.
func hexadecimal[T Text](text T) (r rune, ok bool) {
	if len(text) < 4 {
		return 0, false
	}
	for i := range 4 {
		switch b := text[i]; {
		case '0' <= b && b <= '9':
			r = r<<4 | rune(b-'0')
		case 'a' <= b && b <= 'f':
			r = r<<4 | rune(b-'a'+10)
		case 'A' <= b && b <= 'F':
			r = r<<4 | rune(b-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}
