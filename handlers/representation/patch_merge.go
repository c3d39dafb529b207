package representation

import "github.com/miniapiserver/miniapiserver/internal/jsonscan"

// mergeJSON appends the result of a merge patch on an object to out. Both must be JSON objects,
// and neither is decoded: members that the patch does not contain are copied, so that a small
// change of a large object is cheap, and each byte is read a fixed number of times at any
// depth.
//
// The rules are those of RFC 7386, and where they differ those of json-patch, which
// kube-apiserver uses: a value that replaces a value other than an object loses its null
// members, also inside arrays.
func mergeJSON(out []byte, old, patch jsonscan.Value) []byte {
	changes := membersOf(patch)
	out = append(out, '{')
	start := len(out)
	for m := old.Parts(); m.Next(); {
		change, ok := changes.take(m.Key())
		switch {
		case !ok:
			out = appendMember(out, start, m.Key(), m.Value().Bytes())
		case change.IsNull():
		case !m.Value().IsObject():
			out = appendPruned(appendMember(out, start, m.Key(), nil), change)
		case !change.IsObject():
			out = appendMember(out, start, m.Key(), change.Bytes())
		default:
			out = mergeJSON(appendMember(out, start, m.Key(), nil), m.Value(), change)
		}
	}
	for _, m := range changes.list {
		if change, ok := changes.take(m.key); ok && !change.IsNull() {
			out = appendPruned(appendMember(out, start, m.key, nil), change)
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
		for m := value.Parts(); m.Next(); {
			if !m.Value().IsNull() {
				out = appendPruned(appendMember(out, start, m.Key(), nil), m.Value())
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

// members are the members of an object, each of which can be taken once by its key. The last
// of several members with the same key counts.
type members struct {
	list  []member
	byKey map[string]int // index in list of the members that were not taken
}

type member struct {
	key   []byte
	value jsonscan.Value
}

func membersOf(object jsonscan.Value) members {
	m := members{byKey: map[string]int{}}
	for p := object.Parts(); p.Next(); {
		m.byKey[jsonscan.Unquote(p.Key())] = len(m.list)
		m.list = append(m.list, member{p.Key(), p.Value()})
	}
	return m
}

func (m *members) take(key []byte) (jsonscan.Value, bool) {
	if len(m.byKey) == 0 {
		return jsonscan.Value{}, false
	}
	name := jsonscan.Unquote(key)
	i, ok := m.byKey[name]
	if !ok {
		return jsonscan.Value{}, false
	}
	delete(m.byKey, name)
	return m.list[i].value, true
}
