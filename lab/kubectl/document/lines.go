// Package document treats objects as documents: as YAML with the path of each line, with the origin of each line found from
// the changes of the object and its managedFields, and as the difference of two states. It sends no requests; package
// kubectl reads the objects and the changes.
package document

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// Step is a step of a path: a field or an index.
type Step struct {
	Field string
	Index int // of an element of a list; -1 for a field
}

// Path leads to a value in an object.
type Path []Step

// String returns a path as Changes have it: spec.containers[0].image, metadata.labels["a.b/c"].
func (p Path) String() string {
	var b strings.Builder
	for _, s := range p {
		switch {
		case s.Index >= 0:
			b.WriteString("[" + strconv.Itoa(s.Index) + "]")
		case s.Field == "" || strings.ContainsAny(s.Field, `.[]"`):
			b.WriteString("[" + strconv.Quote(s.Field) + "]")
		case b.Len() == 0:
			b.WriteString(s.Field)
		default:
			b.WriteString("." + s.Field)
		}
	}
	return b.String()
}

// Line is a line of YAML.
type Line struct {
	Text string
	// Path is that of the value that begins in the line. If several do, as in "- name: a", it is the innermost. A further
	// line of a text has the path of the text.
	Path Path
}

// Lines returns an object, or any decoded JSON, as the lines of a YAML document, fields sorted by name.
func Lines(object any) ([]Line, error) {
	w := &lineWriter{}
	if err := w.write(object, nil, "", ""); err != nil {
		return nil, err
	}
	return w.lines, nil
}

// Join returns the document of lines.
func Join(lines []Line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.Text + "\n")
	}
	return b.String()
}

type lineWriter struct{ lines []Line }

// write writes a value. The first line begins with first, which ends with the key or the dash; all others with indent.
func (w *lineWriter) write(value any, path Path, first, indent string) error {
	switch value := value.(type) {
	case map[string]any:
		if len(value) > 0 {
			return w.writeMap(value, path, first, indent)
		}
		w.add(spaced(first)+"{}", path)
		return nil
	case []any:
		if len(value) > 0 {
			return w.writeList(value, path, first, indent)
		}
		w.add(spaced(first)+"[]", path)
		return nil
	}
	text, err := scalar(value)
	if err != nil {
		return err
	}
	for i, line := range text {
		switch {
		case i == 0:
			line = spaced(first) + line
		case line != "":
			line = indent + line
		}
		w.add(line, path)
	}
	return nil
}

// writeMap writes the fields of an object. After a key they begin in the next line, after a dash in the same.
func (w *lineWriter) writeMap(fields map[string]any, path Path, first, indent string) error {
	if strings.HasSuffix(first, ":") {
		w.add(first, path)
		indent += "  "
		first = indent
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		key, err := scalar(name)
		if err != nil {
			return err
		}
		if len(key) > 1 || len(key[0]) > 120 { // YAML has a longer form for such keys; a quoted text will do
			key = []string{strconv.QuoteToASCII(name)}
		}
		if err := w.write(fields[name], append(slices.Clip(path), Step{name, -1}), first+key[0]+":", indent); err != nil {
			return err
		}
		first = indent
	}
	return nil
}

// writeList writes the elements of a list. After a key, the dashes are below the key.
func (w *lineWriter) writeList(elements []any, path Path, first, indent string) error {
	if strings.HasSuffix(first, ":") {
		w.add(first, path)
		first = indent
	}
	for i, element := range elements {
		if err := w.writeElement(element, append(slices.Clip(path), Step{Index: i}), first, indent); err != nil {
			return err
		}
		first = indent
	}
	return nil
}

func (w *lineWriter) writeElement(element any, path Path, first, indent string) error {
	switch element.(type) {
	case map[string]any, []any:
		return w.write(element, path, first+"- ", indent+"  ")
	}
	return w.write(element, path, first+"-", indent)
}

func (w *lineWriter) add(text string, path Path) { w.lines = append(w.lines, Line{text, path}) }

// spaced returns the beginning of a line with a space after the key or the dash.
func spaced(first string) string {
	if strings.HasSuffix(first, ":") || strings.HasSuffix(first, "-") {
		return first + " "
	}
	return first
}

// scalar returns the lines of a text, a number, a boolean or null, as they are after a key.
func scalar(value any) ([]string, error) {
	text, err := yaml.Marshal(map[string]any{"k": value})
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(strings.TrimPrefix(string(text), "k: "), "\n"), "\n"), nil
}
