package random

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/miniapiserver/miniapiserver/lab/conversation"
)

// deletes tells of objects with finalizers and owners that are deleted in all ways.
func deletes(s *story) {
	kinds := []kind{}
	for _, k := range workloads() {
		if s.chance(25) && !strings.HasSuffix(k.path, "/persistentvolumeclaims") { // which a controller protects at its own time
			kinds = append(kinds, k)
		}
	}
	kinds = append(kinds, workloads()[0])
	names := []string{"o", "p", "q"}
	s.await(namespaced("v1", "configmaps/kube-root-ca.crt"), 200)
	save(s.send(http.MethodPost, namespaced("v1", "configmaps"), object{"metadata": object{"name": "owner"}}), "owner", "metadata.uid")
	for s.goesOn() {
		k, name := pick(s, kinds...), pick(s, names...)
		s.happen(
			action{5, func() {
				o := k.named(name)
				metadata := o["metadata"].(object)
				if s.chance(40) {
					metadata["finalizers"] = some[any](s, "example.com/f", "foregroundDeletion", "orphan", "example.com/g")
				}
				if s.chance(30) {
					metadata["labels"] = object{"a": pick(s, "1", "2")}
				}
				if s.chance(30) {
					metadata["ownerReferences"] = []any{s.owner()}
				}
				s.send(http.MethodPost, k.path, o)
			}},
			action{6, func() {
				step := s.send(http.MethodDelete, s.deleteOptions(k.on(name)), s.deleteBody())
				if s.chance(10) {
					header(step, "Accept", s.accept())
				}
				if involvesCollector(step) {
					s.pause(1)
				}
			}},
			action{2, func() {
				// All others have objects of controllers, or the owner.
				s.send(http.MethodDelete, query(s.deleteOptions(k.path), "labelSelector", pick(s, "a=1", "a in (1,2)", "a", "a=2", "a=b=c"), "fieldSelector", s.sometimes(20, "metadata.name=o", "metadata.name!=o", "x=y"),
					"limit", s.sometimes(10, "1"), "resourceVersion", s.sometimes(10, "0", "${rv}", "x")), s.deleteBody())
				if involvesCollector(s.last()) {
					s.pause(1)
				}
			}},
			action{4, func() {
				step := s.send(http.MethodGet, k.on(name), nil)
				save(step, "uid", "metadata.uid")
				save(step, "rv", "metadata.resourceVersion")
			}},
			action{2, func() { s.send(http.MethodGet, k.path, nil) }},
			action{3, func() {
				s.patch(mergePatch, query(k.on(name), "dryRun", s.sometimes(10, "All")), object{"metadata": object{"finalizers": pick[any](s, nil, []any{}, []any{"example.com/f"}, []any{"example.com/f", "example.com/h"}, []any{"bad"}, []any{"orphan"})}})
			}},
			action{1, func() {
				s.patch(mergePatch, k.on(name), object{"metadata": object{"ownerReferences": pick[any](s, []any{s.owner()}, nil, []any{s.owner(), s.owner()})}})
			}},
			action{1, func() {
				s.patch(mergePatch, k.on(name), object{"metadata": object{pick(s, "deletionTimestamp", "deletionGracePeriodSeconds", "uid", "generation", "creationTimestamp"): s.scalar()}})
			}},
		)
	}
	s.pause(1)
	for _, k := range kinds { // so that the namespace can go
		for _, name := range names {
			s.patch(mergePatch, k.on(name), object{"metadata": object{"finalizers": nil}}).Only = []string{}
		}
	}
}

// involvesCollector reports whether the garbage collector ends a deletion, some time later.
func involvesCollector(step *conversation.Step) bool {
	text := step.Path + string(step.Body)
	return strings.Contains(text, "Orphan") || strings.Contains(text, "Foreground") || strings.Contains(text, "orphanDependents")
}

// owner returns a reference to the owner, which exists for the whole story: the garbage collector
// deletes objects whose owner does not exist, at its own time.
func (s *story) owner() object {
	o := object{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "${owner}"}
	if s.chance(30) {
		o["controller"] = s.chance(70)
	}
	if s.chance(30) {
		o["blockOwnerDeletion"] = s.chance(70)
	}
	if s.chance(8) {
		o[pick(s, "apiVersion", "kind", "name", "uid")] = "" // which is refused
	}
	return o
}

// deleteOptions adds the options of a delete as parameters.
func (s *story) deleteOptions(path string) string {
	return query(path, "dryRun", s.sometimes(12, "All", "x"), "propagationPolicy", s.sometimes(25, "Background", "Foreground", "Orphan", "x"), "gracePeriodSeconds", s.sometimes(15, "0", "1", "-1", "30", "x"),
		"orphanDependents", s.sometimes(5, "true", "false"), "ignoreStoreReadErrorWithClusterBreakingPotential", s.sometimes(2, "true"))
}

// deleteBody returns the options of a delete as a body, or nil.
func (s *story) deleteBody() any {
	if s.chance(60) {
		return nil
	}
	o := object{"apiVersion": "v1", "kind": "DeleteOptions"}
	if s.chance(40) {
		o["propagationPolicy"] = pick[any](s, "Background", "Foreground", "Orphan", "", "x", nil)
	}
	if s.chance(30) {
		o["gracePeriodSeconds"] = pick[any](s, 0, 1, -1, 30, nil, "x")
	}
	if s.chance(25) {
		o["preconditions"] = pick[any](s, object{"uid": "${uid}"}, object{"resourceVersion": "${rv}"}, object{"uid": "none"}, object{"resourceVersion": "1"}, object{}, nil, object{"uid": "", "resourceVersion": ""})
	}
	if s.chance(15) {
		o["dryRun"] = pick[any](s, []any{"All"}, []any{}, []any{"x"}, []any{"All", "All"}, "All")
	}
	if s.chance(8) {
		o["orphanDependents"] = s.chance(50)
	}
	if s.chance(8) {
		o[pick(s, "kind", "apiVersion", "unknown")] = pick(s, "", "Status", "v1", "meta.k8s.io/v1", "x/y/z", "policy/v1")
	}
	if s.chance(3) {
		return fmt.Sprint(s.scalar())
	}
	return o
}
