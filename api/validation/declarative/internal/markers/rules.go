package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// plain are the markers that the table has as they are written.
var plain = []string{
	"dependentForbidden", "dependentRequired", "eachKey", "eachVal", "forbidden", "format", "ifDisabled", "ifEnabled", "ifMode", "immutable",
	"maxBytes", "maxItems", "maxLength", "maximum", "minLength", "minimum", "modeDiscriminator", "monotonic", "neq", "opaqueType",
	"required", "subfield",
}

// silent are the markers that state no rule, or one that is written by hand (customValidation).
var silent = []string{"customValidation", "deprecated", "isSubresource", "openapi-model-package", "supportsSubresource"}

// rules returns the lines of a type in the table, the rules of the type itself first.
func (t apiType) rules() ([]string, error) {
	var own, lines []string
	members := map[string][]string{} // by stage
	for _, m := range byName(t.markers) {
		if m.name == "enum" {
			if slices.Contains(t.values, unresolved) || len(t.values) == 0 {
				return nil, fmt.Errorf("the values of the enum cannot be evaluated: %q", t.values)
			}
			own = append(own, rule("-", m.stage, "enum="+strings.Join(t.values, ",")))
		} else if !isSilent(m.name) {
			return nil, fmt.Errorf("marker %s on a type", m.name)
		}
	}
	for _, f := range t.fields {
		found, err := f.rules()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		lines = append(lines, found...)
		for _, m := range f.markers {
			if m.name == "unionMember" && m.args == "" {
				members[m.stage] = append(members[m.stage], f.name)
			}
		}
	}
	if len(members) > 1 {
		return nil, errors.New("a union whose members have several stages")
	}
	for stage, names := range members {
		own = append(own, rule("-", stage, "union="+strings.Join(names, ",")))
	}
	return append(own, lines...), nil
}

// rules returns the lines of a field in the table.
func (f apiField) rules() ([]string, error) {
	var lines []string
	add := func(m marker, text string) { lines = append(lines, rule(f.name, m.stage, text)) }
	var list listMarkers
	var updates, items []string
	for _, m := range byName(f.markers) {
		switch {
		case slices.Contains(plain, m.name):
			add(m, m.text())
		case m.name == "optional":
			switch hasDefault, isZero, err := f.defaults(); {
			case err != nil:
				return nil, err
			case !hasDefault:
				add(m, "optional")
			case f.isNilable || !isZero:
				add(m, "required")
			}
		case m.name == "update":
			if updates = append(updates, m.payload); len(updates) == count(f.markers, "update") {
				slices.SortFunc(updates, byConstraint)
				add(m, "update="+strings.Join(updates, ","))
			}
		case m.name == "item" && m.payload == "zeroOrOneOfMember":
			key, value, _ := strings.Cut(m.args, ":")
			items = append(items, key+":"+unquote(strings.TrimSpace(value)))
			if len(items) == count(f.markers, "item") {
				add(m, "zeroOrOneOf="+strings.Join(items, ","))
			}
		case list.add(m), m.name == "unionMember" && m.args == "", isSilent(m.name):
		default:
			return nil, fmt.Errorf("unknown marker %s", m.text())
		}
	}
	return append(lines, list.rules(f.name)...), nil
}

// defaults reports whether the field has a default, and whether that is the zero value.
func (f apiField) defaults() (hasDefault, isZero bool, err error) {
	if f.def == "" {
		return false, false, nil
	}
	var value any
	if err := json.Unmarshal([]byte(f.def), &value); err != nil {
		return true, false, fmt.Errorf("default %s: %w", f.def, err)
	}
	return true, value == "" || value == false || value == 0.0, nil
}

// listMarkers are the markers about the elements of a list.
type listMarkers struct {
	stage            string
	kind             string
	keys             []string
	uniqueByHand     bool
	hasListSemantics bool
}

// add reports whether m is a marker about the elements of a list.
func (l *listMarkers) add(m marker) bool {
	switch m.name {
	case "listType", "unique":
		if l.hasListSemantics = true; m.payload != "atomic" {
			l.kind, l.stage = m.payload, m.stage
		}
	case "listMapKey":
		l.keys = append(l.keys, m.payload)
	case "customUnique":
		l.uniqueByHand = true
	default:
		return false
	}
	return true
}

func (l *listMarkers) rules(name string) []string {
	var lines []string
	switch l.kind {
	case "map":
		lines = append(lines, rule(name, "", "items=map("+strings.Join(l.keys, ",")+")"))
	case "set":
		lines = append(lines, rule(name, "", "items=set"))
	default:
		return nil
	}
	if !l.uniqueByHand {
		lines = append(lines, rule(name, l.stage, "unique"))
	}
	return lines
}

// byName sorts markers as kube-apiserver applies them: by name, where those that are in a stage
// have the name of the stage.
func byName(markers []marker) []marker {
	sorted := slices.Clone(markers)
	slices.SortStableFunc(sorted, func(a, b marker) int {
		return cmp.Compare(cmp.Or(a.stage, a.name), cmp.Or(b.stage, b.name))
	})
	return sorted
}

// byConstraint compares constraints of updates in the order in which they are checked.
func byConstraint(a, b string) int {
	order := []string{"NoSet", "NoUnset", "NoModify", "NoAddItem", "NoRemoveItem"}
	return cmp.Compare(slices.Index(order, a), slices.Index(order, b))
}

func (m marker) text() string {
	text := m.name
	if m.args != "" {
		text += "(" + m.args + ")"
	}
	if m.payload != "" {
		text += "=" + m.payload
	}
	return text
}

func count(markers []marker, name string) (n int) {
	for _, m := range markers {
		if m.name == name {
			n++
		}
	}
	return n
}

// isSilent reports whether a marker states no rule. The markers of other generators end with -gen,
// or have it before a colon or another word.
func isSilent(name string) bool {
	return slices.Contains(silent, name) || strings.Contains(name, "-gen")
}

// rule returns one line of the table.
func rule(name, stage, text string) string {
	if stage != "" {
		text = stage + " " + text
	}
	return name + " " + text
}
