package random

import (
	"fmt"
	"net/http"
)

// patches tells of one object of a built-in kind that patches of all types change.
func patches(s *story) {
	k := pick(s, workloads()...)
	current := k.named("o")
	s.send(http.MethodPost, k.path+"?fieldManager=creator", current)
	for s.goesOn() {
		path := query(k.on("o"), "fieldManager", s.sometimes(60, "m1", "m2"), "dryRun", s.sometimes(15, "All"), "fieldValidation", s.sometimes(30, "Strict", "Ignore", "Warn"))
		s.happen(
			action{4, func() { s.patch(mergePatch, path, s.mergeFor(current)) }},
			action{5, func() { s.patch(strategicPatch, path, s.strategicFor(current)) }},
			action{4, func() { s.patch(jsonPatch, path, s.operationsFor(current)) }},
			action{3, func() {
				s.patch(applyPatch, query(k.on("o"), "fieldManager", pick(s, "m1", "m2", "m3"), "force", s.sometimes(50, "true"), "dryRun", s.sometimes(10, "All")), s.partOf(current))
			}},
			action{1, func() {
				changed := s.mutate(current, "apiVersion", "kind", "metadata")
				s.send(http.MethodPut, path, changed)
			}},
			action{2, func() {
				step := s.send(http.MethodGet, k.on("o"), nil)
				if s.chance(30) {
					header(step, "Accept", s.accept())
				}
			}},
			action{1, func() { s.send(http.MethodPost, k.path, k.named(pick(s, "o", "p"))) }},
		)
	}
}

// mergeFor returns a merge patch for an object like o.
func (s *story) mergeFor(o object) any {
	if s.chance(3) {
		return s.value(2)
	}
	part := s.partOf(o)
	delete(part, "apiVersion")
	delete(part, "kind")
	delete(part, "metadata")
	for _, p := range places(part) {
		if s.chance(8) {
			change(part, p.path, func(any) (any, bool) { return nil, true })
		}
	}
	if s.chance(20) {
		part["metadata"] = object{pick(s, "labels", "annotations"): pick[any](s, object{"a": "b"}, object{"a": nil}, object{"é": "1"}, nil, object{})}
	}
	return part
}

// partOf returns an object like o with fewer or other values, and its name.
func (s *story) partOf(o object) object {
	part := clone(o)
	for _, p := range places(part) {
		first, _ := p.path[0].(string)
		if len(p.path) > 1 && first != "metadata" && s.chance(15) {
			change(part, p.path, func(any) (any, bool) { return nil, false })
		}
	}
	if s.chance(50) {
		part = s.mutate(part, "apiVersion", "kind", "metadata")
	}
	return part
}

// strategicFor returns a strategic merge patch for an object like o: a merge patch in which some objects
// and lists have directives.
func (s *story) strategicFor(o object) any {
	patch, ok := s.mergeFor(o).(object)
	if !ok {
		return s.value(2)
	}
	var visit func(v any)
	visit = func(v any) {
		switch v := v.(type) {
		case object:
			for _, p := range places(v) {
				if len(p.path) == 1 {
					visit(p.value)
					list, isList := p.value.([]any)
					name := p.path[0]
					switch {
					case !isList:
					case s.chance(12):
						v[fmt.Sprint("$setElementOrder/", name)] = s.orderOf(list)
					case s.chance(6):
						v[fmt.Sprint("$deleteFromPrimitiveList/", name)] = pick[any](s, list, []any{"x"}, "x") // null has a result that depends on the order of a map
					}
				}
			}
			switch {
			case s.chance(8):
				v["$patch"] = pick(s, "delete", "replace", "merge", "other")
			case s.chance(3):
				v["$retainKeys"] = pick[any](s, []any{"name", "image"}, []any{}, "x", nil)
			}
		case []any:
			for _, e := range v {
				visit(e)
			}
		}
	}
	visit(patch)
	return patch
}

// orderOf returns the keys of the elements of a list in another order.
func (s *story) orderOf(list []any) []any {
	out := []any{}
	for _, e := range list {
		o, ok := e.(object)
		if !ok {
			out = append(out, e)
			continue
		}
		for _, key := range []string{"name", "containerPort", "port", "mountPath", "ip", "key", "type", "uid"} {
			if v, has := o[key]; has {
				out = append(out, object{key: v})
				break
			}
		}
	}
	s.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	if s.chance(20) {
		out = append(out, pick[any](s, "x", object{"name": "x"}, object{}, 1))
	}
	return out
}

// operationsFor returns a JSON patch for an object like o.
func (s *story) operationsFor(o object) any {
	operations := []any{}
	all := places(o)
	for range 1 + s.IntN(4) {
		at := pick(s, all...).pointer()
		if s.chance(15) {
			at = pick(s, at+"/-", at+"/0", at+"/x", "/spec/unknown", "/metadata/labels", "/metadata/annotations/a", "", "/", "x", at+"/", at+"~2", "/metadata/name", "/metadata/uid")
		}
		operation := object{"op": pick(s, "add", "replace", "remove", "test", "copy", "move", "add", "replace"), "path": at}
		switch op := operation["op"]; {
		case op == "copy" || op == "move":
			operation["from"] = pick(s, all...).pointer()
		case op != "remove":
			operation["value"] = s.value(2)
		}
		if s.chance(4) {
			delete(operation, pick(s, "op", "path", "value", "from"))
		}
		if s.chance(3) {
			operation[pick(s, "op", "path", "from")] = s.scalar()
		}
		operations = append(operations, operation)
	}
	if s.chance(3) {
		return pick[any](s, object{}, "x", []any{1}, []any{nil}, []any{[]any{}})
	}
	return operations
}
