package random

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// versions tells of custom objects that several managers write in several versions, of versions that
// come, go and change, and of scales.
func versions(s *story) {
	d := s.define(1 + s.IntN(3))
	d.create()
	for s.goesOn() {
		w := &writer{d, d.any(), pick(s, "o", "o", "o", "p")}
		s.happen(
			action{8, w.apply}, action{4, w.put}, action{4, w.patch}, action{3, w.status}, action{2, w.scale}, action{2, w.post}, action{4, w.get}, action{1, w.remove},
			action{1, w.managers}, action{1, d.changes}, action{1, w.list},
		)
	}
	for _, name := range []string{"o", "p"} { // so that the definition can go
		w := &writer{d, d.versions[0], name}
		s.patch(mergePatch, w.path(), object{"metadata": object{"finalizers": nil}}).Only = []string{}
	}
}

// writer writes one custom object in a version.
type writer struct {
	*definition
	version *version
	name    string
}

func (w *writer) path() string { return w.definition.path(w.version) + "/" + w.name }

func (w *writer) manager() string { return pick(w.story, "m1", "m2", "m3") }

// options returns a path with the parameters of a write.
func (w *writer) options(path string) string {
	return query(path, "fieldManager", w.sometimes(70, "m1", "m2", "m3"), "dryRun", w.sometimes(8, "All"), "fieldValidation", w.sometimes(20, "Strict", "Ignore", "Warn"))
}

func (w *writer) apply() {
	w.story.patch(applyPatch, query(w.path(), "fieldManager", w.manager(), "force", w.sometimes(50, "true"), "dryRun", w.sometimes(8, "All")), w.object(w.version, w.name))
}

func (w *writer) post() {
	w.send(http.MethodPost, w.options(w.definition.path(w.version)), w.object(w.version, w.name))
}

func (w *writer) get() {
	step := w.send(http.MethodGet, w.path(), nil)
	save(step, "rv", "metadata.resourceVersion")
	if w.chance(15) {
		header(step, "Accept", w.accept())
	}
}

func (w *writer) list() {
	step := w.send(http.MethodGet, query(w.definition.path(w.version), "limit", w.sometimes(20, "1"), "fieldSelector", w.sometimes(20, "metadata.name=o", "spec.text=a")), nil)
	if w.chance(30) {
		header(step, "Accept", w.accept())
	}
}

func (w *writer) put() {
	if w.chance(70) {
		w.get()
	}
	body := w.object(w.version, w.name)
	body["metadata"].(object)["resourceVersion"] = "${rv}"
	w.send(http.MethodPut, w.options(w.path()), body)
}

// patch writes a merge patch or a JSON patch.
func (w *writer) patch() { w.patchAt(w.path(), w.version.fields, "spec") }

func (w *writer) patchAt(path string, fields object, part string) {
	if w.chance(70) {
		values := w.contents(fields)
		for _, name := range slices.Sorted(maps.Keys(values)) {
			if w.chance(15) {
				values[name] = nil
			}
		}
		w.story.patch(mergePatch, w.options(path), object{part: values})
		return
	}
	operations := []any{}
	values := w.contents(fields)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		operations = append(operations, object{"op": pick(w.story, "add", "replace", "remove", "test"), "path": fmt.Sprintf("/%s/%s", part, name), "value": values[name]})
	}
	w.story.patch(jsonPatch, w.options(path), operations)
}

// status writes the status.
func (w *writer) status() {
	path := w.path() + "/status"
	switch w.IntN(3) {
	case 0:
		w.patchAt(path, w.version.status, "status")
	case 1:
		w.story.patch(applyPatch, query(path, "fieldManager", w.manager(), "force", w.sometimes(50, "true")),
			object{"apiVersion": "${id}.example.com/" + w.version.name, "kind": "Thing", "metadata": object{"name": w.name}, "status": w.contents(w.version.status)})
	default:
		w.get()
		body := w.object(w.version, w.name)
		body["metadata"].(object)["resourceVersion"] = "${rv}"
		body["status"] = w.contents(w.version.status)
		w.send(http.MethodPut, w.options(path), body)
	}
}

// scale reads or writes the scale.
func (w *writer) scale() {
	path := w.path() + "/scale"
	body := object{"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": object{"name": w.name}, "spec": object{"replicas": pick(w.story, 0, 1, 3, -1)}}
	switch w.IntN(4) {
	case 0:
		w.send(http.MethodGet, path, nil)
	case 1:
		w.story.patch(mergePatch, w.options(path), object{"spec": object{"replicas": pick[any](w.story, 0, 2, nil, "x")}})
	case 2:
		w.story.patch(applyPatch, query(path, "fieldManager", w.manager(), "force", w.sometimes(50, "true")), body)
	default:
		w.send(http.MethodPut, w.options(path), body)
	}
}

func (w *writer) remove() {
	if w.chance(40) {
		w.story.patch(mergePatch, w.path(), object{"metadata": object{"finalizers": pick[any](w.story, []any{"example.com/f"}, nil)}})
	}
	// The garbage collector of kube-controller-manager, which has to act for the other policies, notices
	// new definitions late.
	w.send(http.MethodDelete, query(w.path(), "dryRun", w.sometimes(20, "All"), "propagationPolicy", w.sometimes(30, "Background")), nil)
}

// managers writes managedFields.
func (w *writer) managers() {
	entry := object{"manager": w.manager(), "operation": pick(w.story, "Apply", "Update"), "apiVersion": pick(w.story, "${id}.example.com/v1", "${id}.example.com/v2", "${id}.example.com/v9", "other/v1", ""),
		"fieldsType": "FieldsV1", "time": "2026-01-02T03:04:05Z", "fieldsV1": object{"f:spec": object{"f:" + pick(w.story, "text", "number", "set", "unknown"): object{}}}}
	if w.chance(20) {
		entry["subresource"] = pick(w.story, "status", "scale")
	}
	w.story.patch(mergePatch, w.options(w.path()), object{"metadata": object{"managedFields": pick[any](w.story, []any{object{}}, []any{entry}, []any{}, nil, []any{entry, entry})}})
}

// changes changes the versions of the definition, and waits until that is seen.
func (d *definition) changes() {
	switch d.IntN(4) {
	case 0: // another version is stored
		d.versions[0], d.versions[len(d.versions)-1] = d.versions[len(d.versions)-1], d.versions[0]
	case 1: // other fields
		v := d.any()
		fresh := d.story.version(v.name)
		v.fields, v.hasStatus, v.scale = fresh.fields, fresh.hasStatus, fresh.scale
	case 2: // a version goes
		if len(d.versions) > 1 {
			d.story.patch(mergePatch, definitions+"/things.${id}.example.com/status", object{"status": object{"storedVersions": []any{d.versions[0].name}}}).Only = []string{"status.storedVersions"}
			d.versions = d.versions[:len(d.versions)-1]
		}
	default: // a version comes or comes back
		if len(d.versions) < 4 {
			d.versions = append(d.versions, d.story.version(fmt.Sprintf("v%d", len(d.versions)+1)))
		}
	}
	d.replace()
	d.pause(1.5)
}
