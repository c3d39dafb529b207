package structural

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

var errNoField = errors.New("does not refer to a valid field")

// pathBelow parses a path such as .spec['my.key'].name, which must refer to a field of the
// schema.
func pathBelow(text string, n *node) (at *field.Path, err error) {
	for text != "" {
		var name string
		switch text[0] {
		case '.':
			if name, text = nextWord(text[1:]); name == "" {
				return nil, errors.New("unexpected end of JSON path")
			}
		case '[':
			if name, text, err = quotedName(text[1:]); err != nil {
				return nil, err
			}
		default:
			name, _ = nextWord(text)
			return nil, fmt.Errorf("expected [ or . but got: %s", name)
		}
		switch {
		case n != nil && n.fields[name] != nil:
			at, n = at.Child(name), n.fields[name]
		case n != nil && n.fields == nil && n.values != nil:
			at, n = at.Key(name), n.values
		case n != nil && n.fields == nil && n.anyValue:
			at, n = at.Key(name), nil
		default:
			return nil, errNoField
		}
	}
	return at, nil
}

// nextWord returns the text before the next delimiter, or the whole text.
func nextWord(text string) (name, rest string) {
	end := strings.IndexAny(text, ".[]")
	switch {
	case end < 0:
		return text, ""
	case end == 0 && text != "":
		end = 1
	}
	return text[:end], text[end:]
}

// quotedName parses a name in quotes and the closing bracket.
func quotedName(text string) (name, rest string, err error) {
	if text == "" {
		return "", "", errors.New("unexpected end of JSON path")
	}
	if text[0] != '\'' {
		got, _ := nextWord(text)
		return "", "", fmt.Errorf("expected single quoted string but got %s", got)
	}
	end := 1
	for end < len(text) && (text[end] != '\'' || text[end-1] == '\\') {
		end++
	}
	if end == len(text) {
		return "", "", fmt.Errorf("expected single quoted string but got %s", text)
	}
	if name, err = unescape(text[1:end]); err != nil {
		return "", "", fmt.Errorf("invalid string literal: %w", err)
	}
	rest = text[end+1:]
	if rest == "" {
		return "", "", errors.New("unexpected end of JSON path")
	}
	if rest[0] != ']' {
		got, _ := nextWord(rest)
		return "", "", fmt.Errorf("expected ] but got %s", got)
	}
	return name, rest[1:], nil
}

// unescape replaces escape sequences.
func unescape(text string) (string, error) {
	const letters, meant = `abfnrtv'\`, "\a\b\f\n\r\t\v'\\"
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			out.WriteByte(text[i])
			continue
		}
		i++
		at := strings.IndexByte(letters, text[i])
		if at < 0 {
			return "", fmt.Errorf("invalid escape char %s", text[i-1:i+1])
		}
		out.WriteByte(meant[at])
	}
	return out.String(), nil
}
