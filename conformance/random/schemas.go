package random

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// schema returns a random structural schema with at most depth levels below it.
func (s *story) schema(depth int) object {
	kind := pick(s, "string", "string", "integer", "number", "boolean", "object", "object", "array", "array", "any", "port")
	if depth <= 0 && (kind == "object" || kind == "array") {
		kind = "string"
	}
	o := object{"type": kind}
	switch kind {
	case "string":
		s.stringSchema(o)
	case "integer", "number":
		s.numberSchema(o, kind)
	case "object":
		s.objectSchema(o, depth)
	case "array":
		s.arraySchema(o, depth)
	case "any":
		delete(o, "type")
		o["x-kubernetes-preserve-unknown-fields"] = true
		if s.chance(40) {
			o["type"] = "object"
		}
	case "port":
		delete(o, "type")
		o["x-kubernetes-int-or-string"] = true
	}
	if s.chance(12) {
		o["nullable"] = true
	}
	if s.chance(8) {
		o["description"] = "d"
	}
	if s.chance(10) {
		o[pick(s, "allOf", "anyOf", "oneOf")] = []any{s.constraint(kind), s.constraint(kind)}
	} else if s.chance(4) {
		o["not"] = s.constraint(kind)
	}
	if s.chance(20) {
		o["x-kubernetes-validations"] = s.rules(o)
	}
	if s.chance(15) {
		o["default"] = s.valueOf(o)
	}
	return o
}

// accepted changes a schema so that a definition with it is accepted: it replaces rules and defaults
// by others that are surely valid.
func (s *story) accepted(schema object) object {
	for _, p := range places(object{"root": schema}) {
		o, ok := p.value.(object)
		if !ok {
			continue
		}
		if _, is := o["default"]; is {
			delete(o, "default")
			if value := defaultOf(o); value != nil {
				o["default"] = value
			}
		}
		if o["x-kubernetes-validations"] != nil {
			delete(o, "x-kubernetes-validations")
			if o["type"] == "object" && o["properties"] == nil && o["additionalProperties"] == nil {
				continue // such an object has no type in a rule
			}
			o["x-kubernetes-validations"] = s.acceptedRules(o, slices.Contains(p.path, any("items")) || slices.Contains(p.path, any("additionalProperties")))
		}
		if o["x-kubernetes-embedded-resource"] == true {
			delete(o, "x-kubernetes-map-type")
		}
	}
	return schema
}

// defaultOf returns a default that a schema without constraints surely has, or nil.
func defaultOf(schema object) any {
	for _, name := range []string{"enum", "format", "pattern", "minLength", "maxLength", "minimum", "maximum", "multipleOf", "allOf", "anyOf", "oneOf", "not", "required", "minItems", "minProperties", "x-kubernetes-embedded-resource", "x-kubernetes-validations"} {
		if schema[name] != nil {
			return nil
		}
	}
	switch schema["type"] {
	case "string":
		return "d"
	case "integer", "number":
		return 1
	case "boolean":
		return true
	case "object":
		return object{}
	case "array":
		return []any{}
	}
	return nil
}

// acceptedRules returns rules that compile and cost little. Those of one among many values cost nothing.
func (s *story) acceptedRules(schema object, many bool) []any {
	var choices []string
	switch schema["type"] {
	case "string":
		choices = append(choices, "size(self) < 4", "self != 'b'", "self.startsWith('a')", "self == 'a' || oldSelf == 'b'", "size(self) >= size(oldSelf)", "self == oldSelf")
	case "integer":
		choices = append(choices, "self > 0", "self < 3", "self >= oldSelf", "self % 2 == 0", "10 / self > 1")
	case "number":
		choices = append(choices, "self > 0.5", "self <= oldSelf", "double(self) < 2.0")
	case "boolean":
		choices = append(choices, "self", "self || !oldSelf")
	case "array":
		choices = append(choices, "size(self) < 2", "size(self) >= size(oldSelf)", "size(self) != 1")
	case "object":
		choices = []string{"has(self.a)", "!has(self.b) || has(self.a)", "true", "1 == 2"}
		if properties, ok := schema["properties"].(object); !ok || properties["a"] == nil || properties["b"] == nil {
			choices = []string{"true", "1 == 2"}
		}
	default:
		choices = []string{"true", "1 == 2", "'a' == 'a'"}
	}
	if many {
		choices = []string{"true", "1 == 2", "'a' == 'a'"}
	}
	list := []any{}
	for range 1 + s.IntN(2) {
		rule := object{"rule": pick(s, choices...)}
		if s.chance(40) {
			rule["message"] = pick(s, "no", "must \"hold\"")
		} else if s.chance(20) {
			rule["messageExpression"] = "'x' + 'y'"
		}
		if s.chance(20) {
			rule["reason"] = pick(s, "FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate")
		}
		list = append(list, rule)
	}
	return list
}

// constraint returns a schema that may stand in allOf, anyOf, oneOf and not.
func (s *story) constraint(kind string) object {
	switch kind {
	case "string":
		return pick(s, object{"minLength": 1}, object{"pattern": "^a"}, object{"enum": []any{"a", "b"}}, object{"maxLength": 2}, object{"format": "date-time"})
	case "integer", "number":
		return pick(s, object{"minimum": 1}, object{"maximum": 2}, object{"multipleOf": 2}, object{"enum": []any{1, 2}})
	case "object":
		return pick(s, object{"required": []any{"a"}}, object{"required": []any{"b"}}, object{"minProperties": 1}, object{"properties": object{"a": object{"minLength": 1}}})
	case "array":
		return pick(s, object{"minItems": 1}, object{"maxItems": 1}, object{"items": object{"minLength": 1}})
	}
	return pick(s, object{}, object{"enum": []any{true, 1, "a"}}, object{"minimum": 1}, object{"pattern": "^a"})
}

func (s *story) stringSchema(o object) {
	if s.chance(15) {
		o["enum"] = pick(s, []any{"a", "b"}, []any{"a"}, []any{"a", "b", "c", ""})
	}
	if s.chance(15) {
		o["format"] = pick(s, "date-time", "date", "byte", "ipv4", "ipv6", "cidr", "uuid", "uri", "email", "duration", "hostname", "none", "int32", "password", "mac", "k8s-short-name", "k8s-long-name")
	}
	if s.chance(15) {
		o["pattern"] = pick(s, "^[a-z]+$", "a", "^$", "^.{1,3}$")
	}
	if s.chance(25) {
		o["maxLength"] = pick(s, 3, 10, 0)
	}
	if s.chance(10) {
		o["minLength"] = pick(s, 1, 2)
	}
}

func (s *story) numberSchema(o object, kind string) {
	if s.chance(20) {
		o["minimum"] = pick(s, 0, 1, -1)
		if s.chance(30) {
			o["exclusiveMinimum"] = true
		}
	}
	if s.chance(15) {
		o["maximum"] = pick(s, 2, 100)
		if s.chance(30) {
			o["exclusiveMaximum"] = true
		}
	}
	if s.chance(8) {
		o["multipleOf"] = pick[any](s, 2, 0.5)
	}
	if s.chance(15) {
		o["format"] = pick(s, "int32", "int64", "float", "double", "none")
	}
	if s.chance(8) {
		o["enum"] = []any{1, 2, 3}
	}
	if kind == "number" && s.chance(20) {
		o["minimum"] = 0.5
	}
}

func (s *story) objectSchema(o object, depth int) {
	if s.chance(25) {
		o["additionalProperties"] = s.schema(depth - 1)
		if s.chance(25) {
			o["x-kubernetes-map-type"] = pick(s, "granular", "atomic")
		}
		if s.chance(20) {
			o["maxProperties"] = pick(s, 1, 2)
		}
		return
	}
	properties := object{}
	for _, name := range some(s, "a", "b", "c", "name", "b-c") {
		properties[name] = s.schema(depth - 1)
	}
	if len(properties) > 0 || s.chance(50) {
		o["properties"] = properties
	}
	if names := slices.Sorted(maps.Keys(properties)); len(names) > 0 && s.chance(20) {
		o["required"] = []any{pick(s, names...)}
	}
	if s.chance(10) {
		o["x-kubernetes-preserve-unknown-fields"] = true
	}
	if s.chance(10) {
		o["x-kubernetes-map-type"] = pick(s, "granular", "atomic")
	}
	if s.chance(6) {
		o["x-kubernetes-embedded-resource"], o["x-kubernetes-preserve-unknown-fields"] = true, true
	}
	if s.chance(6) {
		o["minProperties"] = 1
	}
}

func (s *story) arraySchema(o object, depth int) {
	switch s.IntN(4) {
	case 0:
		o["items"], o["x-kubernetes-list-type"] = object{"type": pick(s, "string", "integer")}, pick(s, "set", "atomic")
	case 1:
		o["items"] = object{"type": "object", "required": []any{"name"}, "properties": object{"name": object{"type": "string", "maxLength": 10}, "value": s.schema(depth - 2)}}
		o["x-kubernetes-list-type"], o["x-kubernetes-list-map-keys"] = "map", []any{"name"}
	default:
		o["items"] = s.schema(depth - 1)
	}
	if s.chance(30) {
		o["maxItems"] = pick(s, 1, 2, 10)
	}
	if s.chance(10) {
		o["minItems"] = 1
	}
	if s.chance(5) {
		o["uniqueItems"] = pick(s, true, false)
	}
}

// valueOf returns a value for a schema: mostly one that is valid.
func (s *story) valueOf(schema object) any {
	if s.chance(5) {
		return s.value(1)
	}
	if choices, ok := schema["enum"].([]any); ok && s.chance(80) {
		return pick(s, choices...)
	}
	switch schema["type"] {
	case "string":
		return pick(s, "a", "b", "abc", "a", "", "long text", "2026-01-02T03:04:05Z", "1.2.3.4")
	case "integer":
		return pick[any](s, 0, 1, 2, 3, 100, 2.0)
	case "number":
		return pick[any](s, 0, 1, 1.5, 2, 0.25)
	case "boolean":
		return s.chance(50)
	case "array":
		items, _ := schema["items"].(object)
		list := []any{}
		for range s.IntN(3) {
			list = append(list, s.valueOf(items))
		}
		return list
	case "object":
		return s.objectOf(schema)
	}
	if schema["x-kubernetes-int-or-string"] == true {
		return pick[any](s, 1, "a", "1", 80)
	}
	return s.value(2)
}

func (s *story) objectOf(schema object) object {
	o := object{}
	properties, _ := schema["properties"].(object)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		property, _ := properties[name].(object)
		if s.chance(60) {
			o[name] = s.valueOf(property)
		}
	}
	if more, ok := schema["additionalProperties"].(object); ok {
		for _, name := range some(s, "a", "x", "y") {
			o[name] = s.valueOf(more)
		}
	}
	if schema["x-kubernetes-embedded-resource"] == true && s.chance(85) {
		o["apiVersion"], o["kind"], o["metadata"] = "v1", "ConfigMap", object{"name": "e", "labels": object{"a": "b"}}
	}
	if s.chance(6) {
		o[pick(s, "unknown", "a", "metadata")] = s.value(1)
	}
	return o
}

// rules returns validation rules for values of a schema.
func (s *story) rules(schema object) []any {
	e := expressions{s, fieldNames(schema)}
	list := []any{}
	for range 1 + s.IntN(2) {
		text := e.boolean(1 + s.IntN(2))
		if s.chance(25) { // a rule about a change
			text = pick(s, "self == oldSelf", "oldSelf != self || true", "self != oldSelf", "oldSelf == oldSelf")
		}
		if s.chance(6) {
			text = e.broken()
		}
		rule := object{"rule": text}
		if s.chance(30) {
			rule["message"] = pick(s, "no", "must \"hold\"", "", "a\nb", " ")
		}
		if s.chance(15) {
			rule["messageExpression"] = pick(s, "'x' + 'y'", "self", "string(self)", "''", "'a\\nb'", "1", e.text(1))
		}
		if s.chance(15) {
			rule["reason"] = pick(s, "FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate", "Other")
		}
		if s.chance(12) {
			rule["fieldPath"] = pick(s, ".a", ".b", ".none", "a", ".a.b", "['a']", ".metadata")
		}
		if s.chance(10) {
			rule["optionalOldSelf"] = s.chance(70)
		}
		list = append(list, rule)
	}
	return list
}

// fieldNames returns the names that a rule about a schema can have, by their types.
func fieldNames(schema object) names {
	n := names{strings: []string{"'s'"}, numbers: []string{"3"}, booleans: []string{"true"}, lists: []string{"['l']"}, maps: []string{"{'m': 'n'}"}, others: []string{"self", "self"}}
	add := func(path string, o object) {
		switch o["type"] {
		case "string":
			n.strings = append(n.strings, path, path)
		case "integer":
			n.numbers = append(n.numbers, path, path)
		case "boolean":
			n.booleans = append(n.booleans, path)
		case "array":
			n.lists = append(n.lists, path, path)
		case "object":
			if o["additionalProperties"] != nil {
				n.maps = append(n.maps, path, path)
			}
		}
		if path != "self" {
			n.others = append(n.others, path)
		}
	}
	add("self", schema)
	properties, _ := schema["properties"].(object)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if property, ok := properties[name].(object); ok {
			add("self."+strings.ReplaceAll(name, "-", "__dash__"), property)
		}
	}
	return n
}

// badSchema returns a schema that mostly breaks a rule about schemas.
func (s *story) badSchema(schema object) object {
	for range 1 + s.IntN(2) {
		all := slices.DeleteFunc(places(schema), func(p place) bool { _, ok := p.value.(object); return !ok })
		at := []any{}
		if len(all) > 0 && s.chance(75) {
			at = pick(s, all...).path
		}
		spoil := func(v any) (any, bool) {
			o, ok := v.(object)
			if !ok {
				return v, true
			}
			name := pick(s, "type", "type", "items", "properties", "additionalProperties", "required", "enum", "default", "nullable", "format", "pattern", "minimum", "maxLength", "minItems", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type", "x-kubernetes-preserve-unknown-fields",
				"x-kubernetes-int-or-string", "x-kubernetes-embedded-resource", "x-kubernetes-validations", "allOf", "not", "uniqueItems", "$ref", "definitions", "dependencies", "id", "title", "example", "externalDocs", "patternProperties", "additionalItems", "unknown", "maxProperties", "multipleOf", "exclusiveMinimum", "$schema")
			if s.chance(15) {
				delete(o, name)
			} else {
				o[name] = s.keyword(name)
			}
			return o, true
		}
		if len(at) == 0 {
			spoil(schema)
		} else {
			change(schema, at, spoil)
		}
	}
	return schema
}

// keyword returns a value for a keyword of a schema.
func (s *story) keyword(name string) any {
	if s.chance(20) {
		return s.scalar()
	}
	switch name {
	case "type":
		return pick(s, "string", "object", "array", "integer", "number", "boolean", "null", "file", "", "any")
	case "items", "additionalProperties", "not", "additionalItems":
		return pick[any](s, object{"type": "string"}, true, false, object{}, []any{object{"type": "string"}}, s.schema(1), object{"x-kubernetes-preserve-unknown-fields": true}, object{"nullable": true}, object{"description": "d"})
	case "properties", "patternProperties", "definitions":
		return pick[any](s, object{"a": object{"type": "string"}}, object{}, object{"a": s.schema(1)}, object{"metadata": object{"type": "object"}}, object{"": object{"type": "string"}})
	case "required", "x-kubernetes-list-map-keys":
		return pick[any](s, []any{"a"}, []any{}, []any{"a", "a"}, []any{"name"}, []any{"none", "name"}, []any{""})
	case "enum":
		return pick[any](s, []any{}, []any{"a", "a"}, []any{1, "a"}, []any{nil}, []any{object{}})
	case "x-kubernetes-list-type":
		return pick(s, "set", "map", "atomic", "other", "")
	case "x-kubernetes-map-type":
		return pick(s, "granular", "atomic", "other", "")
	case "pattern":
		return pick(s, "[", "^a$", "(?=a)", "\\d", "")
	case "allOf":
		return []any{pick(s, object{"type": "string"}, object{"default": 1}, object{"nullable": true}, object{"properties": object{"zz": object{}}}, object{"x-kubernetes-validations": []any{object{"rule": "true"}}}, object{"description": "d"}, object{"x-kubernetes-preserve-unknown-fields": true}, object{"additionalProperties": true}, object{"items": object{"type": "string"}})}
	case "x-kubernetes-validations":
		return pick[any](s, []any{object{"rule": pick(s, "self.none == 1", "true", "", "self == 1", "1", "self.all(x, self.all(y, self.all(z, x == y)))", "oldSelf == self", "self.metadata.name == 'a'", fmt.Sprint("size(self) < ", s.IntN(5)))}}, []any{}, []any{object{}}, []any{object{"rule": "true"}, object{"rule": "true"}})
	case "default":
		return s.value(2)
	}
	return pick[any](s, 0, 1, -1, 1.5, "a", true, false, object{}, []any{})
}
