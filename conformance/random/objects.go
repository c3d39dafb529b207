package random

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/miniapiserver/miniapiserver/conformance/attempts"
	"github.com/miniapiserver/miniapiserver/lab/conversation"
)

// objects tells of objects of all built-in kinds, whose fields have values made from their types.
func objects(s *story) {
	var told []*teller
	for range 1 + s.IntN(2) {
		told = append(told, s.tellers(s.anyKind())...)
	}
	for _, t := range told[:1] {
		t.post(t.base)
	}
	for s.goesOn() {
		t := pick(s, told...)
		if t.isVirtual {
			t.create()
			continue
		}
		s.happen(
			action{4, t.create}, action{6, t.put}, action{6, t.patch}, action{4, t.apply}, action{6, t.status}, action{3, t.get}, action{1, t.list}, action{2, t.remove},
		)
	}
}

// anyKind returns the name of one of the kinds. Kinds with more fields and more rules are more frequent.
func (s *story) anyKind() string {
	if s.chance(30) {
		return pick(s, "Pod", "Service", "Deployment", "HorizontalPodAutoscaler", "HorizontalPodAutoscaler", "CronJob", "Event", "PersistentVolume", "Node", "ResourceClaim", "Ingress", "NetworkPolicy", "StatefulSet", "Job")
	}
	return pick(s, typedKinds()...).kindName
}

// teller writes one object of a kind in one of its versions.
type teller struct {
	*story
	*typed
	object string // its name
	// current is an object that was written, or a valid one.
	current object
}

// tellers returns a teller for each served version of a kind.
func (s *story) tellers(kindName string) (all []*teller) {
	for _, k := range typedKinds() {
		if k.kindName != kindName {
			continue
		}
		t := &teller{story: s, typed: k, object: "o", current: clone(k.base)}
		t.rename()
		if !k.isNamespaced && !k.isVirtual && !t.isDry() {
			s.cleanup(t.self())
		}
		all = append(all, t)
	}
	return all
}

// rename chooses the name of the object.
func (t *teller) rename() {
	switch {
	case t.kindName == "IPAddress":
		t.object = fmt.Sprintf("2001:db8::%x:%x", 1+t.Uint64()%0xfffe, 1+t.Uint64()%0xfffe)
	case t.kindName == "ServiceCIDR":
		t.object = "kubernetes"
	case t.kindName == "PriorityLevelConfiguration":
		t.object = "workload-low"
	case !t.isNamespaced:
		t.object = "o-${id}"
	}
	if metadata, ok := t.current["metadata"].(object); ok {
		metadata["name"] = t.object
	}
}

// self returns the path of the object.
func (t *teller) self() string { return t.on(t.object) }

// isDry reports whether all writes are dry runs, because they would change other stories or are followed
// by writes of controllers.
func (t *teller) isDry() bool {
	return slices.Contains([]string{"ServiceCIDR", "PriorityLevelConfiguration", "ResourceQuota"}, t.kindName)
}

// isFollowed reports whether controllers write the status.
func (t *teller) isFollowed() bool {
	return slices.Contains([]string{"FlowSchema", "ValidatingAdmissionPolicy", "ClusterRole", "CertificateSigningRequest"}, t.kindName)
}

// options returns a path with the parameters of a write.
func (t *teller) options(path string) string {
	dryRun := t.sometimes(10, "All")
	if t.isDry() {
		dryRun = "All"
	}
	return query(path, "fieldManager", t.sometimes(40, "m1", "m2"), "dryRun", dryRun, "fieldValidation", t.sometimes(30, "Strict", "Strict", "Ignore", "Warn"))
}

// settle marks what is compared of a step.
func (t *teller) settle(step *conversation.Step) *conversation.Step {
	switch {
	case t.kindName == "VolumeAttributesClass": // to which a controller adds a finalizer
		step.Ignore = []string{"metadata.finalizers", "metadata.managedFields", "message", "details"}
	case t.kindName == "ServiceCIDR": // two controllers wrote its status, in one second or in two
		step.Ignore = []string{"metadata.managedFields"}
	case t.isFollowed():
		step.Ignore = []string{"status", "metadata.managedFields", "metadata.generation", "message", "details"} // some messages have the object
	}
	return step
}

// changed returns the object with other values in some fields, and reports whether they are mostly valid.
func (t *teller) changed() (o object, valid bool) {
	o, valid = t.current, t.chance(50)
	if t.chance(15) {
		o = t.base
	}
	o = clone(o)
	for range t.IntN(4) {
		f := t.field(t.fields)
		percent := 70
		if valid {
			percent = 100
		}
		o = f.Set(o, t.fieldValue(f, percent))
	}
	if !valid && t.chance(25) {
		o = t.mutate(o, "metadata")
	}
	if t.kindName == "PriorityClass" {
		delete(o, "globalDefault")
	}
	o = t.onlyHere(o)
	if metadata, ok := o["metadata"].(object); ok && (!t.isNamespaced || t.chance(80)) {
		if _, has := metadata["name"]; has {
			metadata["name"] = t.object
		}
	}
	return o, valid
}

func (t *teller) create() {
	o, valid := t.changed()
	t.post(o)
	if valid && t.chance(40) {
		t.current = o
	}
}

func (t *teller) post(o object) {
	o = clone(o)
	if metadata, ok := o["metadata"].(object); ok && metadata["name"] == "base" {
		metadata["name"] = t.object
	}
	step := t.settle(t.send(http.MethodPost, t.options(t.path), o))
	if !t.isVirtual {
		save(step, "uid", "metadata.uid")
	}
	t.accepting(step)
}

// accepting sometimes asks for another representation.
func (t *teller) accepting(step *conversation.Step) {
	if t.chance(10) && !t.isFollowed() && t.kindName != "SelfSubjectRulesReview" { // whose rules have no order
		header(step, "Accept", t.accept())
	}
}

func (t *teller) get() {
	step := t.settle(t.send(http.MethodGet, t.self(), nil))
	save(step, "rv", "metadata.resourceVersion")
	if t.chance(40) && !t.isFollowed() {
		header(step, "Accept", t.accept())
	}
}

func (t *teller) list() {
	if !t.isNamespaced {
		t.get()
		return
	}
	step := t.send(http.MethodGet, query(t.path, "fieldSelector", t.sometimes(40, "metadata.name=o", "status.phase=Pending", "spec.nodeName=", "type=Opaque", "reason=R", "involvedObject.kind=Pod", "spec.x=y")), nil)
	if t.chance(60) {
		header(step, "Accept", t.accept())
	}
}

func (t *teller) put() {
	o, valid := t.changed()
	if metadata, ok := o["metadata"].(object); ok && !t.isFollowed() && t.chance(30) {
		t.get()
		metadata["resourceVersion"] = "${rv}"
	}
	t.accepting(t.settle(t.send(http.MethodPut, t.options(t.self()), o)))
	if valid && t.chance(40) {
		if metadata, ok := o["metadata"].(object); ok {
			delete(metadata, "resourceVersion")
		}
		t.current = o
	}
}

// part returns an object with nothing but some fields.
func (t *teller) part(fields []attempts.Field, validPercent int) object {
	o := object{}
	for range 1 + t.IntN(3) {
		f := t.field(fields)
		if f.Path[0] != "metadata" || len(f.Path) > 2 {
			o = f.Set(o, t.fieldValue(f, validPercent))
		}
	}
	if metadata, ok := o["metadata"].(object); ok {
		delete(metadata, "name")
		delete(metadata, "generateName")
	}
	return t.onlyHere(o)
}

func (t *teller) patch() { t.patchFields(t.self(), t.fields) }

// patchFields writes a patch of some fields.
func (t *teller) patchFields(path string, fields []attempts.Field) {
	path = t.options(path)
	var step *conversation.Step
	switch t.IntN(5) {
	case 0, 1:
		patch := t.part(fields, 75)
		if t.chance(20) {
			f := t.field(fields)
			patch = f.Set(patch, nil)
		}
		step = t.story.patch(mergePatch, path, patch)
	case 2, 3:
		step = t.story.patch(strategicPatch, path, t.strategic(fields))
	default:
		step = t.story.patch(jsonPatch, path, t.operations(fields))
	}
	t.accepting(t.settle(step))
}

// strategic returns a strategic merge patch of some fields.
func (t *teller) strategic(fields []attempts.Field) object {
	patch := t.part(fields, 80)
	if t.chance(25) {
		for _, p := range places(patch) {
			if o, ok := p.value.(object); ok && t.chance(30) {
				o["$patch"] = pick(t.story, "delete", "replace", "merge")
			}
		}
	}
	return patch
}

// operations returns a JSON patch of some fields.
func (t *teller) operations(fields []attempts.Field) []any {
	operations := []any{}
	for range 1 + t.IntN(2) {
		f := t.field(fields)
		path := strings.NewReplacer(attempts.Item, "0", attempts.Value, "a").Replace("/" + strings.Join(f.Path, "/"))
		if strings.HasPrefix(path, "/metadata/name") {
			continue
		}
		op := pick(t.story, "add", "replace", "remove", "test", "add")
		if t.isFollowed() {
			op = "add" // the others depend on what a controller has written
		}
		operations = append(operations, object{"op": op, "path": path, "value": t.fieldValue(f, 75)})
	}
	return operations
}

func (t *teller) manager() string { return pick(t.story, "m1", "m2", "m3") }

// apply applies some fields of the object.
func (t *teller) apply() {
	o := t.part(t.fields, 85)
	if t.chance(40) {
		o, _ = t.changed()
	}
	t.applyAt(t.self(), o)
}

func (t *teller) applyAt(path string, o object) {
	o["apiVersion"], o["kind"] = t.groupVersion, t.kindName
	metadata, _ := o["metadata"].(object)
	if metadata == nil {
		metadata = object{}
	}
	metadata["name"] = t.object
	o["metadata"] = metadata
	dryRun := t.sometimes(8, "All")
	if t.isDry() {
		dryRun = "All"
	}
	t.settle(t.story.patch(applyPatch, query(path, "fieldManager", t.manager(), "force", t.sometimes(60, "true"), "dryRun", dryRun), o))
}

// status writes the status, or reads it.
func (t *teller) status() {
	path := t.self() + "/status"
	if len(t.statusFields) == 0 || t.chance(8) {
		if t.chance(20) {
			t.settle(t.send(http.MethodGet, path, nil))
			return
		}
		if len(t.statusFields) == 0 {
			t.put()
			return
		}
	}
	switch t.IntN(4) {
	case 0:
		o, _ := t.changed()
		for range 1 + t.IntN(3) {
			f := t.field(t.statusFields)
			o = f.Set(o, t.fieldValue(f, 80))
		}
		t.settle(t.send(http.MethodPut, t.options(path), t.onlyHere(o)))
	case 1:
		t.applyAt(path, t.part(t.statusFields, 85))
	default:
		fields := t.statusFields
		if t.chance(10) {
			fields = t.fields
		}
		t.patchFields(path, fields)
	}
}

func (t *teller) remove() {
	options := query(t.self(), "dryRun", t.sometimes(25, "All"), "gracePeriodSeconds", t.sometimes(20, "0", "1"))
	switch {
	case t.kindName == "Namespace" || t.isDry():
		t.send(http.MethodDelete, query(t.self(), "dryRun", "All"), nil)
	default:
		t.settle(t.send(http.MethodDelete, options, nil))
		if slices.Contains([]string{"Job", "PersistentVolume", "PersistentVolumeClaim", "VolumeAttributesClass"}, t.kindName) && !strings.Contains(options, "dryRun") {
			t.pause(0.8) // until a controller has removed its finalizer
		}
	}
}
