package lab

import (
	"slices"
	"strconv"

	"github.com/miniapiserver/miniapiserver/internal/quickjson"
)

// diffForms are two documents as objects of objects whose leaves are strings: lists are objects, and all other values are their
// JSON in a string. So a merge patch between them distinguishes null from a missing field, and numbers that a float64 cannot have.
type diffForms struct {
	*differ
	before, after []byte
}

// orderMember is the member of a list's form with the order of its elements. Names of elements begin with another character.
const orderMember = "order"

// objects appends two objects that correspond to each other.
func (f *diffForms) objects(before, after map[string]any) {
	if len(before) == 0 || len(after) == 0 {
		f.leaves(before, after)
		return
	}
	f.before, f.after = append(f.before, '{'), append(f.after, '{')
	for name, b := range before {
		f.before = appendMember(f.before, name)
		if a, ok := after[name]; ok {
			f.after = appendMember(f.after, name)
			f.values(b, a)
		} else {
			f.before = f.appendLeaf(f.before, b)
		}
	}
	for name, a := range after {
		if _, ok := before[name]; !ok {
			f.after = f.appendLeaf(appendMember(f.after, name), a)
		}
	}
	f.before, f.after = append(f.before, '}'), append(f.after, '}')
}

// values appends two values that correspond to each other.
func (f *diffForms) values(before, after any) {
	f.steps++
	switch b := before.(type) {
	case map[string]any:
		if a, ok := after.(map[string]any); ok {
			f.objects(b, a)
			return
		}
	case []any:
		if a, ok := after.([]any); ok {
			f.lists(b, a)
			return
		}
	}
	f.leaves(before, after)
}

// lists appends two lists that correspond to each other.
func (f *diffForms) lists(before, after []any) {
	m := f.match(before, after)
	if m == nil {
		f.leaves(before, after)
		return
	}
	f.before, f.after = append(f.before, '{'), append(f.after, '{')
	inAfter := make(map[string]int, len(after))
	for i, name := range m.after {
		inAfter[name] = i
	}
	for i, name := range m.before {
		f.before = appendMember(f.before, name)
		if j, ok := inAfter[name]; ok {
			delete(inAfter, name)
			f.after = appendMember(f.after, name)
			f.values(before[i], after[j])
		} else {
			f.before = f.appendLeaf(f.before, before[i])
		}
	}
	for name, i := range inAfter {
		f.after = f.appendLeaf(appendMember(f.after, name), after[i])
	}
	if m.isReordered() {
		f.before = append(appendMember(f.before, orderMember), `"before"`...)
		f.after = append(appendMember(f.after, orderMember), `"after"`...)
	}
	f.before, f.after = append(f.before, '}'), append(f.after, '}')
}

// leaves appends two values that are only compared as a whole.
func (f *diffForms) leaves(before, after any) {
	f.before, f.after = f.appendLeaf(f.before, before), f.appendLeaf(f.after, after)
}

func (f *diffForms) appendLeaf(dst []byte, value any) []byte {
	f.steps++
	return quickjson.AppendString(dst, string(leafText(value)))
}

// leafText returns the JSON of decoded JSON.
func leafText(value any) []byte {
	text, err := quickjson.Append(nil, value)
	if err != nil { // decoded JSON has no values that cannot be encoded
		return []byte(compactJSON(err.Error()))
	}
	return text
}

func appendMember(dst []byte, name string) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(quickjson.AppendString(dst, name), ':')
}

// elementKeys are the fields that identify the elements of a list, if all of them have the field, each with another value. The first
// one that does is used.
var elementKeys = []string{"name", "key", "uid", "type", "ip", "containerPort", "port", "mountPath", "devicePath", "topologyKey",
	"id", "hostname", "host", "path"}

// listMatch says which elements of two lists correspond to each other: those of the same name.
type listMatch struct {
	before, after []string
	byPosition    bool
}

// match returns which elements of two lists correspond to each other, or nil if the lists are to be compared as a whole: one of them
// is empty, or they are short lists of scalars, such as finalizers.
func (d *differ) match(before, after []any) *listMatch {
	if len(before) == 0 || len(after) == 0 {
		return nil
	}
	d.steps += len(before) + len(after)
	if areScalars(before) && areScalars(after) {
		if len(leafText(before)) <= maxValueText && len(leafText(after)) <= maxValueText {
			return nil
		}
		if m, ok := matchBy(before, after, func(v any) (string, bool) { return "=" + string(leafText(v)), true }); ok {
			return m
		}
	}
	for _, key := range elementKeys {
		d.steps += len(before) + len(after)
		if m, ok := matchBy(before, after, func(v any) (string, bool) { return keyOf(v, key) }); ok {
			return m
		}
	}
	return &listMatch{positions(len(before)), positions(len(after)), true}
}

// matchBy returns the match of two lists by names of their elements. It returns false if an element has none, or the name of another.
func matchBy(before, after []any, nameOf func(any) (string, bool)) (*listMatch, bool) {
	m := &listMatch{}
	for _, list := range []struct {
		elements []any
		names    *[]string
	}{{before, &m.before}, {after, &m.after}} {
		seen := make(map[string]struct{}, len(list.elements))
		for _, element := range list.elements {
			name, ok := nameOf(element)
			if _, again := seen[name]; !ok || again {
				return nil, false
			}
			seen[name] = struct{}{}
			*list.names = append(*list.names, name)
		}
	}
	return m, true
}

// keyOf returns the name of an element by a field.
func keyOf(element any, field string) (string, bool) {
	fields, ok := element.(map[string]any)
	if !ok {
		return "", false
	}
	value, ok := fields[field]
	if !ok || !isScalar(value) {
		return "", false
	}
	return "=" + string(leafText(value)), true
}

func isScalar(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

func areScalars(list []any) bool {
	return !slices.ContainsFunc(list, func(v any) bool { return !isScalar(v) })
}

func positions(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = "#" + strconv.Itoa(i)
	}
	return out
}

// isReordered reports whether the elements that both lists have are in another order.
func (m *listMatch) isReordered() bool {
	if m.byPosition {
		return false
	}
	at := make(map[string]int, len(m.before))
	for i, name := range m.before {
		at[name] = i
	}
	last := -1
	for _, name := range m.after {
		if i, ok := at[name]; ok {
			if i < last {
				return true
			}
			last = i
		}
	}
	return false
}

// order returns the keys of those elements of a list that the other one has too, as decoded JSON.
func (m *listMatch) order(names, other []string) []any {
	in := make(map[string]struct{}, len(other))
	for _, name := range other {
		in[name] = struct{}{}
	}
	var out []any
	for _, name := range names {
		if _, ok := in[name]; ok {
			out = append(out, rawJSON(name[1:]))
		}
	}
	return out
}

// rawJSON is JSON that is encoded as it is.
type rawJSON string

// MarshalJSON implements json.Marshaler.
func (r rawJSON) MarshalJSON() ([]byte, error) { return []byte(r), nil }
