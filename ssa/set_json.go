package ssa

import (
	"slices"
	"strings"

	"github.com/miniapiserver/miniapiserver/internal/jsonscan"
)

// maxDepth is the greatest depth of fieldsV1.
const maxDepth = 1000

// parseSet parses fieldsV1. exact reports whether Set.appendJSON would write the very
// same text.
func parseSet(text string) (s Set, exact bool, err error) {
	var room [32]node
	p := setParser{exact: true, open: room[:0]}
	p.Text, p.MaxDepth = text, maxDepth
	s, _, ok := p.object()
	if ok && !p.AtEnd() {
		p.fail("unexpected trailing data after JSON object")
	}
	if p.err != nil {
		return nil, false, p.err
	}
	return s, p.exact && !p.Spaced, nil
}

// setParser parses JSON that consists of objects.
type setParser struct {
	jsonscan.Scanner[string]
	exact bool
	open  Set // the elements of the objects that are being parsed, one object after the other
	// unordered means that the elements of the innermost open object are not sorted, or not distinct.
	unordered bool
	err       error
}

// fail keeps the first error.
func (p *setParser) fail(what string) {
	if p.err == nil {
		p.err = errorf("fieldsV1 at %d: %s", p.At, what)
	}
}

// object parses the value of an element: the elements below it, and whether it is a
// member itself.
func (p *setParser) object() (kids Set, isMember, ok bool) {
	if p.Next() != '{' {
		p.exact = false
		if ok = p.Next() == 'n' && p.Literal("null"); !ok {
			p.fail("expected an object")
		}
		return nil, true, ok
	}
	start, isEmpty, outer := len(p.open), true, p.unordered
	p.unordered = false
	ok = p.Members(func(str jsonscan.String[string]) bool {
		isFirst := isEmpty
		isEmpty = false
		name := p.name(str)
		if name != "." {
			return p.child(start, name)
		}
		p.exact = p.exact && isFirst
		isMember = true
		return p.skip()
	})
	switch {
	case !ok && p.Depth > p.MaxDepth:
		p.fail("nested too deep")
		return nil, false, false
	case !ok:
		p.fail("invalid JSON")
		return nil, false, false
	case isEmpty:
		p.unordered = outer
		return nil, true, true
	}
	kids = slices.Clone(p.open[start:])
	p.open = p.open[:start]
	if p.unordered {
		kids = kids.merged()
	}
	p.unordered = outer
	if len(kids) == 0 {
		// There is no known element below this one, so that it stands for itself.
		p.exact = false
		isMember = true
	}
	return kids, isMember, true
}

// child parses the element called name and adds it to the open ones from start on.
func (p *setParser) child(start int, name string) bool {
	e, known, err := parseElement(name)
	if err != nil {
		p.err = err
		return false
	}
	if !known {
		p.exact = false
		return p.skip()
	}
	kids, isMember, ok := p.object()
	if !ok {
		return false
	}
	n := node{element: e, kids: kids}
	if isMember {
		n.mark = member
	}
	if last := len(p.open) - 1; last >= start && compareElements(p.open[last].element, e) >= 0 {
		p.unordered = true
	}
	p.exact = p.exact && !p.unordered && e.text == name[2:]
	p.open = append(p.open, n)
	return true
}

// name returns the name of a member.
func (p *setParser) name(str jsonscan.String[string]) string {
	if str.Plain {
		return str.Content
	}
	// Keys are full of quotes, and mostly of no other escapes.
	if name := strings.ReplaceAll(str.Content, `\"`, `"`); strings.IndexByte(name, '\\') < 0 && printable(name) {
		return name
	}
	name := str.Unquote()
	p.exact = p.exact && string(appendEscaped(nil, name)) == str.Content
	return name
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// skip goes past a value whose meaning is not known.
func (p *setParser) skip() bool {
	text, ok := p.Value()
	p.exact = p.exact && text == "{}"
	return ok
}

// appendJSON writes s as fieldsV1.
func (s Set) appendJSON(b []byte) []byte {
	return s.appendObject(b, false)
}

func (s Set) appendObject(b []byte, self bool) []byte {
	b = append(b, '{')
	if self && len(s) > 0 {
		b = append(b, `".":{},`...)
	}
	for i, n := range s {
		if i > 0 {
			b = append(b, ',')
		}
		b = n.element.appendName(b)
		b = append(b, ':')
		b = n.kids.appendObject(b, n.mark != 0)
	}
	return append(b, '}')
}

// appendName writes e as the name of a member.
func (e element) appendName(b []byte) []byte {
	b = append(b, '"', kindLetters[e.kind], ':')
	return append(appendEscaped(b, e.text), '"')
}

// appendEscaped writes s as it stands between quotes, escaping only what JSON
// demands.
func appendEscaped(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(b, s[start:]...)
}
