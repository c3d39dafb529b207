package openapi

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"

	"github.com/miniapiserver/miniapiserver/internal/jsonscan"
)

// form is the order of the members of a JSON object in the documents of kube-apiserver, which is that of the
// fields of Go types. Members without a place in the order follow, sorted by name, as those of a map are.
type form struct {
	// place is the place of a member.
	place map[string]int
	// of are the forms of the values of members, and each is that of all others. The form of an array
	// is that of its elements. Nil means that only names count.
	of   map[string]*form
	each *form
}

// ordered returns a form with members in an order.
func ordered(names ...string) *form {
	f := &form{place: make(map[string]int, len(names)), of: map[string]*form{}}
	for i, name := range names {
		f.place[name] = i
	}
	return f
}

// mapOf returns the form of a map of values of a form.
func mapOf(each *form) *form { return &form{each: each} }

// with sets the form of the values of members.
func (f *form) with(value *form, names ...string) *form {
	for _, name := range names {
		f.of[name] = value
	}
	return f
}

// forms are the forms of the parts of documents.
type forms struct {
	// documentV3 is a document of version 3.
	documentV3 *form
	// pathV2, parameterV2, schema and securityV2 are parts of the document of version 2.
	pathV2, parameterV2, schema, securityV2 *form
}

// allForms returns the forms, which are made once.
var allForms = sync.OnceValue(func() *forms {
	f := &forms{schema: schemaForm()}
	f.parameterV2 = ordered("maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength", "minLength", "pattern", "maxItems",
		"minItems", "uniqueItems", "multipleOf", "enum", "type", "nullable", "format", "items", "collectionFormat", "default", "example",
		"description", "name", "in", "required", "schema", "allowEmptyValue", "$ref").with(f.schema, "schema")
	response := ordered("$ref", "description", "schema", "headers", "examples").with(f.schema, "schema")
	operation := ordered("description", "consumes", "produces", "schemes", "tags", "summary", "externalDocs", "operationId", "deprecated",
		"security", "parameters", "responses").with(f.parameterV2, "parameters").with(mapOf(response), "responses")
	f.pathV2 = ordered("get", "put", "post", "delete", "options", "head", "patch", "parameters").with(f.parameterV2, "parameters")
	f.pathV2.each = operation
	f.securityV2 = mapOf(ordered("description", "type", "name", "in"))
	f.documentV3 = documentV3Form(f.schema)
	return f
})

// schemaForm returns the form of a schema in both versions.
func schemaForm() *form {
	s := ordered("id", "description", "type", "nullable", "format", "title", "default", "maximum", "exclusiveMaximum", "minimum",
		"exclusiveMinimum", "maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "multipleOf", "enum",
		"maxProperties", "minProperties", "required", "items", "allOf", "oneOf", "anyOf", "not", "properties", "additionalProperties",
		"patternProperties", "dependencies", "additionalItems", "definitions", "discriminator", "readOnly", "externalDocs", "example",
		"$schema", "$ref")
	s.with(s, "items", "allOf", "oneOf", "anyOf", "not", "additionalProperties", "additionalItems")
	s.with(mapOf(s), "properties", "patternProperties", "definitions")
	rules := ordered("rule", "message", "messageExpression", "reason", "fieldPath", "optionalOldSelf")
	return s.with(rules, "x-kubernetes-validations")
}

func documentV3Form(schema *form) *form {
	content := mapOf(ordered("schema", "example", "examples", "encoding").with(schema, "schema"))
	parameter := ordered("$ref", "name", "in", "description", "required", "deprecated", "allowEmptyValue", "style", "explode",
		"allowReserved", "schema", "content", "example", "examples").with(schema, "schema").with(content, "content")
	response := ordered("$ref", "description", "headers", "content", "links").with(content, "content")
	operation := ordered("tags", "summary", "description", "externalDocs", "operationId", "parameters", "requestBody", "responses",
		"deprecated", "security", "servers").
		with(parameter, "parameters").
		with(ordered("$ref", "description", "content", "required").with(content, "content"), "requestBody").
		with(mapOf(response), "responses").
		with(ordered("group", "version", "kind"), kindsExtension)
	path := ordered("$ref", "summary", "description", "get", "put", "post", "delete", "options", "head", "patch",
		"trace", "servers", "parameters").
		with(parameter, "parameters")
	path.each = operation
	components := ordered("schemas", "securitySchemes", "responses", "parameters").
		with(mapOf(schema), "schemas").
		with(mapOf(ordered("$ref", "type", "description", "name", "in")), "securitySchemes")
	return ordered("openapi", "info", "paths", "servers", "components", "security", "externalDocs").
		with(ordered("description", "title", "termsOfService", "contact", "license", "version"), "info").
		with(mapOf(path), "paths").
		with(components, "components")
}

// layout returns JSON with the members of its objects in the order of a form.
func layout(text []byte, f *form) []byte {
	w := layouter{out: make([]byte, 0, len(text))}
	w.value(jsonscan.ParseValid(text), f)
	return w.out
}

// layoutV3 returns a document of version 3 as kube-apiserver writes it, with escapes for HTML.
func layoutV3(text []byte) []byte {
	var out bytes.Buffer
	out.Grow(len(text) + len(text)/64)
	json.HTMLEscape(&out, layout(text, allForms().documentV3))
	return out.Bytes()
}

// layouter writes JSON.
type layouter struct {
	out []byte
	// members are those of the objects that are being written, those of the innermost last.
	members []member
}

// member is a member of an object.
type member struct {
	place int
	key   []byte // with its quotes
	value jsonscan.Value
}

func (w *layouter) value(v jsonscan.Value, f *form) {
	switch {
	case v.IsObject():
		w.object(v, f)
	case v.IsArray():
		w.out = append(w.out, '[')
		for parts, first := v.Parts(), true; parts.Next(); first = false {
			if !first {
				w.out = append(w.out, ',')
			}
			w.value(parts.Value(), f)
		}
		w.out = append(w.out, ']')
	default:
		w.out = append(w.out, v.Bytes()...)
	}
}

func (w *layouter) object(v jsonscan.Value, f *form) {
	start := len(w.members)
	for parts := v.Parts(); parts.Next(); {
		m := member{key: parts.Key(), value: parts.Value()}
		m.place = f.placeOf(m.key)
		w.members = append(w.members, m)
	}
	end := len(w.members)
	slices.SortStableFunc(w.members[start:end], func(a, b member) int {
		if a.place != b.place {
			return a.place - b.place
		}
		return bytes.Compare(unquoted(a.key), unquoted(b.key))
	})
	w.out = append(w.out, '{')
	for i := start; i < end; i++ {
		m := w.members[i]
		if i > start {
			w.out = append(w.out, ',')
		}
		w.out = append(append(w.out, m.key...), ':')
		w.value(m.value, f.formOf(m.key))
	}
	w.out = append(w.out, '}')
	w.members = w.members[:start]
}

// unquoted returns a key without its quotes, which would be compared with the letters that follow in a
// longer key.
func unquoted(key []byte) []byte { return key[1 : len(key)-1] }

// placeOf returns the place of a member. Those without one are behind all others.
func (f *form) placeOf(key []byte) int {
	if f == nil || f.place == nil {
		return 0
	}
	if place, ok := f.place[string(unquoted(key))]; ok {
		return place
	}
	return len(f.place)
}

// formOf returns the form of the value of a member.
func (f *form) formOf(key []byte) *form {
	if f == nil {
		return nil
	}
	if value, ok := f.of[string(unquoted(key))]; ok {
		return value
	}
	return f.each
}
