package custom

import (
	"bytes"
	"strconv"

	"github.com/miniapiserver/miniapiserver/internal/jsonscan"
)

// schemaKey precedes each schema of a definition. It cannot occur in a string, where
// quotes are escaped, and precedes no other object, since Outline skips the inside of
// schemas.
var schemaKey = []byte(`"openAPIV3Schema":{`)

// Outline returns the JSON of a definition without its schemas, which are most of its
// size. An id replaces each schema; equal schemas have the same id.
func Outline(definition []byte) []byte {
	out := make([]byte, 0, min(len(definition), 4<<10))
	var seen [][]byte
	for {
		n := bytes.Index(definition, schemaKey)
		if n < 0 {
			return append(out, definition...)
		}
		start := n + len(schemaKey) - 1
		schema, rest := cutObject(definition[start:])
		id := 0
		for id < len(seen) && !bytes.Equal(seen[id], schema) {
			id++
		}
		if id == len(seen) {
			seen = append(seen, schema)
		}
		out = append(append(out, definition[:start]...), `{"id":"`...)
		out = append(strconv.AppendInt(out, int64(id), 10), `"}`...)
		definition = rest
	}
}

// Spec returns the spec of a definition in JSON, or the whole text if it has no spec.
func Spec(definition []byte) []byte {
	key := []byte(`"spec":{`)
	depth := 0
	tokens := jsonscan.Tokens{Text: definition, Kinds: jsonscan.ContainersAndStrings}
	for b := tokens.Next(); b != 0; b = tokens.Next() {
		switch b {
		case '"':
			if depth == 1 && bytes.HasPrefix(definition[tokens.From:], key) {
				object, _ := cutObject(definition[tokens.From+len(key)-1:])
				return object
			}
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
	}
	return definition
}

// cutObject returns the object with which a text starts, and the rest of the text.
func cutObject(text []byte) (object, rest []byte) {
	end := jsonscan.ContainerEnd(text, 0)
	if end < 0 {
		return text, nil
	}
	return text[:end], text[end:]
}
