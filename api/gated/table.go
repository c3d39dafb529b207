package gated

import (
	_ "embed" // for the tables
	"fmt"
	"maps"
	"slices"
	"strings"
)

//go:embed marked.txt
var markedText string

//go:embed exceptions.txt
var exceptionsText string

// guarded is a field that is removed while one of its gates is disabled.
type guarded struct {
	gates []string
	// used are the fields that keep this one if the stored object has any of them. Nil means the
	// fields of the same gates in the same part of the object, such as spec.
	used []string
	// alone: used is only the field itself, at the same path.
	alone bool
	// onlyCreate and onlyUpdate: other writes do not remove the field.
	onlyCreate, onlyUpdate bool
	// emptied: the struct that has the field is removed too if it becomes empty.
	emptied bool
	// in is the Go type of the only objects from which the field is removed. Empty means all.
	in string
}

// Table has the fields that feature gates guard, by PACKAGE.TYPE.FIELD.
type Table struct {
	fields  map[string]guarded
	enabled func(gate string) bool
}

// New returns the table for the gates of a server. Since the data are part of the program, an error
// is a mistake in them.
func New(enabled func(gate string) bool) (*Table, error) {
	fields, err := readTables(markedText, exceptionsText)
	return &Table{fields: fields, enabled: enabled}, err
}

// Gates returns the names of all gates that guard fields.
func Gates() ([]string, error) {
	fields, err := readTables(markedText, exceptionsText)
	names := map[string]bool{}
	for _, f := range fields {
		for _, gate := range f.gates {
			names[gate] = true
		}
	}
	return slices.Sorted(maps.Keys(names)), err
}

func readTables(marked, exceptions string) (map[string]guarded, error) {
	fields := map[string]guarded{}
	for words := range linesOf(marked) {
		fields[words[0]] = guarded{gates: strings.Split(words[1], ",")}
	}
	for words := range linesOf(exceptions) {
		name := qualified(words[0])
		f := fields[name]
		for _, word := range words[1:] {
			if err := f.except(word); err != nil {
				return nil, fmt.Errorf("exceptions.txt: %s: %w", words[0], err)
			}
		}
		fields[name] = f
	}
	maps.DeleteFunc(fields, func(_ string, f guarded) bool { return len(f.gates) == 0 })
	return fields, nil
}

// except applies a word of an exception.
func (f *guarded) except(word string) error {
	key, value, _ := strings.Cut(word, "=")
	switch key {
	case "never":
		f.gates = nil
	case "gate":
		f.gates = strings.Split(value, ",")
	case "used":
		for name := range strings.SplitSeq(value, ",") {
			f.used = append(f.used, qualified(name))
		}
	case "in":
		f.in = qualified(value)
	case "alone":
		f.alone = true
	case "create":
		f.onlyCreate = true
	case "update":
		f.onlyUpdate = true
	case "emptied":
		f.emptied = true
	default:
		return fmt.Errorf("%q is not defined", word)
	}
	return nil
}

// qualified returns a name of exceptions.txt with the path of its package.
func qualified(name string) string { return "k8s.io/api/" + name }

// linesOf returns the words of each line, without comments.
func linesOf(text string) func(yield func([]string) bool) {
	return func(yield func([]string) bool) {
		for line := range strings.Lines(text) {
			line, _, _ = strings.Cut(line, "#")
			if words := strings.Fields(line); len(words) > 0 && !yield(words) {
				return
			}
		}
	}
}
