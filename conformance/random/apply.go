package random

import (
	"net/http"

	"github.com/miniapiserver/miniapiserver/conformance/attempts"
)

// apply tells of one object that several managers apply, in all its versions and subresources. They
// want some of a small number of fields, so that they often conflict.
func apply(s *story) {
	var told []*teller
	if s.chance(65) {
		told = s.tellers(pick(s, "HorizontalPodAutoscaler", "HorizontalPodAutoscaler", "HorizontalPodAutoscaler", "Deployment", "Deployment", "StatefulSet", "ReplicaSet", "ReplicationController", "Pod", "Service", "Service",
			"CronJob", "Job", "DaemonSet", "ConfigMap", "Secret", "ServiceAccount", "NetworkPolicy", "Ingress", "Endpoints", "EndpointSlice", "Event", "Role", "RoleBinding", "PersistentVolumeClaim", "LimitRange", "PodTemplate"))
	} else {
		told = s.tellers(s.anyKind())
	}
	if told[0].isVirtual {
		told = s.tellers("HorizontalPodAutoscaler")
	}
	var all []*applier
	for _, t := range told {
		a := &applier{teller: t, wanted: s.wanted(t.fields, 8), status: s.wanted(t.statusFields, 4)}
		for _, k := range workloads() {
			if k.path == t.path && s.chance(60) {
				a.rich = k.base
			}
		}
		all = append(all, a)
	}
	for s.goesOn() {
		a := pick(s, all...)
		s.happen(
			action{14, a.whole}, action{3, a.part}, action{3, a.statusPart}, action{3, a.scale}, action{2, a.update}, action{2, a.patch}, action{2, a.managers}, action{2, a.get}, action{1, a.remove}, action{1, a.odd},
		)
	}
}

// choice is a field and the values that managers want it to have.
type choice struct {
	field  attempts.Field
	values []any
}

// wanted returns some fields with values.
func (s *story) wanted(fields []attempts.Field, n int) (choices []choice) {
	if len(fields) == 0 {
		return nil
	}
	for range n {
		f := s.field(fields)
		if f.Path[0] == "metadata" && (len(f.Path) == 1 || f.Path[1] != "labels" && f.Path[1] != "annotations" && f.Path[1] != "finalizers") {
			continue
		}
		c := choice{field: f, values: f.Valid()}
		for range s.IntN(3) {
			c.values = append(c.values, s.fieldValue(f, 60))
		}
		choices = append(choices, c)
	}
	return choices
}

// applier applies an object in one version.
type applier struct {
	*teller
	wanted, status []choice
	// rich is another valid object of the kind, with more lists; nil if there is none.
	rich object
}

// with sets some of the wanted fields.
func (a *applier) with(o object, choices []choice, percent int) object {
	for _, c := range choices {
		if a.chance(percent) && len(c.values) > 0 {
			o = c.field.Set(o, pick(a.story, c.values...))
		}
	}
	return o
}

// start returns a valid object, mostly without some of its values.
func (a *applier) start() object {
	o := clone(a.base)
	if a.rich != nil && a.chance(60) {
		o = clone(a.rich)
	}
	if a.chance(40) {
		for _, p := range places(o) {
			if len(p.path) > 1 && a.chance(12) {
				change(o, p.path, func(any) (any, bool) { return nil, false })
			}
		}
	}
	return o
}

func (a *applier) whole() {
	o := a.with(a.start(), a.wanted, 30)
	if a.chance(15) {
		o = a.mutate(o, "apiVersion", "kind", "metadata")
	}
	a.applyAt(a.self(), a.onlyHere(o))
}

func (a *applier) part() { a.applyAt(a.self(), a.onlyHere(a.with(object{}, a.wanted, 40))) }

func (a *applier) statusPart() {
	o := a.with(object{}, a.status, 50)
	if a.chance(15) {
		o = a.with(o, a.wanted, 20)
	}
	a.applyAt(a.self()+"/status", a.onlyHere(o))
}

// scale applies or writes the scale.
func (a *applier) scale() {
	path := a.self() + "/scale"
	body := object{"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": object{"name": a.object}, "spec": object{"replicas": pick[any](a.story, 0, 1, 3, -1, nil)}}
	if a.chance(10) {
		body["apiVersion"] = pick(a.story, "extensions/v1beta1", "apps/v1", "autoscaling/v2")
	}
	if a.chance(10) {
		body["status"] = object{"replicas": 2}
	}
	switch a.IntN(4) {
	case 0:
		a.send(http.MethodPut, a.options(path), body)
	case 1:
		a.story.patch(mergePatch, a.options(path), object{"spec": object{"replicas": pick[any](a.story, 0, 2, nil, "x")}})
	default:
		a.story.patch(applyPatch, query(path, "fieldManager", a.manager(), "force", a.sometimes(50, "true")), body)
	}
}

func (a *applier) update() {
	o := a.with(a.start(), a.wanted, 30)
	if metadata, ok := o["metadata"].(object); ok {
		metadata["name"] = a.object
		if a.chance(25) {
			metadata["managedFields"] = pick[any](a.story, []any{}, []any{object{}}, nil)
		}
	} else {
		o["metadata"] = object{"name": a.object}
	}
	o["apiVersion"], o["kind"] = a.groupVersion, a.kindName
	method, path := http.MethodPut, a.self()
	if a.chance(20) {
		method, path = http.MethodPost, a.path
	}
	a.settle(a.send(method, query(a.options(path), "force", a.sometimes(5, "true")), a.onlyHere(o)))
}

func (a *applier) patch() {
	path := a.self()
	choices := a.wanted
	if a.chance(25) {
		path, choices = path+"/status", a.status
	}
	o := a.onlyHere(a.with(object{}, choices, 30))
	if a.chance(25) {
		for _, p := range places(o) {
			if a.chance(20) {
				change(o, p.path, func(any) (any, bool) { return nil, true })
			}
		}
	}
	a.settle(a.story.patch(pick(a.story, mergePatch, strategicPatch), a.options(path), o))
}

// managers writes managedFields.
func (a *applier) managers() {
	fields := object{"f:metadata": object{"f:labels": object{"f:a": object{}}}}
	if len(a.wanted) > 0 {
		at := fields
		for _, name := range pick(a.story, a.wanted...).field.Path {
			if name == attempts.Item || name == attempts.Value {
				break
			}
			next, _ := at["f:"+name].(object)
			if next == nil {
				next = object{}
			}
			at["f:"+name] = next
			at = next
		}
	}
	entry := object{"manager": a.manager(), "operation": pick(a.story, "Apply", "Update"), "apiVersion": pick(a.story, a.groupVersion, a.groupVersion, "autoscaling/v1", "autoscaling/v2", "other/v1", ""), "fieldsType": "FieldsV1", "time": "2026-01-02T03:04:05Z", "fieldsV1": fields}
	if a.chance(20) {
		entry["subresource"] = pick(a.story, "status", "scale", "other")
	}
	if a.chance(10) {
		entry[pick(a.story, "operation", "fieldsType", "manager", "time", "fieldsV1")] = a.scalar()
	}
	value := pick[any](a.story, []any{object{}}, []any{object{}}, []any{entry}, []any{entry}, []any{}, nil, []any{entry, entry}, []any{object{}, entry})
	if a.chance(30) {
		a.settle(a.story.patch(jsonPatch, a.options(a.self()), []any{object{"op": pick(a.story, "add", "replace", "remove"), "path": pick(a.story, "/metadata/managedFields", "/metadata/managedFields/0", "/metadata/managedFields/0/manager"), "value": value}}))
		return
	}
	a.settle(a.story.patch(mergePatch, a.options(a.self()), object{"metadata": object{"managedFields": value}}))
}

// odd applies something that is refused for its form.
func (a *applier) odd() {
	o := a.start()
	o["apiVersion"], o["kind"], o["metadata"] = a.groupVersion, a.kindName, object{"name": a.object}
	path := query(a.self(), "fieldManager", a.manager(), "force", a.sometimes(30, "true"))
	switch a.IntN(8) {
	case 0:
		o["metadata"] = object{"name": a.object, "managedFields": pick[any](a.story, []any{}, []any{object{}}, nil)}
	case 1:
		o["metadata"] = object{"name": a.object, pick(a.story, "resourceVersion", "uid", "creationTimestamp", "generation"): a.scalar()}
	case 2:
		o[pick(a.story, "apiVersion", "kind")] = a.scalar()
	case 3:
		delete(o, pick(a.story, "apiVersion", "kind", "metadata"))
	case 4:
		o["metadata"] = object{"name": pick(a.story, "other", "", "A b")}
	case 5:
		path = query(a.self(), "force", a.sometimes(50, "true", "x"), "fieldManager", a.sometimes(30, "a b", "\u0001"))
	case 6:
		path = query(path, "fieldValidation", pick(a.story, "Strict", "Ignore", "Warn"))
		o["unknown"] = a.scalar()
	default:
		path = query(path, "dryRun", pick(a.story, "All", "x"))
	}
	a.story.patch(applyPatch, path, a.onlyHere(o))
}
