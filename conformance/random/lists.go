package random

import (
	"fmt"
	"net/http"
	"strings"
)

// lists tells of collections that are listed and watched in all ways, while objects come and go.
func lists(s *story) {
	k := pick(s, workloads()...)
	for i := range 2 + s.IntN(3) {
		o := k.named(fmt.Sprint("o", i))
		o["metadata"].(object)["labels"] = object{"a": fmt.Sprint(i % 2), "b": "x"}
		step := s.send(http.MethodPost, k.path, o)
		save(step, "rv", "metadata.resourceVersion")
	}
	for s.goesOn() {
		s.happen(
			action{8, func() {
				step := s.send(http.MethodGet, s.selected(s.listOptions(k.path)), nil)
				save(step, "continue", "metadata.continue")
				save(step, "listrv", "metadata.resourceVersion")
				if s.chance(30) {
					header(step, "Accept", s.accept())
				}
			}},
			action{3, func() {
				s.send(http.MethodGet, query(s.selected(k.path), "limit", s.sometimes(70, "1", "2", "x"), "continue", pick(s, "${continue}", "${continue}", "${continue}", "x", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0"), "resourceVersion", s.sometimes(15, "0", "${rv}")), nil)
			}},
			action{3, func() {
				step := s.watch(s.selected(s.watchOptions(k.path)), 4)
				if s.chance(30) {
					header(step, "Accept", s.accept())
				}
			}},
			action{2, func() {
				step := s.send(http.MethodGet, query(k.on(pick(s, "o0", "o1", "none")), "resourceVersion", s.sometimes(40, "0", "${rv}", "999999999", "x")), nil)
				if s.chance(40) {
					header(step, "Accept", s.accept())
				}
			}},
			action{3, func() {
				step := s.patch(mergePatch, k.on(pick(s, "o0", "o1", "o2")), object{"metadata": object{"labels": object{"a": pick[any](s, "0", "1", nil)}}})
				save(step, "rv", "metadata.resourceVersion")
			}},
			action{1, func() {
				if !strings.HasSuffix(k.path, "/persistentvolumeclaims") { // which a controller protects at its own time
					s.send(http.MethodDelete, k.on(pick(s, "o0", "o1", "o2")), nil)
				}
			}},
			action{1, func() { s.send(http.MethodPost, k.path, k.named(pick(s, "o0", "o3", "o4"))) }},
			action{1, func() {
				s.watch(query("/api/v1/watch/namespaces/${ns}/"+pick(s, "configmaps", "secrets/none", "pods"), "timeoutSeconds", "1"), 4)
			}},
		)
	}
}

// selected adds selectors to a path.
func (s *story) selected(path string) string {
	return query(path, "labelSelector", s.sometimes(30, "a=0", "a!=0", "a in (0,1)", "!a", "a notin (1),b", "a=b=c", "=", "a>1", "b", "a in ()", "é"),
		"fieldSelector", s.sometimes(20, "metadata.name=o0", "metadata.name!=o0", "metadata.namespace=${ns}", "metadata.name=o0,metadata.name=o1", "status.phase=Pending", "type=Opaque", "x", "spec.nodeName=", "metadata.name=a\\,b", "spec.unknown=x"))
}

// listOptions adds the other options of a list.
func (s *story) listOptions(path string) string {
	return query(path, "limit", s.sometimes(35, "1", "2", "0", "-1", "x", "500"), "resourceVersion", s.sometimes(35, "0", "${rv}", "${listrv}", "999999999", "1", "x", "-1"),
		"resourceVersionMatch", s.sometimes(25, "Exact", "NotOlderThan", "x"), "timeoutSeconds", s.sometimes(5, "1", "x", "-1"), "pretty", s.sometimes(5, "true", "x"), "includeObject", s.sometimes(5, "None", "Object", "Metadata", "x"))
}

// watchOptions adds the options of a watch that ends within a second.
func (s *story) watchOptions(path string) string {
	return query(path, "watch", pick(s, "1", "true", "true", "x"), "timeoutSeconds", pick(s, "1", "1", "1", "-1"), "resourceVersion", s.sometimes(60, "0", "${rv}", "${listrv}", "999999999", "x", "${rv}"),
		"allowWatchBookmarks", s.sometimes(40, "true", "x", "false"), "sendInitialEvents", s.sometimes(30, "true", "false", "x"), "resourceVersionMatch", s.sometimes(30, "NotOlderThan", "Exact", "x"), "limit", s.sometimes(5, "1"))
}
