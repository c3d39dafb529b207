package random

import (
	"fmt"
	"net/http"
)

// named is a story about definitions of one group whose names are in conflict.
type named struct {
	*story
	plurals []string
}

// nameStories tells of definitions whose names are in conflict, of names that are freed, of conditions
// that somebody overwrites, of APIServices for the same group, and of discovery.
func nameStories(s *story) {
	n := &named{s, []string{"things", "items", "stuffs"}}
	for _, plural := range n.plurals {
		s.cleanup(definitions + "/" + plural + ".${id}.example.com")
	}
	s.cleanup(apiServices + "/v1.${id}.example.com")
	s.cleanup(apiServices + "/v2.${id}.example.com")
	n.create()
	s.pause(1.2) // the controllers judge definitions of one group in any order
	for s.goesOn() {
		s.happen(action{5, n.create}, action{5, n.rename}, action{3, n.remove}, action{2, n.overwrite}, action{2, n.service}, action{3, n.use}, action{1, n.versions})
		s.pause(1.2)
		for range 2 + s.IntN(3) {
			n.look()
		}
	}
}

const apiServices = "/apis/apiregistration.k8s.io/v1/apiservices"

// names returns the names of a definition with a plural.
func (n *named) names(plural string) object {
	s := n.story
	o := object{"plural": plural, "kind": pick(s, "Thing", "Item", "Stuff")}
	if s.chance(50) {
		o["listKind"] = pick(s, "ThingList", "ItemList", "Thing", "StuffList")
	}
	if s.chance(60) {
		o["singular"] = pick(s, "thing", "item", "stuff", "items")
	}
	if s.chance(50) {
		o["shortNames"] = some[any](s, "t", "i", "things", "thing")
	}
	if s.chance(20) {
		o["categories"] = some[any](s, "all", "mine")
	}
	return o
}

func (n *named) path(plural string) string { return definitions + "/" + plural + ".${id}.example.com" }

func (n *named) create() {
	s, plural := n.story, pick(n.story, n.plurals...)
	version := object{"name": pick(s, "v1", "v1", "v2"), "served": true, "storage": true, "schema": object{"openAPIV3Schema": object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}
	body := object{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": object{"name": plural + ".${id}.example.com"},
		"spec": object{"group": "${id}.example.com", "scope": pick(s, "Namespaced", "Namespaced", "Cluster"), "names": n.names(plural), "versions": []any{version}}}
	s.send(http.MethodPost, definitions, body).Ignore = []string{"status"}
}

// rename changes the names of a definition.
func (n *named) rename() {
	s, plural := n.story, pick(n.story, n.plurals...)
	names := n.names(plural)
	if s.chance(30) {
		names = object{pick(s, "shortNames", "singular", "listKind", "kind"): pick[any](s, nil, "thing", "Thing", []any{"t"}, []any{})}
	}
	s.patch(mergePatch, n.path(plural), object{"spec": object{"names": names}}).Ignore = []string{"status", "metadata.managedFields"}
}

func (n *named) remove() {
	plural := pick(n.story, n.plurals...)
	n.send(http.MethodDelete, n.path(plural), nil).Only = []string{"reason", "message"}
	n.awaitFor(60, n.path(plural), 404) // kube-apiserver deletes few definitions at a time, and slowly
}

// versions adds or stops serving a version.
func (n *named) versions() {
	s := n.story
	schema := object{"openAPIV3Schema": object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}
	versions := []any{object{"name": "v1", "served": s.chance(70), "storage": true, "schema": schema}}
	if s.chance(60) {
		versions = append(versions, object{"name": pick(s, "v2", "v1beta1"), "served": s.chance(70), "storage": false, "schema": schema})
	}
	s.patch(mergePatch, n.path(pick(s, n.plurals...)), object{"spec": object{"versions": versions}}).Ignore = []string{"status", "metadata.managedFields"}
}

// overwrite writes the status of a definition. It does not establish one whose names are refused: such a
// definition can never be deleted in kube-apiserver.
func (n *named) overwrite() {
	s := n.story
	status := pick(s, object{"acceptedNames": object{"plural": "things", "kind": "Thing", "shortNames": []any{"t"}}}, object{"acceptedNames": object{"plural": "", "kind": ""}},
		object{"conditions": []any{object{"type": "NamesAccepted", "status": pick(s, "True", "False", "Unknown")}}}, object{"conditions": []any{object{"type": "Established", "status": "False"}}}, object{"conditions": []any{}},
		object{"storedVersions": []any{"v1", "v2"}})
	s.patch(mergePatch, n.path(pick(s, n.plurals...))+"/status", object{"status": status}).Only = []string{"kind", "message", "reason", "details"}
}

// service writes an APIService for a version of the group.
func (n *named) service() {
	s := n.story
	version := pick(s, "v1", "v1", "v2")
	name := version + ".${id}.example.com"
	body := object{"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": object{"name": name}, "spec": object{"group": "${id}.example.com", "version": version, "groupPriorityMinimum": pick(s, 100, 1000, 2000), "versionPriority": pick(s, 10, 100)}}
	spec := body["spec"].(object)
	if s.chance(50) {
		spec["service"], spec["insecureSkipTLSVerify"] = object{"namespace": "${ns}", "name": "none"}, true
	}
	if s.chance(10) {
		spec[pick(s, "group", "version", "groupPriorityMinimum", "versionPriority", "caBundle", "service")] = s.value(1)
	}
	switch s.IntN(4) {
	case 0, 1:
		s.send(http.MethodPost, apiServices, body).Ignore = []string{"status", "metadata.managedFields"}
	case 2:
		s.patch(mergePatch, apiServices+"/"+name, object{"spec": object{"versionPriority": pick(s, 10, 50)}}).Ignore = []string{"status", "metadata.managedFields"}
	default:
		s.send(http.MethodDelete, apiServices+"/"+name, nil).Only = []string{"reason", "message"}
	}
}

// use writes or deletes an object.
func (n *named) use() {
	s, plural := n.story, pick(n.story, n.plurals...)
	path := "/apis/${id}.example.com/v1/" + pick(s, "namespaces/${ns}/", "namespaces/${ns}/", "") + plural
	body := object{"apiVersion": "${id}.example.com/v1", "kind": pick(s, "Thing", "Item", "Stuff"), "metadata": object{"name": "o"}, "spec": s.value(1)}
	switch s.IntN(4) {
	case 0, 1:
		s.send(http.MethodPost, path, body)
	case 2:
		s.patch(applyPatch, path+"/o?fieldManager=m", body)
	default:
		s.send(http.MethodDelete, path+"/o", nil)
	}
}

// look adds a read of a definition, of an APIService, of discovery, or of objects.
func (n *named) look() {
	s, plural := n.story, pick(n.story, n.plurals...)
	s.happen(
		action{5, func() { s.send(http.MethodGet, n.path(plural), nil).Ignore = []string{"metadata.managedFields"} }},
		action{4, func() {
			step := s.send(http.MethodGet, fmt.Sprintf("/apis/${id}.example.com/%s/%s%s", pick(s, "v1", "v1", "v2"), pick(s, "namespaces/${ns}/", "namespaces/${ns}/", ""), plural), nil)
			if s.chance(15) {
				header(step, "Accept", s.accept())
			}
		}},
		action{3, func() {
			s.send(http.MethodGet, "/apis/${id}.example.com"+pick(s, "", "/v1", "/v1", "/v2"), nil)
		}},
		action{2, func() {
			s.send(http.MethodGet, apiServices+"/"+pick(s, "v1", "v1", "v2")+".${id}.example.com", nil).Ignore = []string{"metadata.managedFields", "metadata.resourceVersion"}
		}},
		action{1, func() {
			s.send(http.MethodGet, n.path(plural)+"/status", nil).Ignore = []string{"metadata.managedFields"}
		}},
	)
}
