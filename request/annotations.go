package request

import (
	"slices"
	"strings"
)

// Annotation is an audit annotation.
type Annotation struct{ Key, Value string }

// annotations are the audit annotations of a request. Nearly all requests have two, for which no map
// is worth its allocation; a webhook can return any number.
type annotations struct {
	first  [4]Annotation
	length int // of the used part of first
	others map[string]string
}

// add adds an annotation unless the key is there already.
func (a *annotations) add(key, value string) {
	for i := range a.first[:a.length] {
		if a.first[i].Key == key {
			return
		}
	}
	if a.length < len(a.first) {
		a.first[a.length] = Annotation{key, value}
		a.length++
		return
	}
	if a.others == nil {
		a.others = map[string]string{}
	}
	if _, ok := a.others[key]; !ok {
		a.others[key] = value
	}
}

// sorted returns the annotations by key; nil if there are none.
func (a *annotations) sorted() []Annotation {
	if a.length == 0 {
		return nil
	}
	out := make([]Annotation, 0, a.length+len(a.others))
	out = append(out, a.first[:a.length]...)
	for key, value := range a.others {
		out = append(out, Annotation{key, value})
	}
	slices.SortFunc(out, func(a, b Annotation) int { return strings.Compare(a.Key, b.Key) })
	return out
}
