package random

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
)

// defined is a story about one definition, its objects, and definitions that are only tried.
type defined struct {
	*definition
	// specs are the schemas of spec, and statuses those of status, by version.
	specs, statuses map[string]object
}

// definitionStories tells of a definition whose schemas have all keywords, of changes to it, and of its objects.
func definitionStories(s *story) {
	d := &defined{&definition{story: s, scope: pick(s, "Namespaced", "Namespaced", "Cluster")}, map[string]object{}, map[string]object{}}
	for i := range 1 + s.IntN(2) {
		d.versions = append(d.versions, d.version(fmt.Sprintf("v%d", i+1)))
	}
	d.body = object{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": object{"name": "things.${id}.example.com"}, "spec": object{
		"group": "${id}.example.com", "scope": d.scope, "names": object{"kind": "Thing", "listKind": "ThingList", "plural": "things", "singular": "thing"}}}
	d.send(http.MethodPost, definitions, d.render()).Ignore = []string{"status"}
	d.cleanup(definitions + "/things.${id}.example.com")
	for _, v := range d.versions {
		d.await(d.path(v), 200)
	}
	for s.goesOn() {
		s.happen(
			action{8, d.try}, action{5, d.tryChange}, action{1, d.change}, action{1, d.overwriteStatus}, action{2, d.read}, action{1, d.describe},
			action{5, d.post}, action{3, d.put}, action{4, d.apply}, action{3, d.patch}, action{1, d.status}, action{4, d.get}, action{1, d.remove},
		)
	}
}

// version returns a version with random schemas.
func (d *defined) version(name string) *version {
	v := d.story.version(name)
	spec := object{"type": "object"}
	d.objectSchema(spec, 3)
	if d.chance(30) {
		spec["x-kubernetes-validations"] = d.rules(spec)
	}
	d.specs[name], d.statuses[name] = d.accepted(spec), d.accepted(object{"type": "object", "properties": object{"a": d.schema(1), "replicas": object{"type": "integer"}, "text": object{"type": "string"}}})
	delete(v.extra, "selectableFields")
	delete(v.extra, "additionalPrinterColumns")
	if d.chance(30) {
		v.extra["additionalPrinterColumns"] = d.columns(false)
	}
	if name == "v1" && d.chance(20) {
		v.extra["selectableFields"] = []any{object{"jsonPath": ".status.text"}}
	}
	return v
}

// columns returns printer columns, some of them with faults.
func (d *defined) columns(faults bool) []any {
	list := []any{}
	for i := range 1 + d.IntN(3) {
		c := object{"name": fmt.Sprint("C", i), "type": pick(d.story, "string", "integer", "number", "boolean", "date"), "jsonPath": pick(d.story, ".spec.a", ".spec.b", ".spec.c", ".spec.name", ".metadata.name", ".metadata.creationTimestamp", ".spec.a.b", ".spec.b[0]", ".spec.b[*].name", ".spec['b-c']", ".status.text", ".spec", ".spec.b[?(@.name=='a')].value", ".metadata.labels.a")}
		if d.chance(20) {
			c["priority"] = d.IntN(2)
		}
		if d.chance(15) && faults {
			c["format"] = pick(d.story, "int32", "date-time", "none", "byte")
		}
		if d.chance(4) && faults {
			c[pick(d.story, "name", "type", "jsonPath", "priority", "format")] = pick[any](d.story, "", "x", "[", ".spec[", "{.a}", -1)
		}
		list = append(list, c)
	}
	return list
}

// render returns the definition with the schemas of its versions.
func (d *defined) render() object {
	body := d.definition.render()
	versions, _ := body["spec"].(object)["versions"].([]any)
	for _, v := range versions {
		v := v.(object)
		name, _ := v["name"].(string)
		v["schema"] = object{"openAPIV3Schema": object{"type": "object", "properties": object{"spec": clone(d.specs[name]), "status": clone(d.statuses[name])}}}
	}
	return body
}

// try adds a dry run of a new definition that is mostly refused.
func (d *defined) try() {
	body := (&defined{d.definition, maps.Clone(d.specs), maps.Clone(d.statuses)}).tried()
	body["metadata"] = object{"name": pick(d.story, "others.${id}.example.com", "others.${id}.example.com", "others.${id}.example.com", "others", "things.other.com")}
	names := body["spec"].(object)["names"].(object)
	names["plural"], names["kind"], names["listKind"], names["singular"] = "others", "Other", "OtherList", "other"
	d.send(http.MethodPost, query(definitions, "dryRun", "All", "fieldValidation", d.sometimes(20, "Strict", "Ignore")), d.spoiled(body)).Ignore = []string{"status"}
}

// tried returns a definition with fresh schemas.
func (d *defined) tried() object {
	for _, v := range d.versions {
		if d.chance(60) {
			fresh := object{"type": "object"}
			d.objectSchema(fresh, 2)
			d.specs[v.name] = fresh
		}
	}
	return clone(d.render())
}

// spoiled returns a definition with faults in its schemas or elsewhere.
func (d *defined) spoiled(body object) object {
	s := d.story
	spec, _ := body["spec"].(object)
	switch s.IntN(12) {
	case 8, 9, 10, 11: // the fresh schemas have faults too
	case 0, 1, 2, 3:
		versions, _ := spec["versions"].([]any)
		v := pick(s, versions...).(object)
		schema := v["schema"].(object)["openAPIV3Schema"].(object)
		v["schema"] = object{"openAPIV3Schema": s.badSchema(schema)}
	case 4:
		versions, _ := spec["versions"].([]any)
		v := pick(s, versions...).(object)
		name := pick(s, "name", "served", "storage", "schema", "subresources", "additionalPrinterColumns", "selectableFields", "deprecated", "deprecationWarning", "unknown")
		v[name] = d.versionValue(name)
	case 5:
		name := pick(s, "group", "scope", "names", "versions", "conversion", "preserveUnknownFields", "unknown")
		spec[name] = d.specValue(name)
	case 6:
		names := spec["names"].(object)
		names[pick(s, "kind", "listKind", "plural", "singular", "shortNames", "categories")] = pick[any](s, "", "x", "Other", "A b", []any{"a", "b"}, []any{"a", "a"}, []any{"A b", ""}, "other", "UPPER", 1, []any{"all"})
	default:
		return s.mutate(body, "apiVersion", "kind", "metadata")
	}
	return body
}

// versionValue returns a value for a field of a version.
func (d *defined) versionValue(name string) any {
	s := d.story
	switch name {
	case "name":
		return pick[any](s, "v1", "v2", "V1", "", "1", "v1beta1", "a.b", "x")
	case "schema":
		return pick[any](s, nil, object{}, object{"openAPIV3Schema": nil}, object{"openAPIV3Schema": object{}}, object{"openAPIV3Schema": object{"type": "string"}}, object{"openAPIV3Schema": object{"type": "object", "properties": object{"metadata": object{"type": "object", "properties": object{"name": object{"type": "string", "pattern": "^a"}, "labels": object{"type": "object"}}}, "apiVersion": object{"type": "string"}, "kind": object{"type": "integer"}}}})
	case "subresources":
		return pick[any](s, object{"status": object{}}, object{"scale": object{}}, object{"scale": object{"specReplicasPath": ".a", "statusReplicasPath": ".status.replicas"}}, object{"scale": object{"specReplicasPath": ".spec.replicas", "statusReplicasPath": "status"}}, object{"scale": object{"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".x"}}, object{"status": object{"a": 1}}, object{"other": object{}}, object{"scale": object{"specReplicasPath": ".spec['x']", "statusReplicasPath": ".status.a[0]"}})
	case "selectableFields":
		return pick[any](s, []any{}, []any{object{"jsonPath": ".spec.a"}, object{"jsonPath": ".spec.a"}}, []any{object{"jsonPath": ".none"}}, []any{object{}}, []any{object{"jsonPath": "a b"}}, []any{object{"jsonPath": ".metadata.name"}}, []any{object{"jsonPath": ".spec"}}, []any{object{"jsonPath": ".spec.b[0]"}})
	case "additionalPrinterColumns":
		return d.columns(true)
	}
	return s.scalar()
}

// specValue returns a value for a field of spec.
func (d *defined) specValue(name string) any {
	s := d.story
	switch name {
	case "group":
		return pick[any](s, "", "other.com", "A b", "${id}", "k8s.io", "x.k8s.io", "apps", 1)
	case "conversion":
		return pick[any](s, object{"strategy": "None"}, object{"strategy": "Webhook"}, object{"strategy": "Other"}, object{"strategy": "None", "webhook": object{"clientConfig": object{"url": "https://a"}, "conversionReviewVersions": []any{"v1"}}}, object{"strategy": "Webhook", "webhook": object{"conversionReviewVersions": []any{"v1"}, "clientConfig": object{"url": pick(s, "http://a", "https://a?b", "x", "https://u:p@a", "https://a#f", "")}}},
			object{"strategy": "Webhook", "webhook": object{"conversionReviewVersions": []any{}, "clientConfig": object{"service": object{"name": "a", "namespace": "b", "port": pick(s, 0, 443, 70000), "path": pick(s, "/x", "x", "/a//b")}}}}, object{"strategy": "Webhook", "webhook": object{"conversionReviewVersions": []any{"v9"}, "clientConfig": object{"url": "https://a", "service": object{"name": "a", "namespace": "b"}, "caBundle": pick(s, "eA==", "", "!")}}}, object{}, nil)
	case "scope":
		return pick[any](s, "Namespaced", "Cluster", "", "Other", nil)
	case "versions":
		return pick[any](s, []any{}, nil, []any{object{}}, []any{object{"name": "v1", "served": true, "storage": false}}, "x")
	case "preserveUnknownFields":
		return pick[any](s, true, false, nil)
	}
	return s.value(1)
}

const thingsDefinition = definitions + "/things.${id}.example.com"

// tryChange adds a dry run of a change of the definition.
func (d *defined) tryChange() {
	s := d.story
	path := query(thingsDefinition, "dryRun", "All", "fieldManager", s.sometimes(20, "m"), "fieldValidation", s.sometimes(20, "Strict", "Ignore"))
	body := (&defined{d.definition, maps.Clone(d.specs), maps.Clone(d.statuses)}).tried()
	ignored := []string{"status", "metadata.managedFields"}
	switch s.IntN(4) {
	case 0:
		s.patch(mergePatch, path, object{"spec": d.spoiled(body)["spec"]}).Ignore = ignored
	case 1:
		save(s.send(http.MethodGet, thingsDefinition, nil), "rv", "metadata.resourceVersion")
		s.last().Only = []string{"kind"}
		body = d.spoiled(body)
		if metadata, ok := body["metadata"].(object); ok {
			metadata["resourceVersion"] = "${rv}"
		}
		s.send(http.MethodPut, path, body).Ignore = ignored
	case 2:
		s.patch(applyPatch, query(path, "fieldManager", "applier", "force", s.sometimes(60, "true")), d.spoiled(body)).Ignore = ignored
	default:
		s.patch(jsonPatch, path, s.operationsFor(body)).Ignore = ignored
	}
}

// change changes the definition.
func (d *defined) change() {
	v := d.any()
	fresh := d.version(v.name)
	v.extra, v.hasStatus, v.scale = fresh.extra, fresh.hasStatus, fresh.scale
	d.story.patch(mergePatch, thingsDefinition, object{"spec": d.render()["spec"]}).Only = []string{"kind", "message", "reason", "details"}
	d.pause(1.5)
}

// overwriteStatus adds writes of the definition's status, and reads of what becomes of it.
func (d *defined) overwriteStatus() {
	s := d.story
	status := pick[any](s, object{"storedVersions": pick[any](s, []any{"v1"}, []any{}, []any{"v9"}, []any{"v1", "v2"}, nil)}, object{"acceptedNames": pick[any](s, object{"kind": "X", "plural": "x"}, object{}, nil, object{"kind": "Thing", "plural": "things", "shortNames": []any{"t"}})},
		object{"conditions": pick[any](s, []any{object{"type": "X", "status": "True"}}, []any{object{"type": "NonStructuralSchema", "status": "True", "reason": "x"}}, []any{object{"type": "NamesAccepted", "status": "False"}, object{"type": "Established", "status": "True"}})}, object{"unknown": 1}, "x")
	s.patch(mergePatch, query(thingsDefinition+"/status", "dryRun", s.sometimes(30, "All")), object{"status": status}).Only = []string{"kind", "message", "reason", "details", "status.storedVersions"}
	s.pause(1.5)
	step := s.send(http.MethodGet, thingsDefinition, nil)
	step.Ignore = []string{"metadata.managedFields", "metadata.generation"}
	s.send(http.MethodGet, d.path(d.any()), nil)
}

// read adds a read of the definition.
func (d *defined) read() {
	step := d.send(http.MethodGet, pick(d.story, thingsDefinition, thingsDefinition, thingsDefinition+"/status"), nil)
	step.Ignore = []string{"metadata.managedFields"}
	if accept := d.accept(); d.chance(40) && !strings.HasPrefix(accept, "application/yaml") { // whose managedFields have an order
		header(step, "Accept", accept)
	}
}

// describe adds a read of what is published about the kind.
func (d *defined) describe() {
	v := d.any()
	d.send(http.MethodGet, pick(d.story, "/apis/${id}.example.com", "/apis/${id}.example.com/"+v.name, "/openapi/v3/apis/${id}.example.com/"+v.name, "/openapi/v3/apis/${id}.example.com/"+v.name), nil)
}

// thing returns an object with values for the schemas of a version.
func (d *defined) thing(v *version, name string) object {
	o := object{"apiVersion": "${id}.example.com/" + v.name, "kind": "Thing", "metadata": object{"name": name}}
	if d.chance(90) {
		o["spec"] = d.valueOf(d.specs[v.name])
	}
	if d.chance(30) {
		o["status"] = d.valueOf(d.statuses[v.name])
	}
	if d.chance(15) {
		o["metadata"].(object)["labels"] = object{"a": "b"}
	}
	return o
}

func (d *defined) name() string { return pick(d.story, "o", "o", "p") }

func (d *defined) options(path string) string {
	return query(path, "fieldManager", d.sometimes(30, "m1", "m2"), "dryRun", d.sometimes(10, "All"), "fieldValidation", d.sometimes(25, "Strict", "Ignore", "Warn"))
}

func (d *defined) post() {
	v := d.any()
	d.send(http.MethodPost, d.options(d.path(v)), d.thing(v, d.name()))
}

func (d *defined) put() {
	v, name := d.any(), d.name()
	step := d.send(http.MethodGet, d.path(v)+"/"+name, nil)
	save(step, "rv", "metadata.resourceVersion")
	body := d.thing(v, name)
	body["metadata"].(object)["resourceVersion"] = "${rv}"
	d.send(http.MethodPut, d.options(d.path(v)+"/"+name), body)
}

func (d *defined) apply() {
	v, name := d.any(), d.name()
	d.story.patch(applyPatch, query(d.path(v)+"/"+name, "fieldManager", pick(d.story, "m1", "m2"), "force", d.sometimes(60, "true"), "dryRun", d.sometimes(10, "All")), d.thing(v, name))
}

func (d *defined) patch() {
	v, name := d.any(), d.name()
	body := d.thing(v, name)
	if d.chance(60) {
		delete(body, "metadata")
		d.story.patch(mergePatch, d.options(d.path(v)+"/"+name), d.mutate(body, "apiVersion", "kind"))
		return
	}
	d.story.patch(jsonPatch, d.options(d.path(v)+"/"+name), d.operationsFor(body))
}

func (d *defined) status() {
	v, name := d.any(), d.name()
	body := d.thing(v, name)
	delete(body, "metadata")
	d.story.patch(mergePatch, d.options(d.path(v)+"/"+name+"/"+pick(d.story, "status", "status", "scale")), body)
}

func (d *defined) get() {
	v := d.any()
	path := d.path(v) + "/" + d.name()
	if d.chance(40) {
		path = query(d.path(v), "fieldSelector", d.sometimes(40, "spec.a=a", "metadata.name=o", "spec.name=a", "status.text=b", "spec.none=x"))
	}
	step := d.send(http.MethodGet, path, nil)
	if d.chance(50) {
		header(step, "Accept", d.accept())
	}
}

func (d *defined) remove() { d.send(http.MethodDelete, d.path(d.any())+"/"+d.name(), nil) }
