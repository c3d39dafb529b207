package handlers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/audit"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// auditLog collects the events of a Handler.
type auditLog struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	fail bool
}

func (l *auditLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail {
		return 0, errors.New("disk full")
	}
	return l.buf.Write(line)
}

// take returns the events since the last call.
func (l *auditLog) take(t *testing.T) (events []map[string]any) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.buf.String()) {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		events = append(events, e)
	}
	l.buf.Reset()
	return events
}

// policyOf returns an audit policy with some rules.
func policyOf(t testing.TB, rules string) *audit.Policy {
	t.Helper()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: ["+rules+"]"), 0o600); err != nil {
		t.Fatal(err)
	}
	policy, _, err := audit.ReadPolicy(file)
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

// audited makes a Handler write its events to l, by a policy with some rules.
func audited(t *testing.T, l *auditLog, rules string) func(*Config) {
	t.Helper()
	a, err := audit.New(audit.Config{Policy: policyOf(t, rules), Log: &audit.LogConfig{Path: "-", Stdout: l, Format: audit.FormatJSON, Batch: audit.BatchConfig{Mode: audit.ModeBlockingStrict}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return func(c *Config) { c.Auditor = a }
}

// stages describes events by stage and code.
func stages(events []map[string]any) string {
	var all []string
	for _, e := range events {
		text := e["stage"].(string)
		if s, ok := e["responseStatus"].(map[string]any); ok {
			text += fmt.Sprint(" ", s["code"])
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// TestAuditOrder checks the events of requests that end in a step of the chain.
func TestAuditOrder(t *testing.T) {
	const path = "/api/v1/namespaces/ns/configmaps"
	for _, c := range []struct {
		name, target string
		headers      []string
		change       func(*Config)
		stages       string
		decision     any
	}{
		{"refused before authentication", "/api/v1/watch", nil, nil, "", nil},
		{"unauthenticated", path, nil, unknownUser, "ResponseStarted 401", nil},
		{"may not impersonate", path, []string{"Group", "others", "Impersonate-User", "a"}, nil, "RequestReceived, ResponseComplete 403", nil},
		{"may not impersonate for a watch", path + "?watch=1", []string{"Group", "others", "Impersonate-User", "a"}, nil, "RequestReceived, ResponseStarted 403, ResponseComplete 403", nil},
		{"bad timeout", path + "?timeout=x", []string{"Group", "testers"}, nil, "RequestReceived, ResponseComplete 400", nil},
		{"no room", path, []string{"Group", "testers"}, noRoom, "RequestReceived, ResponseComplete 429", nil},
		{"forbidden", path, []string{"Group", "others"}, nil, "RequestReceived, ResponseComplete 403", "forbid"},
		{"allowed", "/version", []string{"Group", "testers"}, nil, "RequestReceived, ResponseComplete 200", "allow"},
		{"panic", path, nil, func(c *Config) { c.Authorizer = panicking{} }, "RequestReceived, Panic 500", nil},
		{"panic of a watch", path + "?watch=1", nil, func(c *Config) { c.Authorizer = panicking{} }, "RequestReceived, Panic 500", nil},
	} {
		var log auditLog
		h := chainOnly(t, func(config *Config) {
			if audited(t, &log, "{level: Metadata}")(config); c.change != nil {
				c.change(config)
			}
		})
		through(h, httptest.NewRequest(http.MethodGet, c.target, nil), c.headers...)
		events := log.take(t)
		if got := stages(events); got != c.stages {
			t.Errorf("%s: got %q, want %q", c.name, got, c.stages)
		}
		if len(events) == 0 {
			continue
		}
		annotations, _ := events[len(events)-1]["annotations"].(map[string]any)
		if got := annotations[authorizationDecision]; got != c.decision {
			t.Errorf("%s: decision %v", c.name, got)
		}
	}
}

// TestAuditImpersonation checks that events name both users.
func TestAuditImpersonation(t *testing.T) {
	var log auditLog
	h := chainOnly(t, func(c *Config) {
		audited(t, &log, "{level: Metadata}")(c)
		c.Gates[features.ConstrainedImpersonation] = true
	})
	through(h, httptest.NewRequest(http.MethodGet, "/version", nil), "Impersonate-User", "jane")
	last := log.take(t)[1]
	if got := fmt.Sprint(last["user"], last["impersonatedUser"], last["authenticationMetadata"]); got !=
		"map[groups:[system:masters] username:somebody] map[groups:[system:authenticated] username:jane] map[impersonationConstraint:impersonate:user-info]" {
		t.Error(got)
	}
}

// TestAuditUnrecorded checks that a request whose arrival cannot be recorded is refused.
func TestAuditUnrecorded(t *testing.T) {
	log := auditLog{fail: true}
	h := chainOnly(t, audited(t, &log, "{level: None, nonResourceURLs: [/livez]}, {level: Metadata}"))
	w := through(h, httptest.NewRequest(http.MethodGet, "/version", nil))
	if w.Code != http.StatusInternalServerError || w.Body.String() != "Internal Server Error: \"/version\": failed to store audit event\n" {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if w := through(h, httptest.NewRequest(http.MethodGet, "/livez", nil)); w.Code != http.StatusOK {
		t.Errorf("a request that is not recorded gets %d", w.Code)
	}
}

// TestAuditObjects checks the objects in the events of each verb, whatever format the client
// uses.
func TestAuditObjects(t *testing.T) {
	var log auditLog
	h := newHandler(t, audited(t, &log, "{level: RequestResponse, omitStages: [RequestReceived], omitManagedFields: true}"))
	const maps = "/api/v1/namespaces/ns/configmaps"
	object := func(data string) string {
		return `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"ns"},"data":{"k":"` + data + `"}}`
	}
	item := func(data string) string {
		return `{"metadata":{"name":"a","namespace":"ns"},"data":{"k":"` + data + `"}}`
	}
	body := func(data string) string {
		return `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"data":{"k":"` + data + `"}}`
	}
	const notFound = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"configmaps \"b\" not found","reason":"NotFound","details":{"name":"b","kind":"configmaps"},"code":404}`
	for _, c := range []struct {
		method, path, body string
		headers            []string
		request, response  string
	}{
		{"POST", maps, body("1"), nil, body("1"), object("1")},
		{"GET", maps + "/a", "", []string{"Accept", "application/vnd.kubernetes.protobuf"}, "", object("1")},
		{"GET", maps, "", []string{"Accept", "application/yaml"}, "", `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{},"items":[` + item("1") + `]}`},
		{"GET", maps, "", []string{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}, "", `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{},"columnDefinitions":"*",
			"rows":[{"cells":"*","object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","namespace":"ns"}}}]}`},
		{"PUT", maps + "/a", "kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\ndata: {k: \"2\"}", []string{"Content-Type", "application/yaml"}, body("2"), object("2")},
		{"PATCH", maps + "/a", `{"data":{"k":"3"}}`, []string{"Content-Type", "application/merge-patch+json"}, `{"data":{"k":"3"}}`, object("3")},
		{"PATCH", maps + "/a", `{"data":`, []string{"Content-Type", "application/merge-patch+json"}, `"{\"data\":"`, "*"},
		{"DELETE", maps + "/b", `{"propagationPolicy":"Background"}`, nil, `{"kind":"DeleteOptions","apiVersion":"meta.k8s.io/__internal","propagationPolicy":"Background"}`, notFound},
		{"DELETE", maps, "", nil, "", `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{},"items":[` + item("3") + `]}`},
		{"DELETE", maps + "/b", "", nil, "", notFound},
		{"POST", maps, "{", nil, "", "*"},
		{"POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", `{"spec":{"namespace":"ns"}}`, nil, "*", "*"},
	} {
		log.take(t)
		headers := append([]string{"Content-Type", "application/json"}, c.headers...)
		w := through(h, httptest.NewRequest(c.method, c.path, strings.NewReader(c.body)), headers...)
		events := log.take(t)
		if len(events) != 1 {
			t.Errorf("%s %s: %d events", c.method, c.path, len(events))
			continue
		}
		for key, want := range map[string]string{"requestObject": c.request, "responseObject": c.response} {
			if got := events[0][key]; !sameJSON(t, got, want) {
				text, _ := json.Marshal(got)
				t.Errorf("%s %s, %s (code %d):\n got %s\nwant %s", c.method, c.path, key, w.Code, text, want)
			}
		}
	}
}

// sameJSON compares without the metadata that the server generates. A * matches anything but
// nothing.
func sameJSON(t *testing.T, got any, want string) bool {
	t.Helper()
	if want == "" || want == "*" {
		return (got != nil) == (want == "*")
	}
	var wanted any
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatalf("%s: %v", want, err)
	}
	return matches(got, wanted)
}

func matches(got, want any) bool {
	switch want := want.(type) {
	case string:
		return want == "*" || got == want
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return false
		}
		for i := range want {
			if !matches(list[i], want[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			return false
		}
		for _, generated := range []string{"uid", "resourceVersion", "creationTimestamp"} {
			delete(object, generated)
		}
		if len(object) != len(want) {
			return false
		}
		for key := range want {
			if !matches(object[key], want[key]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(got, want)
}

// TestAuditLevels checks that the lower levels contain no objects, and that the reference to
// a created object has its name.
func TestAuditLevels(t *testing.T) {
	for level, want := range map[string]string{"Metadata": "", "Request": "requestObject", "RequestResponse": "requestObject responseObject"} {
		var log auditLog
		h := newHandler(t, audited(t, &log, "{level: "+level+", omitStages: [RequestReceived]}"))
		through(h, httptest.NewRequest(http.MethodPost, "/api/v1/namespaces/ns/secrets", strings.NewReader(`{"metadata":{"name":"a"},"stringData":{"k":"hidden"}}`)))
		e := log.take(t)[0]
		var found []string
		for _, key := range []string{"requestObject", "responseObject"} {
			if e[key] != nil {
				found = append(found, key)
			}
		}
		if got := strings.Join(found, " "); got != want {
			t.Errorf("%s: got %s", level, got)
		}
		if got := e["objectRef"].(map[string]any)["name"]; got != "a" {
			t.Errorf("%s: the reference names %v", level, got)
		}
	}
}

// TestAuditWatch checks that a watch is recorded when it begins and when it ends.
func TestAuditWatch(t *testing.T) {
	var log auditLog
	h := newHandler(t, audited(t, &log, "{level: RequestResponse}"))
	begin := time.Now()
	through(h, httptest.NewRequest(http.MethodGet, "/api/v1/configmaps?watch=1&timeoutSeconds=1", nil))
	events := log.take(t)
	if got := stages(events); got != "RequestReceived, ResponseStarted 200, ResponseComplete 200" {
		t.Fatal(got)
	}
	started, err := time.Parse(time.RFC3339, events[1]["stageTimestamp"].(string))
	if err != nil {
		t.Fatal(err)
	}
	ended, err := time.Parse(time.RFC3339, events[2]["stageTimestamp"].(string))
	if err != nil || started.Before(begin.Truncate(time.Microsecond)) || ended.Sub(started) < time.Second/2 {
		t.Errorf("from %v to %v, %v", started, ended, err)
	}
}
