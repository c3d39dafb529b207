package gotype

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Location is the path of the current value of a walk, as a stack. The zero value is the path of an
// object. It is cheap to keep: it becomes a field.Path only for an error.
type Location struct{ steps []step }

// step is one element of a path: a field, an index or a key.
type step struct {
	name  string
	index int
	kind  stepKind
}

type stepKind uint8

const (
	fieldStep stepKind = iota
	indexStep
	keyStep
)

// Field enters a field with a JSON name.
func (l *Location) Field(name string) { l.steps = append(l.steps, step{name: name}) }

// Index enters an element of a list.
func (l *Location) Index(i int) { l.steps = append(l.steps, step{index: i, kind: indexStep}) }

// Key enters a value of a map.
func (l *Location) Key(key string) { l.steps = append(l.steps, step{name: key, kind: keyStep}) }

// Leave leaves what was entered last.
func (l *Location) Leave() { l.steps = l.steps[:len(l.steps)-1] }

// Depth returns the number of JSON objects and arrays around the current value.
func (l *Location) Depth() int { return len(l.steps) }

// Path returns the path; it is nil for the object itself.
func (l *Location) Path() *field.Path {
	var p *field.Path
	for _, s := range l.steps {
		switch s.kind {
		case fieldStep:
			p = p.Child(s.name)
		case indexStep:
			p = p.Index(s.index)
		case keyStep:
			p = p.Key(s.name)
		}
	}
	return p
}

// Names returns the names of the fields in the path, joined by dots, without indexes and keys.
func (l *Location) Names() string {
	var names []string
	for _, s := range l.steps {
		if s.kind == fieldStep {
			names = append(names, s.name)
		}
	}
	return strings.Join(names, ".")
}
