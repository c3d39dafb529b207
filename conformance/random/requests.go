package random

import (
	"fmt"
	"net/http"
	"strings"
)

// target is a kind whose objects are written in all ways, in stories about admission.
type target struct {
	kind
	group, version, resource string
	// parts are the subresources.
	parts []string
}

// labelled returns the target's object with a name and labels.
func (t target) labelled(name string, labels object) object {
	o := t.named(name)
	if len(labels) > 0 {
		o["metadata"].(object)["labels"] = labels
	}
	return o
}

// targets are the built-in kinds among which stories about admission choose.
func targets() (all []target) {
	parts := map[string][]string{"pods": {"status", "binding", "eviction", "exec", "ephemeralcontainers", "resize"}, "deployments": {"status", "scale"}, "services": {"status"}, "serviceaccounts": {"token"},
		"horizontalpodautoscalers": {"status"}, "poddisruptionbudgets": {"status"}, "cronjobs": {"status"}}
	for _, k := range workloads() {
		if strings.HasSuffix(k.path, "/persistentvolumeclaims") {
			continue // a controller removes their finalizer some time after a deletion
		}
		_, group, _ := strings.Cut(k.path, "/apis/")
		group, _, _ = strings.Cut(group, "/namespaces/")
		group, version, grouped := strings.Cut(group, "/")
		if !grouped {
			version = "v1"
		}
		resource := k.path[strings.LastIndex(k.path, "/")+1:]
		all = append(all, target{k, group, version, resource, parts[resource]})
	}
	return all
}

// write adds a request that changes an object of a target, or a request that admission sees. The labels
// are those of the objects written.
func (s *story) write(t target, labels object) {
	name := pick(s, "o", "o", "p")
	current := t.labelled(name, labels)
	options := func(path string) string {
		return query(path, "fieldManager", s.sometimes(20, "m1", "m2"), "dryRun", s.sometimes(15, "All"), "fieldValidation", s.sometimes(10, "Strict", "Ignore"))
	}
	s.happen(
		action{8, func() {
			o := current
			if s.chance(25) {
				o = s.mutate(o, "apiVersion", "kind")
			}
			if s.chance(5) {
				metadata, _ := o["metadata"].(object)
				if metadata != nil {
					delete(metadata, "name")
					metadata["generateName"] = "g-"
				}
			}
			s.send(http.MethodPost, options(t.path), o)
		}},
		action{4, func() {
			s.send(http.MethodPut, options(t.on(name)), s.mutate(current, "apiVersion", "kind", "metadata"))
		}},
		action{4, func() { s.patch(mergePatch, options(t.on(name)), s.labelPatch(t, current, labels)) }},
		action{1, func() { s.patch(strategicPatch, options(t.on(name)), s.strategicFor(current)) }},
		action{2, func() { s.patch(jsonPatch, options(t.on(name)), s.operationsFor(current)) }},
		action{3, func() {
			s.patch(applyPatch, query(t.on(name), "fieldManager", pick(s, "m1", "m2"), "force", s.sometimes(50, "true"), "dryRun", s.sometimes(10, "All")), s.partOf(current))
		}},
		action{4, func() { s.send(http.MethodDelete, query(t.on(name), "dryRun", s.sometimes(25, "All")), nil) }},
		action{2, func() {
			s.send(http.MethodDelete, query(t.path, "dryRun", s.sometimes(25, "All"), "labelSelector", s.sometimes(50, "w", "w=0", "w in (1,2)")), nil)
		}},
		action{2, func() { s.send(http.MethodGet, t.on(name), nil) }},
		action{1, func() { s.send(http.MethodGet, t.path, nil) }},
		action{len(t.parts), func() { s.writePart(t, name, options) }},
	)
}

// labelPatch returns a merge patch for an object that sometimes changes the labels.
func (s *story) labelPatch(t target, current object, labels object) any {
	patch := s.mergeFor(current)
	if o, ok := patch.(object); ok && s.chance(40) {
		o["metadata"] = object{"labels": pick[any](s, labels, object{"w": "x"}, nil, object{"w": nil})}
	}
	return patch
}

// writePart adds a request for a subresource of an object.
func (s *story) writePart(t target, name string, options func(string) string) {
	part := pick(s, t.parts...)
	path := t.on(name) + "/" + part
	switch part {
	case "status":
		status := pick[any](s, object{"observedGeneration": 2}, object{"phase": "Running"}, object{"conditions": []any{object{"type": "A", "status": "True"}}}, object{"unknown": 1}, object{"replicas": 1}, object{})
		if s.chance(60) {
			s.patch(pick(s, mergePatch, strategicPatch), options(path), object{"status": status})
			return
		}
		body := t.named(name)
		body["status"] = status
		s.send(http.MethodPut, options(path), body)
	case "scale":
		body := object{"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": object{"name": name, "namespace": "${ns}"}, "spec": object{"replicas": pick(s, 0, 1, 3, -1)}}
		switch s.IntN(3) {
		case 0:
			s.send(http.MethodPut, options(path), body)
		case 1:
			s.patch(mergePatch, options(path), object{"spec": body["spec"]})
		default:
			s.send(http.MethodGet, path, nil)
		}
	case "binding":
		s.send(http.MethodPost, options(path), object{"apiVersion": "v1", "kind": "Binding", "metadata": object{"name": pick(s, name, "x")}, "target": object{"kind": "Node", "name": pick(s, "n1", "")}})
	case "eviction":
		s.send(http.MethodPost, options(path), object{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": object{"name": pick(s, name, name, "x")}})
	case "token":
		step := s.send(http.MethodPost, options(path), object{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": object{"audiences": []any{"a"}, "expirationSeconds": pick(s, 600, 3600, 1)}})
		step.Ignore = []string{"status"}
	case "exec":
		s.send(pick(s, http.MethodGet, http.MethodPost), query(path, "command", "ls", "container", s.sometimes(50, "a", "none")), nil)
	case "ephemeralcontainers":
		s.patch(strategicPatch, options(path), object{"spec": object{"ephemeralContainers": []any{object{"name": pick(s, "e", "a"), "image": "e"}}}})
	default:
		s.patch(mergePatch, options(path), object{"spec": s.value(1)})
	}
}

// indexed returns a name with a number.
func indexed(prefix string, i int) string { return fmt.Sprintf("%s-%d-${id}", prefix, i) }
