package random

import (
	"fmt"
	"maps"
	"slices"
)

// definition is a custom resource definition in a story.
type definition struct {
	*story
	// versions are those of the definition, the first one is stored.
	versions []*version
	scope    string
	body     object
	// conversion is the conversion of the definition; nil means none.
	conversion object
}

// version is a version of a definition.
type version struct {
	name   string
	served bool
	// fields are the schemas of the fields of spec, and status those of status.
	fields, status object
	hasStatus      bool
	scale          object
	extra          object // further fields of the version
}

// vocabulary returns the schemas of fields that a version may have, each with valid values.
func vocabulary() map[string][]object {
	str, num := object{"type": "string"}, object{"type": "integer"}
	list := func(items object, more ...any) object {
		o := object{"type": "array", "items": items}
		for i := 0; i < len(more); i += 2 {
			o[more[i].(string)] = more[i+1]
		}
		return o
	}
	item := object{"type": "object", "required": []any{"name"}, "properties": object{"name": str, "value": str, "n": object{"type": "integer", "default": 1}}}
	return map[string][]object{
		"text":     {str, {"type": "string", "default": "d"}, {"type": "string", "maxLength": 3}, {"type": "string", "nullable": true}, {"type": "string", "enum": []any{"a", "b"}}},
		"number":   {num, {"type": "integer", "minimum": 0, "default": 2}, {"type": "number"}, {"type": "integer", "format": "int32"}},
		"flag":     {{"type": "boolean"}, {"type": "boolean", "default": true}},
		"set":      {list(str, "x-kubernetes-list-type", "set"), list(str), list(str, "x-kubernetes-list-type", "atomic"), list(str, "default", []any{"a"}, "x-kubernetes-list-type", "set")},
		"items":    {list(item, "x-kubernetes-list-type", "map", "x-kubernetes-list-map-keys", []any{"name"}), list(item), list(item, "maxItems", 1)},
		"map":      {{"type": "object", "additionalProperties": str}, {"type": "object", "additionalProperties": num}, {"type": "object", "additionalProperties": str, "x-kubernetes-map-type": "atomic"}},
		"any":      {{"x-kubernetes-preserve-unknown-fields": true}, {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
		"port":     {{"x-kubernetes-int-or-string": true}, {"x-kubernetes-int-or-string": true, "default": "http"}},
		"nested":   {{"type": "object", "properties": object{"a": str, "b": object{"type": "string", "default": "b"}}}, {"type": "object", "default": object{}, "properties": object{"a": str, "b": object{"type": "string", "default": "b"}}}},
		"replicas": {{"type": "integer", "format": "int32"}, {"type": "integer", "default": 1}},
	}
}

// define adds the creation of a definition with some versions and waits until they are served.
func (s *story) define(versions int) *definition {
	d := &definition{story: s, scope: pick(s, "Namespaced", "Namespaced", "Namespaced", "Cluster")}
	for i := range versions {
		d.versions = append(d.versions, s.version(fmt.Sprintf("v%d", i+1)))
	}
	d.body = object{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": object{"name": "things.${id}.example.com"}, "spec": object{
		"group": "${id}.example.com", "scope": d.scope, "names": object{"kind": "Thing", "listKind": "ThingList", "plural": "things", "singular": "thing"}}}
	return d
}

// create adds the creation of the definition and waits until its versions are served.
func (d *definition) create() {
	d.send("POST", definitions, d.render()).Only = []string{"kind"}
	d.cleanup(definitions + "/things.${id}.example.com")
	for _, v := range d.versions {
		if v.served {
			d.await(d.path(v), 200)
		}
	}
}

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// version makes a version with random fields.
func (s *story) version(name string) *version {
	v := &version{name: name, served: true, fields: object{}, status: object{}, hasStatus: s.chance(60), extra: object{}}
	words := vocabulary()
	for _, field := range slices.Sorted(maps.Keys(words)) {
		if s.chance(60) {
			v.fields[field] = pick(s, words[field]...)
		}
		if s.chance(25) {
			v.status[field] = pick(s, words[field]...)
		}
	}
	if s.chance(30) {
		v.scale = object{"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
		if s.chance(50) {
			v.scale["labelSelectorPath"] = ".status.text"
		}
	}
	if s.chance(15) {
		v.extra["additionalPrinterColumns"] = []any{object{"name": "Text", "type": "string", "jsonPath": ".spec.text"}, object{"name": "N", "type": pick(s, "integer", "string"), "jsonPath": ".spec.number", "priority": s.IntN(2)}}
	}
	if s.chance(15) {
		v.extra["selectableFields"] = []any{object{"jsonPath": ".spec.text"}}
		v.fields["text"] = object{"type": "string"}
	}
	if s.chance(10) {
		v.extra["deprecated"] = true
		if s.chance(50) {
			v.extra["deprecationWarning"] = "old"
		}
	}
	return v
}

// render returns the definition as an object.
func (d *definition) render() object {
	body := clone(d.body)
	var versions []any
	for i, v := range d.versions {
		versions = append(versions, v.render(i == 0))
	}
	spec, _ := body["spec"].(object)
	spec["versions"] = versions
	if d.conversion != nil {
		spec["conversion"] = d.conversion
	}
	return body
}

func (v *version) render(storage bool) object {
	properties := object{"spec": object{"type": "object", "properties": v.fields}, "status": object{"type": "object", "properties": v.status}}
	o := object{"name": v.name, "served": v.served, "storage": storage, "schema": object{"openAPIV3Schema": object{"type": "object", "properties": properties}}}
	subresources := object{}
	if v.hasStatus {
		subresources["status"] = object{}
	}
	if v.scale != nil {
		subresources["scale"] = v.scale
	}
	if len(subresources) > 0 {
		o["subresources"] = subresources
	}
	maps.Copy(o, v.extra)
	return o
}

// path returns the path of the collection in a version.
func (d *definition) path(v *version) string {
	if d.scope == "Cluster" {
		return "/apis/${id}.example.com/" + v.name + "/things"
	}
	return "/apis/${id}.example.com/" + v.name + "/namespaces/${ns}/things"
}

// any returns one of the versions.
func (d *definition) any() *version { return pick(d.story, d.versions...) }

// body returns a custom object, or a part of one for an apply or a patch.
func (d *definition) object(v *version, name string) object {
	o := object{"apiVersion": "${id}.example.com/" + v.name, "kind": "Thing", "metadata": object{"name": name}}
	if spec := d.contents(v.fields); len(spec) > 0 || d.chance(50) {
		o["spec"] = spec
	}
	if d.chance(25) {
		o["status"] = d.contents(v.status)
	}
	if d.chance(20) {
		o["metadata"].(object)[pick(d.story, "labels", "annotations")] = object{pick(d.story, "a", "b"): pick(d.story, "1", "2")}
	}
	return o
}

// contents returns values for some of the fields: mostly of their types.
func (d *definition) contents(fields object) object {
	values := object{}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if d.chance(45) {
			values[name] = d.content(name)
		}
	}
	if d.chance(6) {
		values[pick(d.story, "unknown", "text", "items", "map")] = d.value(2)
	}
	return values
}

// content returns a value for a field of the vocabulary.
func (d *definition) content(name string) any {
	s := d.story
	if s.chance(4) {
		return s.value(2)
	}
	switch name {
	case "text":
		return pick[any](s, "a", "b", "abc", "long text")
	case "number", "replicas":
		return pick[any](s, 0, 1, 2, 3, 5)
	case "flag":
		return s.chance(50)
	case "set":
		return pick[any](s, []any{}, []any{"a"}, []any{"a", "b"}, []any{"c", "a"}, []any{"b", "c", "d"})
	case "items":
		list := []any{}
		for _, name := range some(s, "x", "y", "z") {
			item := object{"name": name}
			if s.chance(50) {
				item["value"] = pick(s, "1", "2")
			}
			if s.chance(30) {
				item["n"] = s.IntN(4)
			}
			list = append(list, item)
		}
		return list
	case "map":
		return pick[any](s, object{}, object{"a": "1"}, object{"a": "2", "b": "1"}, object{"c": "3"})
	case "any":
		return s.value(3)
	case "port":
		return pick[any](s, 80, "http", "80")
	case "nested":
		return pick[any](s, object{}, object{"a": "1"}, object{"a": "2", "b": "c"}, object{"b": "x"})
	}
	return s.scalar()
}

// replace adds a change of the whole spec of the definition. A patch has no conflict with the writes of
// the controllers.
func (d *definition) replace() {
	d.story.patch(mergePatch, definitions+"/things.${id}.example.com", object{"spec": d.render()["spec"]}).Only = []string{"kind", "message", "reason", "details"}
}
