package random

import (
	"fmt"
	"net/http"
)

// policied is a story about admission policies.
type policied struct {
	*story
	targets []target
	// policies are the kinds of the policies: whether each one mutates.
	policies []bool
}

// policies tells of validating and mutating admission policies whose expressions are of all kinds, with
// bindings and parameters, and of requests that they see. Most policies see only objects with a label
// of their own, so that one delay is enough for all of them.
func policies(s *story) {
	p := &policied{story: s}
	all := targets()
	p.targets = []target{all[0], pick(s, all...), pick(s, all...)}
	if s.chance(25) {
		d := s.define(1)
		d.create()
		v := d.versions[0]
		p.targets = append(p.targets, target{kind{d.path(v), d.object(v, "o")}, "${id}.example.com", v.name, "things", []string{"status", "scale"}})
	}
	for i := range 2 {
		s.send(http.MethodPost, namespaced("v1", "configmaps"), object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": fmt.Sprint("params", i), "labels": object{"params": "yes"}}, "data": object{"a": fmt.Sprint(i + 1), "max": "2"}})
	}
	for range 4 + s.IntN(5) {
		p.create()
	}
	s.pause(3)
	for s.goesOn() {
		s.happen(
			action{50, func() {
				labels := object{}
				if s.chance(92) {
					labels["w"] = fmt.Sprint(s.IntN(len(p.policies)))
				}
				s.write(pick(s, p.targets...), labels)
			}},
			action{2, p.status},
			action{3, func() { p.tryPolicy() }},
			action{1, func() { p.change() }},
		)
	}
}

// path returns the path of the policies or of their bindings.
func policyPath(mutating, binding bool) string {
	path := admissionregistration + "validatingadmissionpolic"
	if mutating {
		path = admissionregistration + "mutatingadmissionpolic"
	}
	if binding {
		return path + "ybindings"
	}
	return path + "ies"
}

// create adds a policy with a binding.
func (p *policied) create() {
	n, mutating := len(p.policies), p.chance(45)
	policy := p.policy(n, mutating)
	p.send(http.MethodPost, policyPath(mutating, false), policy)
	p.cleanup(policyPath(mutating, false) + "/" + indexed("p", n))
	spec, _ := policy["spec"].(object)
	p.send(http.MethodPost, policyPath(mutating, true), p.binding(n, mutating, spec["paramKind"] != nil))
	p.cleanup(policyPath(mutating, true) + "/" + indexed("b", n))
	p.policies = append(p.policies, mutating)
}

// policy returns a policy that sees objects with the label n.
func (p *policied) policy(n int, mutating bool) object {
	s, t := p.story, pick(p.story, p.targets...)
	body := object{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": object{"name": indexed("p", n)}}
	operations := pick(s, []any{"*"}, []any{"CREATE", "UPDATE"}, []any{"CREATE"}, []any{"UPDATE"}, []any{"DELETE"}, []any{"CREATE", "UPDATE", "DELETE"}, []any{"CONNECT", "CREATE"})
	if mutating {
		body["kind"] = "MutatingAdmissionPolicy"
		operations = pick(s, []any{"CREATE", "UPDATE"}, []any{"CREATE"}, []any{"UPDATE"}, []any{"CREATE", "UPDATE"})
	}
	rule := object{"operations": operations, "apiGroups": pick(s, []any{t.group}, []any{t.group}, []any{"*"}), "apiVersions": pick(s, []any{t.version}, []any{"*"}),
		"resources": pick(s, []any{t.resource}, []any{t.resource}, []any{t.resource}, []any{t.resource, t.resource + "/status"}, []any{t.resource + "/*"}, []any{"*"})}
	if s.chance(10) {
		rule["resourceNames"] = []any{pick(s, "o", "p")}
	}
	if s.chance(15) || rule["apiGroups"].([]any)[0] == "*" || rule["resources"].([]any)[0] == "*" {
		rule["scope"] = "Namespaced"
	}
	constraints := object{"resourceRules": []any{rule}, "namespaceSelector": object{"matchLabels": object{"kubernetes.io/metadata.name": "${ns}"}}}
	if s.chance(85) {
		constraints["objectSelector"] = object{"matchLabels": object{"w": fmt.Sprint(n)}}
	}
	if s.chance(8) {
		constraints["excludeResourceRules"] = []any{object{"operations": []any{"UPDATE"}, "apiGroups": []any{"*"}, "apiVersions": []any{"*"}, "resources": []any{t.resource}}}
	}
	if m := s.sometimes(30, "Exact", "Equivalent"); m != "" {
		constraints["matchPolicy"] = m
	}
	spec := object{"matchConstraints": constraints}
	body["spec"] = spec
	if m := s.sometimes(60, "Fail", "Ignore"); m != "" {
		spec["failurePolicy"] = m
	}
	if s.chance(35) {
		spec["paramKind"] = pick(s, object{"apiVersion": "v1", "kind": "ConfigMap"}, object{"apiVersion": "v1", "kind": "ConfigMap"}, object{"apiVersion": "v1", "kind": "ConfigMap"}, object{"apiVersion": "v1", "kind": "Namespace"}, object{"apiVersion": "none/v1", "kind": "None"})
	}
	e := p.environment(t, spec["paramKind"] != nil)
	if s.chance(40) {
		variables := []any{}
		for i := range 1 + s.IntN(2) {
			name := fmt.Sprint("v", i)
			variables = append(variables, object{"name": name, "expression": e.any(2)})
			e.others = append(e.others, "variables."+name)
		}
		spec["variables"] = variables
	}
	if s.chance(20) {
		spec["matchConditions"] = []any{object{"name": "c", "expression": e.boolean(2)}}
	}
	if mutating {
		spec["reinvocationPolicy"] = pick(s, "Never", "IfNeeded")
		p.mutations(spec, e, t)
	} else {
		p.validations(spec, e)
	}
	if s.chance(2) {
		spec[pick(s, "matchConstraints", "failurePolicy", "validations", "variables", "matchConditions", "paramKind", "unknown", "reinvocationPolicy")] = s.value(2)
	}
	return body
}

// environment returns the names that an expression of a policy about a target can have.
func (p *policied) environment(t target, params bool) expressions {
	e := expressions{p.story, names{
		strings:  []string{"object.metadata.name", "request.name", "request.namespace", "request.operation", "request.userInfo.username", "request.resource.resource", "request.kind.kind", "object.kind", "object.metadata.?labels.w.orValue('')", "object.metadata.labels.w", "namespaceObject.metadata.name", "oldObject.metadata.name", "object.metadata.generateName"},
		numbers:  []string{"object.metadata.generation", "size(object.metadata.name)"},
		booleans: []string{"request.dryRun", "oldObject == null", "has(object.metadata.labels)", "has(object.metadata.annotations) && 'a' in object.metadata.annotations", "object.metadata.name == 'o'", "authorizer.group('').resource('configmaps').namespace('default').check('get').allowed()", "authorizer.requestResource.check('get').allowed()", "authorizer.serviceAccount('default', 'x').path('/healthz').check('get').allowed()", "authorizer.group('').resource('pods').errored()"},
		lists:    []string{"request.userInfo.groups", "object.metadata.finalizers", "object.metadata.ownerReferences"},
		maps:     []string{"object.metadata.labels", "object.metadata.annotations", "namespaceObject.metadata.labels"},
		others:   []string{"object", "oldObject", "object.metadata", "request.options", "request.subResource", "object.spec", "object.metadata.labels", "object.none"},
	}}
	if params {
		e.strings = append(e.strings, "params.data.a", "params.metadata.name", "params.data.none")
		e.others = append(e.others, "params", "params.data")
	}
	switch t.resource {
	case "configmaps", "secrets":
		e.strings, e.maps, e.others = append(e.strings, "object.data.a", "object.data.a", "object.data['b']"), append(e.maps, "object.data", "oldObject.data"), append(e.others, "object.data", "object.immutable", "object.binaryData")
	case "deployments":
		e.numbers, e.lists, e.maps = append(e.numbers, "object.spec.replicas", "object.spec.replicas"), append(e.lists, "object.spec.template.spec.containers"), append(e.maps, "object.spec.selector.matchLabels")
	case "pods":
		e.strings, e.lists, e.others = append(e.strings, "object.spec.containers[0].image", "object.spec.nodeName"), append(e.lists, "object.spec.containers", "object.spec.volumes"), append(e.others, "object.spec.containers[0].resources", "object.spec.containers[0].resources.limits['cpu']", "object.spec.terminationGracePeriodSeconds")
	case "services":
		e.lists, e.numbers, e.others = append(e.lists, "object.spec.ports"), append(e.numbers, "object.spec.ports[0].port"), append(e.others, "object.spec.ports[0].targetPort")
	default:
		e.others = append(e.others, "object.spec.items", "object.spec.text", "object.status")
	}
	return e
}

func (p *policied) boolean(e expressions) string {
	if p.chance(4) {
		return e.broken()
	}
	return e.boolean(1 + p.IntN(3))
}

// validations adds what a validating policy validates.
func (p *policied) validations(spec object, e expressions) {
	s := p.story
	list := []any{}
	for range 1 + s.IntN(3) {
		v := object{"expression": p.boolean(e)}
		if s.chance(30) {
			v["message"] = pick(s, "no", "not \"this\"", "", "a\nb", " ")
		}
		if s.chance(30) {
			v["messageExpression"] = pick(s, e.text(2), e.text(2), "'a' + 'b'", "''", "' '", "'a\\nb'", "object.none", "1", "params.data.a + ' x'", e.any(1))
		}
		if s.chance(30) {
			v["reason"] = pick(s, "Invalid", "Forbidden", "Unauthorized", "RequestEntityTooLarge", "NotFound", "Conflict")
		}
		list = append(list, v)
	}
	spec["validations"] = list
	if s.chance(25) {
		spec["auditAnnotations"] = []any{object{"key": pick(s, "a", "b-c", "bad key", "", "x/y"), "valueExpression": pick(s, e.text(2), "null", "''", "1", "object.none")}}
	}
}

// mutations adds what a mutating policy changes.
func (p *policied) mutations(spec object, e expressions, t target) {
	s := p.story
	list := []any{}
	for range 1 + s.IntN(2) {
		if s.chance(50) {
			list = append(list, object{"patchType": "ApplyConfiguration", "applyConfiguration": object{"expression": p.configuration(e, t)}})
			continue
		}
		list = append(list, object{"patchType": "JSONPatch", "jsonPatch": object{"expression": p.jsonPatchExpression(e)}})
	}
	if s.chance(3) {
		list = append(list, object{"patchType": pick(s, "JSONPatch", "ApplyConfiguration", "x", "")})
	}
	spec["mutations"] = list
}

// configuration returns an expression of an apply configuration.
func (p *policied) configuration(e expressions, t target) string {
	s := p.story
	if s.chance(12) {
		return pick(s, "Object{}", "{}", "1", "Object{unknown: 1}", "Object{metadata: 1}", "Object{metadata: Object.metadata{labels: {'a': 1}}}", "Object{spec: Object.none{a: 1}}", "Object{kind: 'x'}", "Object{apiVersion: 'v9'}", "object", e.broken(), "Object{metadata: Object.metadata{name: 'x'}}", "Object{metadata: Object.metadata{namespace: 'x'}}", "Object.metadata{}")
	}
	general := pick(s, "Object{metadata: Object.metadata{labels: {'x': %s}}}", "Object{metadata: Object.metadata{annotations: {'x': %s, 'y': 'z'}}}", "Object{metadata: Object.metadata{annotations: %s == 'a' ? {'q': 'r'} : {'s': 't'}}}", "Object{metadata: Object.metadata{finalizers: ['example.com/f', %s]}}")
	value := pick(s, "'a'", "string(size(object.metadata.name))", e.text(2))
	own := ""
	switch t.resource {
	case "configmaps":
		own = pick(s, "Object{data: {'x': %s}}", "Object{immutable: %s == ''}")
	case "deployments":
		own = pick(s, "Object{spec: Object.spec{replicas: size(%s)}}", "Object{spec: Object.spec{template: Object.spec.template{metadata: Object.spec.template.metadata{labels: {'z': %s}}}}}", "Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [Object.spec.template.spec.containers{name: 'a', image: %s}]}}}}",
			"Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{tolerations: [Object.spec.template.spec.tolerations{key: %s}]}}}}")
	case "pods":
		own = pick(s, "Object{spec: Object.spec{containers: [Object.spec.containers{name: %s, image: 'i'}]}}", "Object{spec: Object.spec{nodeSelector: {'z': %s}}}", "Object{spec: Object.spec{initContainers: [Object.spec.initContainers{name: 'init', image: %s}]}}", "Object{spec: Object.spec{schedulerName: %s}}")
	case "services":
		own = pick(s, "Object{spec: Object.spec{selector: {'z': %s}}}", "Object{spec: Object.spec{ports: [Object.spec.ports{port: 80, protocol: 'TCP', name: %s}]}}", "Object{spec: Object.spec{externalIPs: ['1.2.3.4', %s]}}")
	case "things":
		own = pick(s, "Object{spec: Object.spec{text: %s}}", "Object{spec: Object.spec{items: [Object.spec.items{name: %s}]}}", "Object{spec: Object.spec{unknown: %s}}", "Object{spec: Object.spec{map: {'z': %s}}}")
	}
	if own != "" && s.chance(55) {
		general = own
	}
	return fmt.Sprintf(general, value)
}

// jsonPatchExpression returns an expression of a JSON patch.
func (p *policied) jsonPatchExpression(e expressions) string {
	s := p.story
	if s.chance(12) {
		return pick(s, "[]", "{}", "[1]", "JSONPatch{op: 'add', path: '/x', value: 1}", "[JSONPatch{}]", "[JSONPatch{op: 'add'}]", "[JSONPatch{op: 1}]", "[JSONPatch{unknown: 'a'}]", "[{'op': 'add', 'path': '/metadata/labels/x', 'value': 'a'}]", e.broken(), "[JSONPatch{op: 'add', path: 'x', value: 'a'}]", "[JSONPatch{op: 'jump', path: '/metadata', value: 'a'}]")
	}
	value := pick(s, "'v'", e.text(1), "1", "{'a': 'b'}", "Object.metadata{labels: {'a': 'b'}}", "null", "object.metadata.labels", "['example.com/f']")
	path := pick(s, "/metadata/labels/x", "/metadata/labels/x", "/metadata/annotations", "/metadata/annotations/a", "/metadata/finalizers", "/data/a", "/data", "/spec/replicas", "/spec", "/metadata/name", "/kind", "/none", "/metadata/labels/' + jsonpatch.escapeKey('a/b') + '")
	op := pick(s, "add", "add", "add", "replace", "remove", "test", "copy", "move")
	switch op {
	case "remove":
		return fmt.Sprintf("[JSONPatch{op: 'remove', path: '%s'}]", path)
	case "copy", "move":
		return fmt.Sprintf("[JSONPatch{op: '%s', from: '/metadata/%s', path: '%s'}]", op, pick(s, "labels", "labels/w", "none", "name"), path)
	}
	return fmt.Sprintf("[JSONPatch{op: '%s', path: '%s', value: %s}]", op, path, value)
}

// binding returns the binding of policy n.
func (p *policied) binding(n int, mutating, params bool) object {
	s := p.story
	body := object{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": object{"name": indexed("b", n)}}
	spec := object{"policyName": indexed("p", n)}
	body["spec"] = spec
	if mutating {
		body["kind"] = "MutatingAdmissionPolicyBinding"
	} else {
		spec["validationActions"] = pick(s, []any{"Deny"}, []any{"Deny"}, []any{"Deny"}, []any{"Warn"}, []any{"Audit"}, []any{"Deny", "Audit"}, []any{"Warn", "Audit"})
	}
	if params && s.chance(90) || s.chance(5) {
		ref := object{"name": pick(s, "params0", "params1", "none")}
		if s.chance(6) { // kube-apiserver's informer of parameters is sometimes stale
			ref = object{"selector": pick(s, object{"matchLabels": object{"params": "yes"}}, object{"matchLabels": object{"params": "no"}}, object{})}
		}
		if a := s.sometimes(95, "Deny", "Allow"); a != "" {
			ref["parameterNotFoundAction"] = a
		}
		if s.chance(20) {
			ref["namespace"] = pick(s, "${ns}", "none")
		}
		spec["paramRef"] = ref
	}
	if s.chance(15) {
		spec["matchResources"] = pick(s, object{"objectSelector": object{"matchExpressions": []any{object{"key": "w", "operator": pick(s, "Exists", "DoesNotExist")}}}}, object{"resourceRules": []any{object{"operations": []any{"CREATE"}, "apiGroups": []any{"*"}, "apiVersions": []any{"*"}, "resources": []any{"*"}}}}, object{"namespaceSelector": object{"matchLabels": object{"none": "x"}}})
	}
	if s.chance(3) {
		spec[pick(s, "policyName", "validationActions", "paramRef", "matchResources")] = s.value(2)
	}
	return body
}

// status adds a read of the status of a policy, which a controller writes.
func (p *policied) status() {
	n := p.IntN(len(p.policies))
	p.send(http.MethodGet, policyPath(p.policies[n], false)+"/"+indexed("p", n), nil).Ignore = []string{"metadata.managedFields"}
}

// tryPolicy adds a dry run of a policy with random contents: most of its answer is about what is
// not allowed.
func (p *policied) tryPolicy() {
	mutating := p.chance(40)
	body := p.policy(99, mutating)
	if p.chance(60) {
		body = p.mutate(body, "apiVersion", "kind", "metadata")
	}
	path := policyPath(mutating, false)
	if p.chance(20) {
		path, body = policyPath(mutating, true), p.mutate(p.binding(99, mutating, true), "apiVersion", "kind", "metadata")
	}
	p.send(http.MethodPost, query(path, "dryRun", "All", "fieldValidation", p.sometimes(20, "Strict", "Ignore")), body)
}

// change adds a change of a policy or of its parameters.
func (p *policied) change() {
	s := p.story
	n := s.IntN(len(p.policies))
	mutating := p.policies[n]
	switch s.IntN(4) {
	case 0:
		s.patch(mergePatch, namespaced("v1", "configmaps")+"/params0", object{"data": object{"a": pick[any](s, "9", nil)}})
	case 1:
		s.send(http.MethodDelete, namespaced("v1", "configmaps")+"/params1", nil)
	case 2:
		s.send(http.MethodDelete, policyPath(mutating, true)+"/"+indexed("b", n), nil)
	default:
		s.patch(mergePatch, policyPath(mutating, false)+"/"+indexed("p", n), object{"spec": p.policy(n, mutating)["spec"]})
	}
	s.pause(3)
}
