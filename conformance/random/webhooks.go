package random

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/miniapiserver/miniapiserver/conformance/internal/hook"
)

const admissionregistration = "/apis/admissionregistration.k8s.io/v1/"

// hooked is a story about webhooks.
type hooked struct {
	*story
	targets []target
	configs int
}

// webhooks tells of admission webhooks that answer in all ways, and of requests that they see. Most of
// them see only objects with a label of their own, so that one delay is enough for all of them.
func webhooks(s *story) {
	h := &hooked{story: s}
	all := targets()
	h.targets = []target{all[0], pick(s, all...), pick(s, all...)}
	if s.chance(35) {
		d := s.define(1 + s.IntN(2))
		d.create()
		for _, v := range d.versions {
			base := d.object(v, "o")
			h.targets = append(h.targets, target{kind{d.path(v), base}, "${id}.example.com", v.name, "things", []string{"status", "scale"}})
		}
	}
	for range 3 + s.IntN(5) {
		h.configure()
	}
	s.pause(2)
	for s.goesOn() {
		if s.chance(4) {
			h.reconfigure()
			s.pause(2)
			continue
		}
		labels := object{}
		if s.chance(92) {
			labels["w"] = fmt.Sprint(s.IntN(h.configs))
		}
		s.write(pick(s, h.targets...), labels)
	}
}

// resource returns the resource of a kind of configuration.
func configurations(mutating bool) string {
	if mutating {
		return admissionregistration + "mutatingwebhookconfigurations"
	}
	return admissionregistration + "validatingwebhookconfigurations"
}

// configure adds a configuration with one or two webhooks.
func (h *hooked) configure() {
	mutating := h.chance(55)
	body := object{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": object{"name": indexed("w", h.configs)}}
	if mutating {
		body["kind"] = "MutatingWebhookConfiguration"
	}
	list := []any{h.webhook(mutating, "a.hook.io")}
	if h.chance(30) {
		list = append(list, h.webhook(mutating, pick(h.story, "b.hook.io", "b.hook.io", "a.hook.io")))
	}
	body["webhooks"] = list
	h.send(http.MethodPost, configurations(mutating), body)
	h.cleanup(configurations(mutating) + "/" + indexed("w", h.configs))
	h.configs++
}

// reconfigure changes or deletes a configuration.
func (h *hooked) reconfigure() {
	mutating := h.chance(50)
	path := configurations(mutating) + "/" + indexed("w", h.IntN(h.configs))
	if h.chance(30) {
		h.send(http.MethodDelete, path, nil)
		return
	}
	h.patch(mergePatch, path, object{"webhooks": []any{h.webhook(mutating, "c.hook.io")}})
}

// webhook returns a webhook for objects of the story.
func (h *hooked) webhook(mutating bool, name string) object {
	s := h.story
	w := object{
		"name": name, "admissionReviewVersions": pick(s, []any{"v1"}, []any{"v1"}, []any{"v1"}, []any{"v1", "v1beta1"}, []any{"v1beta1", "v1"}, []any{"v1beta1"}, []any{"v2", "v1"}),
		"sideEffects": pick(s, "None", "None", "NoneOnDryRun"), "clientConfig": h.client(mutating), "timeoutSeconds": pick(s, 5, 10, 30),
		"namespaceSelector": object{"matchLabels": object{"kubernetes.io/metadata.name": "${ns}"}},
	}
	if s.chance(85) {
		w["objectSelector"] = object{"matchLabels": object{"w": fmt.Sprint(h.configs)}}
	} else if s.chance(50) {
		w["objectSelector"] = object{"matchExpressions": []any{object{"key": "w", "operator": pick(s, "Exists", "DoesNotExist")}}}
	}
	rules := []any{}
	for range 1 + s.IntN(2) {
		rules = append(rules, h.rule())
	}
	w["rules"] = rules
	if p := s.sometimes(60, "Fail", "Ignore"); p != "" {
		w["failurePolicy"] = p
	}
	if p := s.sometimes(50, "Exact", "Equivalent"); p != "" {
		w["matchPolicy"] = p
	}
	if mutating && s.chance(40) {
		w["reinvocationPolicy"] = pick(s, "IfNeeded", "Never")
	}
	if s.chance(25) {
		w["matchConditions"] = h.conditions()
	}
	if s.chance(2) {
		w[pick(s, "sideEffects", "failurePolicy", "matchPolicy", "timeoutSeconds", "rules", "name", "admissionReviewVersions", "reinvocationPolicy", "unknown")] = s.scalar()
	}
	return w
}

// rule returns a rule for one of the targets.
func (h *hooked) rule() object {
	s, t := h.story, pick(h.story, h.targets...)
	r := object{
		"operations":  pick(s, []any{"*"}, []any{"*"}, []any{"CREATE"}, []any{"CREATE", "UPDATE"}, []any{"UPDATE"}, []any{"DELETE"}, []any{"CREATE", "UPDATE", "DELETE", "CONNECT"}, []any{"CONNECT", "CREATE"}),
		"apiGroups":   pick(s, []any{t.group}, []any{t.group}, []any{"*"}, []any{"other", t.group}),
		"apiVersions": pick(s, []any{t.version}, []any{"*"}, []any{"v1"}, []any{"v2"}, []any{t.version, "v9"}),
		"resources":   pick(s, []any{t.resource}, []any{t.resource}, []any{t.resource, t.resource + "/*"}, []any{"*"}, []any{"*/*"}, []any{"*/status", t.resource}, []any{t.resource + "/*"}),
		"scope":       "Namespaced",
	}
	if r["resources"].([]any)[0] == t.resource && s.chance(70) {
		switch s.IntN(4) {
		case 0:
			r["scope"] = "*"
		case 1:
			r["scope"] = "Cluster"
		default:
			delete(r, "scope")
		}
	}
	return r
}

// client returns the client configuration of a webhook.
func (h *hooked) client(mutating bool) object {
	s := h.story
	c := object{"url": "${hook}" + h.answer(mutating).Path(), "caBundle": "${hookca}"}
	switch s.IntN(40) {
	case 0:
		c["url"] = "https://127.0.0.1:1/x"
	case 1:
		delete(c, "caBundle")
	case 2:
		return object{"service": object{"namespace": "${ns}", "name": "none", "path": "/x"}, "caBundle": "${hookca}"}
	case 3:
		c["url"] = "${hook}/none"
	}
	return c
}

// conditions returns match conditions.
func (h *hooked) conditions() []any {
	list := []any{}
	for i := range 1 + h.IntN(2) {
		list = append(list, object{"name": fmt.Sprint("c", i), "expression": pick(h.story,
			"object.metadata.name == 'o'", "request.operation != 'DELETE'", "has(object.metadata.labels) && 'w' in object.metadata.labels", "oldObject != null", "object.data.a == '1'", "request.userInfo.username == 'admin'",
			"request.name == 'o'", "!has(request.dryRun) || !request.dryRun", "authorizer.group('').resource('configmaps').namespace('${ns}').check('get').allowed()", "request.resource.group == ''", "request.subResource == ''",
			"object.spec.replicas > 0", "request.options.dryRun == ['All']", "request.kind.version == 'v1' && request.requestKind.version == 'v1'", "object.metadata.labels.w == '1' || true", "1", "object.x", "namespaceObject.metadata.name == '${ns}'", "request.namespace == '${ns}'", "oldObject.metadata.name == object.metadata.name",
			"size(object.metadata.managedFields) > 0", "'a' in request.userInfo.groups", "request.name.matches('[')", "1/0 == 1", "request.nothing == 1")})
	}
	return list
}

// answer returns what a webhook answers.
func (h *hooked) answer(mutating bool) hook.Spec {
	s := h.story
	spec := hook.Spec{Response: object{"allowed": true}}
	if s.chance(15) {
		spec.If = pick(s, "CREATE", "UPDATE", "DELETE")
	}
	s.happen(
		action{6, func() { spec.Response = h.denial() }},
		action{3, func() {
			spec.Response["allowed"] = s.chance(30)
			spec.Echo = some(s, "request.kind", "request.resource", "request.subResource", "request.requestKind", "request.requestResource", "request.requestSubResource", "request.name", "request.namespace", "request.operation", "request.userInfo", "request.dryRun", "request.options", "apiVersion", "kind")
			if s.chance(60) {
				spec.Response["allowed"] = false // a warning is cut
				spec.Echo = append(spec.Echo, pick(s, "request.object", "request.oldObject", "request.object.metadata", "request.oldObject.metadata"))
			}
		}},
		action{2, func() {
			spec.Response["warnings"] = pick[any](s, []any{"w1"}, []any{"w1", "w2"}, []any{""}, []any{"w1", ""}, []any{strings.Repeat("x", 300), "b"}, []any{"a\nb"}, []any{"é\t\"q\""}, nil, []any{strings.Repeat("é", 200)}, []any{strings.Repeat("x", 5000), "y"}, []any{"a\\b"})
			spec.Response["allowed"] = s.chance(80)
		}},
		action{2, func() {
			spec.Response["auditAnnotations"] = pick[any](s, object{"a": "b"}, object{"a b": "c"}, object{"": ""}, nil, object{"x/y/z": "1"})
		}},
		action{pick(s, 1, 2), func() {
			spec.Response = pick(s, object{}, object{"allowed": "x"}, object{"allowed": nil}, object{"allowed": true, "status": object{"code": 500, "message": "m"}}, object{"allowed": true, "unknown": 1}, object{"allowed": true, "status": "x"}, object{"allowed": true, "patch": "W10="}, object{"allowed": true, "warnings": "x"}, object{"Allowed": true})
		}},
		action{2, func() {
			raw := pick(s, "", "{", "null", "[]", "{}", "x: y", `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`, `{"kind":"Other","apiVersion":"admission.k8s.io/v1","response":{"uid":"x","allowed":true}}`, `{"response":{"allowed":true}}`, `{"kind":"AdmissionReview","apiVersion":"v1","response":{"allowed":true}}`, "\"x\"", `{"kind":"Status","apiVersion":"v1","message":"m","code":409}`, "apiVersion: admission.k8s.io/v1\nkind: AdmissionReview\nresponse: {allowed: true}\n")
			spec.Raw = &raw
			if s.chance(40) {
				spec.HTTP = pick(s, 200, 201, 202, 204, 400, 401, 403, 404, 409, 422, 429, 500, 503)
			}
		}},
		action{1, func() { spec.HTTP = pick(s, 200, 201, 202, 299, 302, 400, 404, 409, 500, 503) }},
		action{1, func() {
			spec.Version = pick(s, "admission.k8s.io/v1beta1", "admission.k8s.io/v1", "admission.k8s.io/v2", "v1", "a/b/c")
		}},
		action{1, func() { spec.UID = pick(s, ptr(""), ptr("x")) }},
		action{6, func() {
			if mutating || s.chance(15) {
				h.patchAnswer(spec.Response)
			}
		}},
	)
	return spec
}

func ptr[T any](v T) *T { return &v }

// denial returns a response that denies.
func (h *hooked) denial() object {
	s := h.story
	r := object{"allowed": false}
	if s.chance(15) {
		return r
	}
	status := object{}
	if s.chance(70) {
		status["message"] = pick[any](s, "no", "", "a\nb", "é \"q\"", 1, strings.Repeat("long ", 50))
	}
	if s.chance(60) {
		status["code"] = pick[any](s, 0, 100, 200, 201, 302, 400, 401, 403, 404, 409, 410, 418, 422, 429, 500, 503, 999, -1, "400", 1000)
	}
	if s.chance(50) {
		status["reason"] = pick[any](s, "Forbidden", "NotFound", "Conflict", "AlreadyExists", "Invalid", "custom reason", "", "Timeout", "TooManyRequests", "Gone", "Unauthorized", "InternalError", 1)
	}
	if s.chance(30) {
		status["details"] = pick[any](s, object{"causes": []any{object{"field": "f", "message": "m", "reason": "FieldValueInvalid"}, object{"message": "n"}}}, object{"name": "n", "kind": "k", "group": "g", "uid": "u"}, object{"retryAfterSeconds": 3}, object{}, nil, object{"unknown": 1}, object{"causes": []any{}})
	}
	if s.chance(25) {
		status["status"] = pick[any](s, "Success", "Failure", "", "Other")
	}
	if s.chance(15) {
		status["metadata"] = pick[any](s, object{"resourceVersion": "5"}, object{}, nil, object{"continue": "c"}, object{"selfLink": "/x"}, object{"remainingItemCount": 3})
	}
	if s.chance(15) {
		status["kind"], status["apiVersion"] = pick(s, "Status", "Other"), pick(s, "v1", "v2")
	}
	r["status"] = status
	if s.chance(10) {
		r["warnings"] = []any{"w1"}
	}
	if s.chance(10) {
		h.patchAnswer(r)
	}
	return r
}

// patchAnswer adds a patch to a response.
func (h *hooked) patchAnswer(response object) {
	s, t := h.story, pick(h.story, h.targets...)
	var patch any
	s.happen(
		action{5, func() {
			patch = []any{object{"op": "add", "path": "/metadata/annotations", "value": object{pick(s, "a", "b"): pick(s, "1", "2")}}}
		}},
		action{5, func() { patch = h.metadataPatch() }},
		action{4, func() { patch = s.operationsFor(t.labelled("o", object{"w": "0"})) }},
		action{2, func() {
			patch = []any{object{"op": pick(s, "add", "replace"), "path": pick(s, "/data", "/data/a", "/spec", "/spec/replicas", "/status", "/kind", "/apiVersion", "/unknown", "/metadata", "", "/type", "/immutable", "/stringData"), "value": s.value(2)}}
		}},
		action{1, func() { patch = []any{} }},
		action{1, func() {
			patch = []any{object{"op": "test", "path": "/metadata/name", "value": pick(s, "o", "p")}, object{"op": "add", "path": "/metadata/labels/x", "value": "y"}}
		}},
		action{1, func() { patch = s.value(2) }},
	)
	text, err := json.Marshal(patch)
	if err != nil {
		panic(fmt.Sprintf("patch of a webhook: %v", err)) // it is made of maps, lists and scalars
	}
	response["patch"], response["patchType"] = base64.StdEncoding.EncodeToString(text), "JSONPatch"
	if s.chance(10) {
		response["patchType"] = pick[any](s, "", "MergePatch", "jsonpatch", nil, 1, "JSON Patch")
	}
	if s.chance(6) {
		response["patch"] = pick[any](s, "", "!", "eA==", "bnVsbA==", nil, 1, "e30=", "W3sib3AiOiJhZGQifV0", "W10")
	}
	if s.chance(5) {
		delete(response, pick(s, "patch", "patchType"))
	}
}

// metadataPatch returns a patch that changes metadata.
func (h *hooked) metadataPatch() []any {
	field := pick(h.story, "name", "namespace", "uid", "resourceVersion", "generateName", "labels", "annotations", "finalizers", "ownerReferences", "managedFields", "creationTimestamp", "deletionTimestamp", "generation", "selfLink", "unknown")
	value := pick[any](h.story, "x", "", nil, 1, []any{}, object{}, object{"a": "b"}, []any{"example.com/f"}, []any{object{}}, "2026-01-02T03:04:05Z", "A b")
	return []any{object{"op": pick(h.story, "add", "add", "replace", "remove"), "path": "/metadata/" + field, "value": value}}
}
