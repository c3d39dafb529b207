// Package mergepatch applies merge patches (RFC 7386) with the results of kube-apiserver.
//
// Neither the object nor the patch is decoded: members that the patch does not contain are copied,
// so that a small change of a large object is cheap, and each byte is read a fixed number of times
// at any depth.
//
// Where the rules of json-patch, which kube-apiserver uses, differ from those of the RFC, they
// apply: a value that replaces a value other than an object loses its null members, also inside
// arrays. The members of a changed object are written in the order of their names, as messages
// about the result show them.
package mergepatch

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"github.com/miniapiserver/miniapiserver/internal/jsonscan"
)

// Apply returns the result of a merge patch on an object. Both must be valid JSON objects.
func Apply(object, patch []byte) []byte {
	return appendMerged(make([]byte, 0, len(object)+len(patch)), jsonscan.ParseValid(object), jsonscan.ParseValid(patch))
}

// Prune returns valid JSON without the null members of its objects.
func Prune(data []byte) []byte { return appendPruned(nil, jsonscan.ParseValid(data)) }

// appendMerged appends the result of a merge patch on an object to out.
func appendMerged(out []byte, old, patch jsonscan.Value) []byte {
	out = append(out, '{')
	start := len(out)
	for _, m := range mergedMembers(old, patch) {
		switch {
		case !m.isChanged:
			out = jsonscan.AppendMember(out, start, m.key, m.old.Bytes())
		case m.change.IsNull():
		case !m.isStored || !m.old.IsObject():
			out = appendPruned(jsonscan.AppendMember(out, start, m.key, nil), m.change)
		case !m.change.IsObject():
			out = jsonscan.AppendMember(out, start, m.key, m.change.Bytes())
		default:
			out = appendMerged(jsonscan.AppendMember(out, start, m.key, nil), m.old, m.change)
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
				out = appendPruned(jsonscan.AppendMember(out, start, m.key, nil), m.old)
			}
		}
		return append(out, '}')
	case value.IsArray():
		return jsonscan.AppendElements(out, value, appendPruned)
	}
	return append(out, value.Bytes()...)
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
