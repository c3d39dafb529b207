package random

import (
	"fmt"
	"net/http"

	"github.com/miniapiserver/miniapiserver/conformance/internal/hook"
)

// converted is a story about a definition whose versions a webhook converts.
type converted struct{ *definition }

// conversions tells of custom objects in versions that a webhook converts, well or badly.
func conversions(s *story) {
	c := converted{s.define(2 + s.IntN(2))}
	c.conversion = c.webhook(hook.Spec{Convert: c.good()})
	c.create()
	for s.goesOn() {
		w := &writer{c.definition, c.any(), pick(s, "o", "o", "p")}
		s.happen(
			action{6, w.apply}, action{4, w.put}, action{4, w.patch}, action{3, w.status}, action{1, w.scale}, action{3, w.post}, action{5, w.get}, action{2, w.remove},
			action{3, w.list}, action{1, w.managers}, action{2, c.change}, action{1, func() {
				s.send(http.MethodDelete, query(c.path(c.any()), "dryRun", s.sometimes(40, "All"), "fieldSelector", s.sometimes(30, "metadata.name=o")), nil)
			}}, action{1, func() {
				s.watch(query(c.path(c.any()), "watch", "1", "timeoutSeconds", "1", "resourceVersion", pick(s, "", "0", "${rv}")), 4)
			}},
			action{2, func() {
				step := s.send(http.MethodGet, query(c.path(c.any()), "resourceVersion", s.sometimes(40, "0", "${rv}"), "limit", s.sometimes(30, "1")), nil)
				if s.chance(30) {
					header(step, "Accept", s.accept())
				}
			}},
		)
	}
}

// good returns a conversion that renames fields and sets others.
func (c converted) good() *hook.Conversion {
	s := c.story
	conversion := &hook.Conversion{Move: map[string]map[string]string{}, Set: map[string]map[string]any{}}
	if s.chance(30) {
		return conversion
	}
	for _, v := range c.versions {
		if s.chance(50) {
			conversion.Move[v.name] = map[string]string{pick(s, "text", "number", "flag"): pick(s, "any", "text", "renamed", "number")}
		}
		if s.chance(50) {
			conversion.Set[v.name] = map[string]any{pick(s, "spec.text", "spec.number", "spec.any", "metadata.labels.converted", "metadata.annotations.converted", "status.text"): pick[any](s, "a", "b", v.name)}
		}
	}
	return conversion
}

// webhook returns the conversion of a definition by a webhook.
func (c converted) webhook(spec hook.Spec) object {
	s := c.story
	client := object{"url": "${hook}" + spec.Path(), "caBundle": "${hookca}"}
	return object{"strategy": "Webhook", "webhook": object{"clientConfig": client, "conversionReviewVersions": pick(s, []any{"v1"}, []any{"v1"}, []any{"v1", "v1beta1"}, []any{"v1beta1", "v1"}, []any{"v1beta1"})}}
}

// change changes the conversion: to one that is good, or to one that fails or answers badly.
func (c converted) change() {
	s := c.story
	spec := hook.Spec{Convert: c.good()}
	switch s.IntN(10) {
	case 0:
		spec.Convert.Failure = pick(s, "no", "long message: \"x\"", "a\nb")
	case 1:
		spec.Convert.Drop = 1
	case 2:
		raw := pick(s, "", "{", "null", "{}", `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1"}`, `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"result":{"status":"Success"},"convertedObjects":[]}}`, `{"kind":"Other","apiVersion":"apiextensions.k8s.io/v1","response":{}}`, "x: y")
		spec.Raw = &raw
	case 3:
		spec.HTTP = pick(s, 201, 400, 404, 500, 503)
	case 4:
		spec.UID = pick(s, ptr(""), ptr("x"))
	case 5:
		spec.Version = pick(s, "apiextensions.k8s.io/v1beta1", "v1", "apiextensions.k8s.io/v2", "apiextensions.k8s.io/v1")
	case 6:
		v := c.any()
		spec.Convert.Set[v.name] = map[string]any{pick(s, "metadata.name", "metadata.namespace", "metadata.uid", "metadata.resourceVersion", "metadata.labels", "metadata.annotations", "metadata.finalizers", "metadata.generation", "metadata.creationTimestamp", "metadata", "apiVersion", "kind", "spec", "metadata.managedFields"): pick[any](s, "x", nil, object{"a": "b"}, object{}, []any{}, []any{"x/y"}, 1, "${id}.example.com/v1", "", object{"A b": 1})}
	}
	c.conversion = c.webhook(spec)
	if s.chance(8) {
		c.conversion = pick(s, object{"strategy": "None"}, object{"strategy": "Webhook", "webhook": object{"clientConfig": object{"url": "https://127.0.0.1:1/x", "caBundle": "${hookca}"}, "conversionReviewVersions": []any{"v1"}}})
	}
	if c.conversion["strategy"] == "None" {
		c.conversion["webhook"] = nil
	}
	c.patchConversion()
}

// patchConversion changes the conversion only, and waits until that is seen.
func (c converted) patchConversion() {
	step := c.story.patch(mergePatch, definitions+"/things.${id}.example.com", object{"spec": object{"conversion": c.conversion}})
	step.Only = []string{"kind", "message", "reason", "details"}
	c.pause(1.5)
	c.send(http.MethodGet, fmt.Sprint(c.path(c.any()), "/o"), nil)
}
