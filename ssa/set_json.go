package ssa

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds how deep fieldsV1 may be nested.
const maxDepth = 1000

// parseSet reads fieldsV1. exact tells that Set.appendJSON would give the very
// same text.
func parseSet(text string) (s Set, exact bool, err error) {
	var room [32]node
	p := setParser{text: text, exact: true, open: room[:0]}
	s, _, err = p.object(0)
	if err == nil {
		p.space()
		if p.at != len(p.text) {
			err = p.fail("unexpected trailing data after JSON object")
		}
	}
	if err != nil {
		return nil, false, err
	}
	return s, p.exact, nil
}

// setParser reads JSON that consists of objects.
type setParser struct {
	text  string
	at    int
	exact bool
	open  Set // of the objects that are being read, one after the other
}

func (p *setParser) fail(what string) error {
	return errorf("fieldsV1 at %d: %s", p.at, what)
}

func (p *setParser) space() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.exact = false
		p.at++
	}
}

// next skips space and takes c if it is there.
func (p *setParser) next(c byte) bool {
	p.space()
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

// object reads the value of an element: what is below it, and whether it is a
// member itself.
func (p *setParser) object(depth int) (kids Set, isMember bool, err error) {
	if depth > maxDepth {
		return nil, false, p.fail("nested too deep")
	}
	if !p.next('{') {
		if strings.HasPrefix(p.text[p.at:], "null") {
			p.at += len("null")
			p.exact = false
			return nil, true, nil
		}
		return nil, false, p.fail("expected an object")
	}
	if p.next('}') {
		return nil, true, nil
	}
	start := len(p.open)
	for first := true; ; first = false {
		name, err := p.name()
		if err != nil {
			return nil, false, err
		}
		if name == "." {
			p.exact = p.exact && first && !isMember
			isMember = true
			if err := p.skip(); err != nil {
				return nil, false, err
			}
		} else if err := p.child(start, name, depth); err != nil {
			return nil, false, err
		}
		if p.next('}') {
			break
		}
		if !p.next(',') {
			return nil, false, p.fail("expected , or }")
		}
	}
	kids = slices.Clone(p.open[start:])
	p.open = p.open[:start]
	if len(kids) == 0 {
		// Nothing that is known is below it, so that it stands for itself.
		p.exact = false
		isMember = true
	}
	return kids, isMember, nil
}

// child reads the element called name and adds it to those that are open from
// start on.
func (p *setParser) child(start int, name string, depth int) error {
	e, known, err := parseElement(name)
	if err != nil {
		return err
	}
	if !known {
		p.exact = false
		return p.skip()
	}
	n := node{element: e}
	var isMember bool
	if n.kids, isMember, err = p.object(depth + 1); err != nil {
		return err
	}
	kids := p.open[start:]
	if isMember {
		n.mark = member
	}
	if len(kids) == 0 || compareElements(kids[len(kids)-1].element, e) < 0 {
		p.exact = p.exact && e.text == name[2:]
		p.open = append(p.open, n)
		return nil
	}
	p.exact = false
	p.open = append(p.open[:start], kids.put(n)...)
	return nil
}

// name reads the name of a member and the colon after it.
func (p *setParser) name() (string, error) {
	if !p.next('"') {
		return "", p.fail("expected a name")
	}
	start := p.at
	escaped := false
	for p.at < len(p.text) && p.text[p.at] != '"' {
		if p.text[p.at] == '\\' {
			escaped = true
			p.at++
		}
		p.at++
	}
	if p.at >= len(p.text) {
		return "", p.fail("name without end")
	}
	name := p.text[start:p.at]
	p.at++
	if escaped || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == utf8.RuneError }) {
		var err error
		if name, err = p.unquote(start); err != nil {
			return "", err
		}
	}
	if !p.next(':') {
		return "", p.fail("expected :")
	}
	return name, nil
}

// unquote returns the string that was just read from start on.
func (p *setParser) unquote(start int) (string, error) {
	quoted := p.text[start-1 : p.at]
	inner := quoted[1 : len(quoted)-1]
	// Keys are full of quotes, and mostly of no other escapes.
	if name := strings.ReplaceAll(inner, `\"`, `"`); strings.IndexByte(name, '\\') < 0 && printable(name) {
		return name, nil
	}
	var name string
	if err := json.Unmarshal([]byte(quoted), &name); err != nil {
		return "", p.fail(err.Error())
	}
	p.exact = p.exact && string(appendName(nil, name)) == quoted
	return name, nil
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// skip reads over a value whose meaning is not known.
func (p *setParser) skip() error {
	p.space()
	if strings.HasPrefix(p.text[p.at:], "{}") {
		p.at += len("{}")
		return nil
	}
	p.exact = false
	d := json.NewDecoder(strings.NewReader(p.text[p.at:]))
	var v json.RawMessage
	if err := d.Decode(&v); err != nil {
		return p.fail(err.Error())
	}
	p.at += int(d.InputOffset())
	return nil
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

// appendName writes a name in quotes.
func appendName(b []byte, name string) []byte {
	return append(appendEscaped(append(b, '"'), name), '"')
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
