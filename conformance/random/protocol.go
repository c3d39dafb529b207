package random

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/miniapiserver/miniapiserver/lab/conversation"
)

// protocol tells of requests whose paths, methods, media types, options and bodies are odd.
func protocol(s *story) {
	kinds := []kind{workloads()[0], pick(s, workloads()...)}
	for _, k := range kinds {
		s.send(http.MethodPost, k.path, k.named("o"))
	}
	for s.goesOn() {
		k := pick(s, kinds...)
		path := s.oddPath(k)
		method := pick(s, "GET", "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "FOO")
		path = query(path, "dryRun", s.sometimes(30, "All", "All", "x", ""), "fieldManager", s.sometimes(15, "m", "a b", "\u0001"), "fieldValidation", s.sometimes(15, "Strict", "Ignore", "Warn", "x", "strict"),
			"force", s.sometimes(10, "true", "false", "x"), "pretty", s.sometimes(10, "true", "0", "x"), "limit", s.sometimes(5, "x", "1"), "watch", s.sometimes(4, "x", "0"), "resourceVersion", s.sometimes(5, "x", "0"))
		var body any
		if method != "GET" && method != "HEAD" && s.chance(85) {
			body = s.oddBody(k)
		}
		step := s.send(method, path, body)
		if body != nil && (method == "PATCH" || s.chance(25)) {
			header(step, "Content-Type", s.contentType(method))
		}
		if s.chance(35) {
			header(step, "Accept", pick(s, s.accept(), s.oddAccept()))
		}
		s.oddHeaders(step)
		if plain, _, _ := strings.Cut(path, "?"); slices.Contains(own, strings.TrimRight(plain, "/")) {
			step.Only = []string{}
		}
	}
}

// own are paths whose documents have what other stories made, or what only one server has.
var own = []string{"", "/index.html", "/api", "/apis", "/openapi/v2", "/openapi/v3", "/metrics", "/version", "/openid/v1/jwks", "/.well-known/openid-configuration"}

// oddPath returns a path of a collection, an object, a subresource, or one beside the API.
func (s *story) oddPath(k kind) string {
	if s.chance(70) {
		return pick(s, k.path, k.on("o"), k.on("o"), k.on("p"), k.on("o")+"/status", k.on("o")+"/scale", k.on("o")+"/unknown")
	}
	group := pick(s, "/api/v1", "/apis/apps/v1", "/apis/apps", "/apis/none/v1", "/apis/apps/v9", "/api/v2", "/apis", "/api", "/apis/batch/v1", "/")
	tail := pick(s, "", "/", "//", "/namespaces/${ns}/pods", "/namespaces/${ns}/deployments", "/namespaces/${ns}", "/namespaces/${ns}/", "/namespaces//none", "/pods/?fieldSelector=metadata.namespace=${ns}", "/deployments?fieldSelector=metadata.namespace=${ns}", "/nodes/none", "/namespaces/${ns}/configmaps/o/", "/namespaces/${ns}/configmaps/a/b/c/d",
		"/namespaces/${ns}/configmaps/%2e%2e", "/namespaces/${ns}/configmaps/a%2Fb", "/namespaces/${ns}/Configmaps", "/watch/namespaces/${ns}/configmaps/o?timeoutSeconds=1", "/proxy/namespaces/${ns}/pods/o", "/namespaces/${ns}/finalize", "/namespaces/${ns}/pods/o/log", "/namespaces/${ns}/bindings", "/unknown")
	if s.chance(30) {
		return pick(s, "/healthz", "/livez/ping", "/readyz/none", "/version", "/version/", "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/openapi/v3/none", "/logs", "/none", "/metrics/", "/.well-known/openid-configuration", "/openid/v1/jwks", "/healthz/", "/api/", "/apis/", "/debug", "/favicon.ico", "/index.html", "/swagger.json", "/ui")
	}
	return group + tail
}

// oddBody returns a body for a kind that is often not what a request should have.
func (s *story) oddBody(k kind) any {
	o := k.named(pick(s, "o", "p", "p", "", "A b"))
	switch s.IntN(12) {
	case 0, 1, 2:
		return o
	case 3, 4:
		return s.mutate(o)
	case 5:
		return pick[any](s, "", "{", "null", "[]", "1", `"x"`, "{}", "a: b", "{}{}", "\x00", "{\"metadata\":{\"name\":\"p\",\"name\":\"q\"}}", "# comment", "- a")
	case 6:
		o[pick(s, "kind", "apiVersion")] = pick[any](s, "", "Other", "v2", nil, 1, "a/b/c", "Status", "List", "apps/v1")
		return o
	case 7:
		delete(o, pick(s, "kind", "apiVersion", "metadata"))
		return o
	case 8:
		o["metadata"].(object)[pick(s, "namespace", "generateName", "uid", "resourceVersion", "labels", "selfLink", "generation", "name")] = s.scalar()
		return o
	case 9:
		return s.operationsFor(o)
	case 10:
		return object{"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": pick(s, "Background", "x")}
	}
	return object{"metadata": object{"labels": object{"a": pick(s, "b", "c")}}}
}

func (s *story) contentType(method string) string {
	if method == "PATCH" && s.chance(75) {
		return pick(s, jsonPatch, mergePatch, strategicPatch, applyPatch)
	}
	return pick(s, "application/json", "application/yaml", "text/plain", "application/vnd.kubernetes.protobuf", "application/json; charset=utf-8", "application/JSON", "", "application/xml", "application/merge-patch+json;a=b", "application/cbor", "application/apply-patch+cbor", "x", "application/json-seq", "*/*", "application/json,application/yaml")
}

func (s *story) oddAccept() string {
	return pick(s, "", "application/xml", "*", "application/json;stream=watch", "application/vnd.kubernetes.protobuf", "application/cbor", "application/json;as=Table;v=v1;g=meta.k8s.io;q=0", "application/json;as=;v=v1", "application/json;g=meta.k8s.io", ";", "application/json;as=Table", "text/html,application/json;q=0.1",
		"application/json;as=Table;v=v2;g=meta.k8s.io", "application/yaml;as=Table;v=v1;g=meta.k8s.io", "application/json;pretty=1", "APPLICATION/JSON", "application/json ; q=1", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1beta1")
}

// oddHeaders adds headers that change who asks or how.
func (s *story) oddHeaders(step *conversation.Step) {
	if s.chance(8) {
		header(step, "Impersonate-User", pick(s, "nobody", "", "system:admin", "alice"))
	}
	if s.chance(3) {
		header(step, pick(s, "Impersonate-Group", "Impersonate-Uid", "Impersonate-Extra-a", "Impersonate-Extra-A%20b"), "x")
	}
	if s.chance(4) {
		token := pick(s, "", "bad", "alice-token", "bob-token")
		step.Token = &token
	}
	if s.chance(3) {
		header(step, "X-HTTP-Method-Override", "DELETE")
	}
	if s.chance(3) {
		header(step, "If-None-Match", fmt.Sprintf("%q", "x"))
	}
	if s.chance(2) {
		header(step, "Audit-ID", "x")
	}
}
