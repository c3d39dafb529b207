package representation

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"github.com/miniapiserver/miniapiserver/internal/jsonscan"
)

// mergeJSON appends the result of a merge patch on an object to out. Both must be JSON objects,
// and neither is decoded: members that the patch does not contain are copied, so that a small
// change of a large object is cheap, and each byte is read a fixed number of times at any
// depth.
//
// The rules are those of RFC 7386, and where they differ those of json-patch, which
// kube-apiserver uses: a value that replaces a value other than an object loses its null
// members, also inside arrays. The members of a changed object are written in the order of their
// names, as messages about the result show them.
func mergeJSON(out []byte, old, patch jsonscan.Value) []byte {
	out = append(out, '{')
	start := len(out)
	for _, m := range mergedMembers(old, patch) {
		switch {
		case !m.isChanged:
			out = appendMember(out, start, m.key, m.old.Bytes())
		case m.change.IsNull():
		case !m.isStored || !m.old.IsObject():
			out = appendPruned(appendMember(out, start, m.key, nil), m.change)
		case !m.change.IsObject():
			out = appendMember(out, start, m.key, m.change.Bytes())
		default:
			out = mergeJSON(appendMember(out, start, m.key, nil), m.old, m.change)
		}
	}
	return append(out, '}')
}

// appendPruned appends a value without the null members of its objects.
func appendPruned(out []byte, value jsonscan.Value) []byte {
	switch {
	case value.IsObject():
		out = append(out, '{')
		start := len(out)
		for _, m := range mergedMembers(value) {
			if !m.old.IsNull() {
				out = appendPruned(appendMember(out, start, m.key, nil), m.old)
			}
		}
		return append(out, '}')
	case value.IsArray():
		return appendElements(out, value, appendPruned)
	}
	return append(out, value.Bytes()...)
}

// appendMember appends a member of an object that begins at start.
func appendMember(out []byte, start int, key, value []byte) []byte {
	if len(out) > start {
		out = append(out, ',')
	}
	return append(append(append(out, key...), ':'), value...)
}

// member is a member of an object, of its patch, or of both.
type member struct {
	name                string
	key                 []byte // the name in quotes
	old, change         jsonscan.Value
	isStored, isChanged bool
}

// encodedName returns a name in quotes as encoding/json writes it, which messages about the result show.
func encodedName(name string, written []byte) []byte {
	if !bytes.ContainsAny(written, "\\<>&\u2028\u2029") {
		return written
	}
	encoded, err := json.Marshal(name)
	if err != nil {
		return written
	}
	return encoded
}

// mergedMembers returns the members of an object and of its patch in the order of their names. The
// last of several members with the same name counts.
func mergedMembers(old jsonscan.Value, patch ...jsonscan.Value) []member {
	var list []member
	at := map[string]int{} // the index in list, by name
	each := func(object jsonscan.Value, set func(m *member, v jsonscan.Value)) {
		for p := object.Parts(); p.Next(); {
			name := jsonscan.Unquote(p.Key())
			i, ok := at[name]
			if !ok {
				i = len(list)
				at[name] = i
				list = append(list, member{name: name, key: encodedName(name, p.Key())})
			}
			set(&list[i], p.Value())
		}
	}
	each(old, func(m *member, v jsonscan.Value) { m.old, m.isStored = v, true })
	for _, p := range patch {
		each(p, func(m *member, v jsonscan.Value) { m.change, m.isChanged = v, true })
	}
	slices.SortFunc(list, func(a, b member) int { return cmp.Compare(a.name, b.name) })
	return list
}
