package crd

import (
	"bytes"
	"strconv"
)

// schemaKey stands before each schema of a definition. It cannot stand in a string,
// where quotes are escaped, nor before anything else that is an object: what is
// inside a schema is never looked at.
var schemaKey = []byte(`"openAPIV3Schema":{`)

// Outline is a definition in JSON without its schemas, which are by far the most of
// it. In the place of each is an id, the same for those that are alike.
func Outline(definition []byte) []byte {
	out := make([]byte, 0, min(len(definition), 4<<10))
	var seen [][]byte
	for {
		n := bytes.Index(definition, schemaKey)
		if n < 0 {
			return append(out, definition...)
		}
		start := n + len(schemaKey) - 1
		end := start + objectLen(definition[start:])
		schema := definition[start:end]
		id := 0
		for id < len(seen) && !bytes.Equal(seen[id], schema) {
			id++
		}
		if id == len(seen) {
			seen = append(seen, schema)
		}
		out = append(append(out, definition[:start]...), `{"id":"`...)
		out = append(strconv.AppendInt(out, int64(id), 10), `"}`...)
		definition = definition[end:]
	}
}

// Spec returns the spec of a definition in JSON, or all of it where it is not found.
func Spec(definition []byte) []byte {
	const key = `"spec":{`
	depth := 0
	for i := 0; i < len(definition); i++ {
		switch definition[i] {
		case '"':
			if depth == 1 && bytes.HasPrefix(definition[i:], []byte(key)) {
				start := i + len(key) - 1
				return definition[start : start+objectLen(definition[start:])]
			}
			for i++; i < len(definition) && definition[i] != '"'; i++ {
				if definition[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
	}
	return definition
}

// objectLen is the length of the object that text begins with.
func objectLen(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}
