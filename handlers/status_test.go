package handlers

import (
	"cmp"
	"strings"
	"testing"
)

// TestStatusWrites checks what writes of a status change and refuse, and which
// representations a subresource has, as in kube-apiserver.
func TestStatusWrites(t *testing.T) {
	h := newHandlerWith(t, nil, true)
	const (
		merge = "application/merge-patch+json"
		table = "application/json;as=Table;v=v1;g=meta.k8s.io"

		pods     = "/api/v1/namespaces/ns/pods"
		jobs     = "/apis/batch/v1/namespaces/ns/cronjobs"
		sets     = "/apis/apps/v1/namespaces/ns/replicasets"
		budgets  = "/apis/policy/v1/namespaces/ns/poddisruptionbudgets"
		schemas  = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
		policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
		services = "/apis/apiregistration.k8s.io/v1/apiservices"
	)
	for _, c := range []struct {
		request, body string
		header        []string
		code          int
		want          string
		count         int
	}{
		{"POST " + pods, `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}`, nil, 201, "", 0},
		{"GET " + pods + "/p/resize", "", []string{"Accept", table}, 406, "only the following media types are accepted", 1},
		{"GET " + pods + "/p/status", "", []string{"Accept", table}, 200, `"kind":"Table"`, 1},
		{"PATCH " + pods + "/p/status", `{"status":{"podIPs":[{}]}}`, []string{"Content-Type", merge}, 422, `podIP and podIPs must either both be set or both be unset","field":"status.podIPs"`, 1},
		{"PATCH " + pods + "/p/status", `{"status":{"containerStatuses":[{"name":"c","user":{"linux":{"uid":4294967295,"gid":1}}}]}}`, []string{"Content-Type", merge}, 200, "", 0},
		{"PATCH " + pods + "/p/status", `{"status":{"containerStatuses":[{"name":"c","user":{"linux":{"uid":4294967296,"gid":1}}}]}}`, []string{"Content-Type", merge}, 422, "must be between 0 and 4294967295, inclusive", 2},

		{"POST " + jobs, `{"metadata":{"name":"j"},"spec":{"schedule":"* * * * *","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}}}`, nil, 201, "", 0},
		{"PATCH " + jobs + "/j", `{"metadata":{"finalizers":["a"]}}`, []string{"Content-Type", merge}, 422, "metadata.finalizers", 2},
		{"PATCH " + jobs + "/j/status?dryRun=All", `{"metadata":{"finalizers":["a"]}}`, []string{"Content-Type", merge}, 200, `"finalizers":["a"]`, 1},

		{"POST " + sets, `{"metadata":{"name":"s"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`, nil, 201, "", 0},
		{"PUT " + sets + "/s/scale", `{"metadata":{"name":"s","namespace":"other"},"spec":{"replicas":2}}`, nil, 400, "the namespace of the provided object does not match the namespace sent on the request", 1},
		{"PATCH " + sets + "/s/scale", `{"metadata":{"namespace":"other"}}`, []string{"Content-Type", merge}, 400, "the namespace of the provided object does not match the namespace sent on the request", 1},
		{"PUT " + sets + "/s/scale", `{"metadata":{"name":"s"},"spec":{"replicas":2}}`, nil, 200, `"replicas":2`, 1},

		{"POST " + budgets, `{"metadata":{"name":"b"},"spec":{"minAvailable":1}}`, nil, 201, "", 0},
		{"PATCH " + budgets + "/b", `{"metadata":{"resourceVersion":null}}`, []string{"Content-Type", merge}, 422, "must be specified for an update", 2},
		{"PATCH " + budgets + "/b/status", `{"metadata":{"resourceVersion":"0"}}`, []string{"Content-Type", merge}, 422, "must be specified for an update", 2},
		{"PATCH " + pods + "/p", `{"metadata":{"resourceVersion":null}}`, []string{"Content-Type", merge}, 200, "", 0},

		{"POST " + schemas, `{"metadata":{"name":"f"},"spec":{"priorityLevelConfiguration":{"name":"exempt"}}}`, nil, 201, "", 0},
		{"PATCH " + schemas + "/f", `{"metadata":{"generateName":"Bad!"}}`, []string{"Content-Type", merge}, 422, "metadata.generateName", 2},
		{"PATCH " + schemas + "/f/status", `{"metadata":{"generateName":"Bad!","uid":"other"}}`, []string{"Content-Type", merge}, 200, "Bad", 0},

		{"POST " + policies, `{"metadata":{"name":"v"},"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"],"operations":["*"]}]},"validations":[{"expression":"true"}]}}`, nil, 201, "", 0},
		{"PATCH " + policies + "/v/status", `{"status":{"typeChecking":{"expressionWarnings":[{"warning":"w","fieldRef":"-a"}]}}}`, []string{"Content-Type", merge}, 422, "invalid JSONPath: cannot parse number -", 2},

		{"POST " + services, `{"metadata":{"name":"v1.x.example"},"spec":{"group":"x.example","version":"v1","groupPriorityMinimum":1,"versionPriority":1,"insecureSkipTLSVerify":true,"service":{"namespace":"ns","name":"s"}}}`, nil, 201, "", 0},
		{"PATCH " + services + "/v1.x.example", `{"metadata":{"uid":"other"}}`, []string{"Content-Type", merge}, 422, `"field":"metadata.uid"`, 2},
		{"GET " + services + "/v1.x.example/status", "", []string{"Accept", table}, 406, "only the following media types are accepted", 1},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		w := sendText(t, h, method, path, c.body, c.header...)
		if w.Code != c.code || c.want != "" && strings.Count(w.Body.String(), c.want) != c.count {
			t.Errorf("%s %s: %d %s, want %d with %q %d times", c.request, c.body, w.Code, w.Body, c.code, c.want, c.count)
		}
	}
}

// TestDuplicateOwners checks when a write drops duplicate owner references, by its warning.
func TestDuplicateOwners(t *testing.T) {
	h := newHandlerWith(t, nil, true)
	addMaps(t, h, "a")
	const (
		owners = `{"metadata":{"name":"a","ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u"},{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u"}]}}`
		before = "contains duplicate entries; API server"
		after  = "contains duplicate entries after mutating admission happens; API server"
	)
	for _, c := range []struct{ method, path, body, contentType, want string }{
		{"POST", mapsPath, strings.Replace(owners, `"a"`, `"b"`, 1), "application/json", before},
		{"PUT", mapsPath + "/a", owners, "application/json", before},
		{"PUT", mapsPath + "/b", strings.Replace(owners, `"a"`, `"b"`, 1), "application/json", before}, // not found
		{"PUT", mapsPath + "/a", strings.Replace(owners, `"a"`, `"a","namespace":"other"`, 1), "application/json", ""},
		{"PATCH", mapsPath + "/a", `{"metadata":{"ownerReferences":null}}`, "application/merge-patch+json", ""},
		{"PATCH", mapsPath + "/a", owners, "application/merge-patch+json", after},
	} {
		w := sendText(t, h, c.method, c.path, c.body, "Content-Type", c.contentType)
		if warnings := w.Header()["Warning"]; c.want == "" && len(warnings) > 0 || c.want != "" && (len(warnings) != 1 || !strings.Contains(warnings[0], c.want)) {
			t.Errorf("%s %s: %d %q, want %q", c.method, c.path, w.Code, warnings, c.want)
		}
	}
}

// TestTemplateGeneration checks that a DaemonSet whose annotation is not a number is refused in all
// kinds of writes.
func TestTemplateGeneration(t *testing.T) {
	h := newHandlerWith(t, nil, true)
	const (
		sets  = "/apis/apps/v1/namespaces/ns/daemonsets"
		fault = `strconv.ParseInt: parsing \"x\": invalid syntax`
	)
	body := func(generation string) string {
		return `{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"d","annotations":{"deprecated.daemonset.template.generation":"` + generation + `"}},` +
			`"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`
	}
	for _, c := range []struct {
		request, contentType, body string
		code                       int
		want                       string
	}{
		{"POST " + sets, "application/json", body("x"), 400, `DaemonSet in version \"v1\" cannot be handled as a DaemonSet: ` + fault},
		{"POST " + sets, "application/yaml", body("x"), 400, `DaemonSet in version \"v1\" cannot be handled as a DaemonSet: ` + fault},
		{"PATCH " + sets + "/d?fieldManager=m", "application/apply-patch+yaml", body("x"), 400, `failed to convert to unversioned (/d; apps/v1, Kind=DaemonSet): ` + fault},
		{"POST " + sets, "application/json", body("3"), 201, ""},
		{"PUT " + sets + "/d", "application/json", body("x"), 400, fault},
		{"PATCH " + sets + "/d", "application/merge-patch+json", body("x"), 422, fault},
		{"PATCH " + sets + "/d", "application/strategic-merge-patch+json", body("x"), 422, fault},
		{"PATCH " + sets + "/d", "application/json-patch+json", `[{"op":"add","path":"/metadata/annotations","value":{"deprecated.daemonset.template.generation":"x"}}]`, 422, fault},
		{"PATCH " + sets + "/d?fieldManager=m&force=true", "application/apply-patch+yaml", body("x"), 400, fault},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		w := sendText(t, h, method, path, c.body, "Content-Type", c.contentType)
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %s: got %d %s", c.request, c.contentType, w.Code, w.Body)
		}
	}
}

// TestWriteOrder checks the order of the checks of a write: the namespace and the name in the body,
// preconditions, and the resourceVersion, which comes after the duplicate owner references.
func TestWriteOrder(t *testing.T) {
	h := newHandlerWith(t, nil, true)
	addMaps(t, h, "a")
	const (
		merge, apply = "application/merge-patch+json", "application/apply-patch+yaml"
		namespace    = "the namespace of the provided object does not match the namespace sent on the request"
		unparsed     = `strconv.ParseUint: parsing \"x\": invalid syntax`
		kind         = `"kind":"ConfigMap","apiVersion":"v1",`
	)
	for _, c := range []struct {
		method, name, contentType, metadata string
		code                                int
		want                                string
	}{
		{"PUT", "a", "application/json", `"name":"b","namespace":"other","uid":"u","resourceVersion":"x"`, 400, namespace},
		{"PUT", "missing", "application/json", `"namespace":"other"`, 400, namespace},
		{"PUT", "a", "application/json", `"name":"a","uid":"u","resourceVersion":"x"`, 409, "Precondition failed: UID"},
		{"PUT", "a", "application/json", `"name":"a","resourceVersion":"x"`, 500, unparsed},
		{"PUT", "a", "application/json", `"name":"a","resourceVersion":"1"`, 409, "modified"},
		{"PUT", "a", "application/json", `"name":"a","resourceVersion":"00"`, 200, ""},
		{"PATCH", "a", merge, `"name":"b","namespace":"other","resourceVersion":"x"`, 400, namespace},
		{"PATCH", "a", merge, `"resourceVersion":"x"`, 500, unparsed},
		{"PATCH", "a", apply, `"name":"a","namespace":"other","uid":"u"`, 400, namespace},
		{"PATCH", "missing", apply, `"name":"missing","namespace":"other","uid":"u"`, 409, "uid mismatch"},
		{"PATCH", "missing", apply, `"name":"missing","resourceVersion":"x"`, 500, unparsed},
		{"PATCH", "missing", apply, `"name":"missing","resourceVersion":"1"`, 201, ""},
		{"PUT", "a", "application/json", `"name":"a","selfLink":"s"`, 200, `"selfLink":"s"`},
	} {
		w := sendText(t, h, c.method, mapsPath+"/"+c.name+"?dryRun=All&fieldManager=m", "{"+kind+`"metadata":{`+c.metadata+"}}", "Content-Type", c.contentType)
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %s %s: %d %s, want %d %q", c.method, c.name, c.metadata, w.Code, w.Body, c.code, c.want)
		}
	}
	for method, code := range map[string]int{"POST": 415, "PUT": 422} { // the media type of the body and the options
		if w := sendText(t, h, method, mapsPath+strings.Repeat("/a", len("POST")-len(method))+"?fieldValidation=x", "{}", "Content-Type", "text/plain"); w.Code != code {
			t.Errorf("%s with a wrong media type and a wrong option: %d %s", method, w.Code, w.Body)
		}
	}
	const stored = "{" + kind + `"metadata":{"name":"a","selfLink":"s"}}`
	if w := sendText(t, h, "PUT", mapsPath+"/a", stored); w.Code != 200 || strings.Contains(w.Body.String(), "selfLink") {
		t.Errorf("a selfLink that is not stored: %d %s", w.Code, w.Body)
	}
}

// TestMetadataErrors checks errors in metadata that depend on the kind or the version.
func TestMetadataErrors(t *testing.T) {
	h := newHandlerWith(t, nil, true)
	const (
		merge  = "application/merge-patch+json"
		limits = "/api/v1/namespaces/ns/limitranges"
		claims = "/api/v1/namespaces/ns/persistentvolumeclaims"
		pods   = "/api/v1/namespaces/ns/pods"
		event  = `"eventTime":"2026-01-02T03:04:05.000000Z","type":"Normal","reason":"r","action":"a","reportingInstance":"i","reportingController":"example.com/c"`
	)
	for _, c := range []struct {
		request, contentType, body string
		code                       int
		want                       string
		count                      int
	}{
		{"POST /api/v1/namespaces", "", `{"metadata":{"generateName":".."}}`, 422, "metadata.labels", 0},
		{"POST " + limits, "", `{"metadata":{"name":"l"}}`, 201, "", 0},
		{"PATCH " + limits + "/l", merge, `{"metadata":{"generateName":"a b"},"spec":{"limits":[{"type":"-"}]}}`, 422, `"field":"metadata.generateName"},{"reason":"FieldValueInvalid","message":"Invalid value: \"-\"`, 1},
		{"POST /api/v1/namespaces/ns/events", "", `{"metadata":{"name":"e","finalizers":["a"]},"involvedObject":{"namespace":"ns"}}`, 201, "", 0},
		{"POST /apis/events.k8s.io/v1/namespaces/ns/events", "", `{"metadata":{"name":"f","finalizers":["a"]},"regarding":{"namespace":"ns"},` + event + `}`, 422, "metadata.finalizers[0]", 2},
		{"POST " + claims, "", `{"metadata":{"name":"c"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1"}},"dataSourceRef":{"apiGroup":"a","kind":"k","name":"n"}}}`, 201, "", 0},
		{"PATCH " + claims + "/c", merge, `{"spec":{"dataSourceRef":{"apiGroup":".."}}}`, 422, "dataSourceRef.apiGroup", 0},
		{"POST " + pods, "", `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}`, 201, "", 0},
		{"PATCH " + pods + "/p/resize", merge, `{"metadata":{"deletionGracePeriodSeconds":5,"generateName":".."}}`, 422, `"field":"metadata.`, 2},
		{"POST /api/v1/nodes", "", `{"metadata":{"name":"n"}}`, 201, "", 0},
		{"PATCH /api/v1/nodes/n", merge, `{"metadata":{"generateName":"a b","finalizers":["c"]}}`, 422, `"field":"metadata.generateName"},{"reason":"FieldValueInvalid","message":"Invalid value: \"c\"`, 1},
		{"PATCH /api/v1/nodes/n/status", merge, `{"metadata":{"generateName":"a b"}}`, 200, "", 0},
		{"POST /api/v1/namespaces/ns/podtemplates", "", `{"metadata":{"name":"t"},"template":{"metadata":{"managedFields":[{}]},"spec":{"containers":[{"name":"c","image":"i"}]}}}`, 201, `"f:managedFields":{}`, 1},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		w := sendText(t, h, method, path, c.body, "Content-Type", cmp.Or(c.contentType, "application/json"), "User-Agent", "test")
		if w.Code != c.code || c.want != "" && strings.Count(w.Body.String(), c.want) != c.count {
			t.Errorf("%s %s: %d %s, want %d with %q %d times", c.request, c.body, w.Code, w.Body, c.code, c.want, c.count)
		}
	}
}
