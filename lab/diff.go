package lab

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/miniapiserver/miniapiserver/internal/quickjson"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// Bounds of the differences between two documents.
const (
	// maxFieldChanges is the number of changes that fieldChanges returns, besides one that says how many there are more.
	maxFieldChanges = 500
	// maxValueText is the length of a value in bytes.
	maxValueText = 1 << 10
)

// notKept stands for a value that the lab does not keep.
const notKept = "(not kept)"

// fieldChanges returns the differences of two objects as decoded JSON, ordered by path. Nil means that there is no object; then the
// fields of the other one are the changes. Values at and below the paths in confidential (api.Kind.Confidential) are compared, but
// not part of the result. The function changes neither object.
//
// The fields that differ are those of a merge patch. A merge patch replaces lists, so they are given to it as objects: an element is
// named by its key if all elements have one, or by its position.
func fieldChanges(before, after map[string]any, confidential []string) []v1alpha1.FieldChange {
	d := newDiffer(confidential)
	before, after = withoutBookkeeping(before), withoutBookkeeping(after)
	switch {
	case before == nil && after == nil:
	case before == nil || after == nil:
		d.isWhole = true
		d.emit(docPath{}, docValue{before, before != nil}, docValue{after, after != nil})
	default:
		d.compare(before, after)
	}
	if d.omitted > 0 {
		d.changes = append(d.changes, v1alpha1.FieldChange{Path: fmt.Sprintf("… and %d more", d.omitted)})
	}
	return d.changes
}

// withoutBookkeeping returns an object without the metadata that every write changes.
func withoutBookkeeping(doc map[string]any) map[string]any {
	meta, ok := doc["metadata"].(map[string]any)
	if !ok {
		return doc
	}
	meta = maps.Clone(meta)
	delete(meta, "managedFields")
	delete(meta, "resourceVersion")
	doc = maps.Clone(doc)
	doc["metadata"] = meta
	return doc
}

// docValue is a value of decoded JSON that may be missing.
type docValue struct {
	value  any
	exists bool
}

func valueAt(fields map[string]any, name string) docValue {
	v, ok := fields[name]
	return docValue{v, ok}
}

// text returns the value as compact JSON of at most maxValueText bytes, or "" if it is missing.
func (v docValue) text(isHidden bool) string {
	switch {
	case !v.exists:
		return ""
	case isHidden:
		return notKept
	}
	return shorten(compactJSON(v.value), maxValueText)
}

// compactJSON returns decoded JSON as text.
func compactJSON(value any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil { // decoded JSON has no values that cannot be encoded
		return fmt.Sprintf("%q", err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// shorten cuts a text to at most limit bytes, ellipsis included.
func shorten(text string, limit int) string {
	const ellipsis = "…"
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len(ellipsis)], "") + ellipsis
}

// docPath is the path of a field: as text, and as the names of the fields without positions in lists.
type docPath struct {
	text  string
	names []string
}

// field returns the path of a field of the object at p.
func (p docPath) field(name string) docPath {
	text := p.text + "[" + compactJSON(name) + "]"
	if isPlainName(name) {
		if text = name; p.text != "" {
			text = p.text + "." + name
		}
	}
	return docPath{text, append(p.names[:len(p.names):len(p.names)], name)}
}

// element returns the path of an element of the list at p.
func (p docPath) element(i int) docPath {
	return docPath{p.text + "[" + strconv.Itoa(i) + "]", p.names}
}

// isPlainName reports whether a name needs no quotes in a path.
func isPlainName(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', c == '$':
		case i > 0 && (c >= '0' && c <= '9' || c == '-'):
		default:
			return false
		}
	}
	return name != ""
}

// differ collects the differences of two documents.
type differ struct {
	confidential [][]string
	isWhole      bool // one of the documents is missing
	changes      []v1alpha1.FieldChange
	omitted      int
	// steps is the number of values and keys that were looked at, by which tests see that the work is proportional to
	// the documents.
	steps int
}

func newDiffer(confidential []string) *differ {
	d := &differ{}
	for _, path := range confidential {
		d.confidential = append(d.confidential, strings.Split(path, "."))
	}
	return d
}

// objects adds the differences of two objects. patch has the fields that differ.
func (d *differ) objects(at docPath, patch, before, after map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(patch)) {
		d.values(at.field(name), patch[name], valueAt(before, name), valueAt(after, name))
	}
}

// values adds the differences of two values.
func (d *differ) values(at docPath, patch any, before, after docValue) {
	if fields, ok := patch.(map[string]any); ok {
		switch b := before.value.(type) {
		case map[string]any:
			if a, ok := after.value.(map[string]any); ok {
				d.objects(at, fields, b, a)
				return
			}
		case []any:
			if a, ok := after.value.([]any); ok {
				d.lists(at, fields, b, a)
				return
			}
		}
	}
	d.emit(at, before, after)
}

// lists adds the differences of two lists. patch has the elements that differ, by their names.
func (d *differ) lists(at docPath, patch map[string]any, before, after []any) {
	m := d.match(before, after)
	if _, ok := patch[orderMember]; ok {
		d.emit(at, docValue{m.order(m.before, m.after), true}, docValue{m.order(m.after, m.before), true})
	}
	inBefore := make(map[string]int, len(before))
	for i, name := range m.before {
		inBefore[name] = i
	}
	for i, name := range m.after {
		p, differs := patch[name]
		if !differs {
			continue
		}
		b := docValue{}
		if j, ok := inBefore[name]; ok {
			b = docValue{before[j], true}
		}
		d.values(at.element(i), p, b, docValue{after[i], true})
	}
	for i, name := range m.before { // a removed element is null in a merge patch
		if p, differs := patch[name]; differs && p == nil {
			d.emit(at.element(i), docValue{before[i], true}, docValue{})
		}
	}
}

// emit adds the change of a value. An object that contains confidential fields is not shown itself, but its fields are.
func (d *differ) emit(at docPath, before, after docValue) {
	d.steps++
	switch hidden := d.hides(at.names); {
	case hidden == containsConfidential, hidden == isConfidentialField, len(at.names) == 0, d.isWhole && len(at.names) < 2:
		if d.expand(at, before, after) {
			return
		}
		d.add(at, before, after, hidden != nothingConfidential)
	default:
		d.add(at, before, after, hidden == withinConfidential)
	}
}

// expand adds a change for each field of two objects, or for each element of two lists, of which one may be missing. It returns
// false for other values, and for empty ones.
func (d *differ) expand(at docPath, before, after docValue) bool {
	b, isObject := before.value.(map[string]any)
	a, isObjectToo := after.value.(map[string]any)
	if (isObject || !before.exists) && (isObjectToo || !after.exists) && len(a)+len(b) > 0 {
		names := slices.Collect(maps.Keys(b))
		for name := range a {
			if _, ok := b[name]; !ok {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			d.emit(at.field(name), valueAt(b, name), valueAt(a, name))
		}
		return true
	}
	bl, isList := before.value.([]any)
	al, isListToo := after.value.([]any)
	if (isList || !before.exists) && (isListToo || !after.exists) && len(al)+len(bl) > 0 {
		for i := range max(len(bl), len(al)) {
			d.emit(at.element(i), elementAt(bl, i), elementAt(al, i))
		}
		return true
	}
	return false
}

func elementAt(list []any, i int) docValue {
	if i < len(list) {
		return docValue{list[i], true}
	}
	return docValue{}
}

func (d *differ) add(at docPath, before, after docValue, isHidden bool) {
	if len(d.changes) == maxFieldChanges {
		d.omitted++
		return
	}
	d.changes = append(d.changes, v1alpha1.FieldChange{Path: at.text, Before: before.text(isHidden), After: after.text(isHidden)})
}

// compare adds the differences of two objects.
func (d *differ) compare(before, after map[string]any) {
	f := diffForms{differ: d, before: []byte(`{"root":`), after: []byte(`{"root":`)}
	f.values(before, after)
	patch, err := jsonpatch.CreateMergePatch(append(f.before, '}'), append(f.after, '}'))
	var parts map[string]any
	if err == nil {
		parts, err = quickjson.Read(patch)
	}
	if err != nil { // both forms are valid JSON; if the library does not accept them, the objects are shown as a whole
		d.isWhole = true
		parts = map[string]any{"root": nil}
	}
	if root, differs := parts["root"]; differs {
		d.values(docPath{}, root, docValue{before, true}, docValue{after, true})
	}
}
