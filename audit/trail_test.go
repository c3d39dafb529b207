package audit

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/request"
)

// TestStages checks the events of requests that end in different ways.
func TestStages(t *testing.T) {
	watch := func(r *http.Request, _ *request.Scope) { r.URL.Path, r.URL.RawQuery = "/api/v1/pods", "watch=1" }
	for _, c := range []struct {
		name   string
		policy string
		change func(*http.Request, *request.Scope)
		end    func(*Trail)
		stages string
		status string
	}{
		{"get", "- {level: Metadata}", nil, func(t *Trail) { t.Started(200); t.Complete() }, "RequestReceived ResponseComplete", `{"metadata":{},"code":200}`},
		{"without a response", "- {level: Metadata}", nil, (*Trail).Complete, "RequestReceived ResponseComplete",
			`{"metadata":{},"status":"Success","message":"Connection closed early","code":200}`},
		{"watch", "- {level: Metadata}", watch, func(t *Trail) { t.Started(200); t.Started(500); t.Complete() }, "RequestReceived ResponseStarted ResponseComplete", `{"metadata":{},"code":200}`},
		{"watch without a response", "- {level: Metadata}", watch, (*Trail).Complete, "RequestReceived ResponseStarted ResponseComplete",
			`{"metadata":{},"status":"Success","message":"Connection closed early","code":200}`},
		{"panic", "- {level: Metadata}", nil, func(t *Trail) { t.Panicked(errors.New("no")) }, "RequestReceived Panic",
			`{"metadata":{},"status":"Failure","message":"APIServer panic'd: no","reason":"InternalError","code":500}`},
		{"omitted", "- {level: Metadata, omitStages: [RequestReceived, ResponseStarted]}", watch, func(t *Trail) { t.Started(200); t.Complete() }, "ResponseComplete", `{"metadata":{},"code":200}`},
		{"error", "- {level: Metadata}", nil, func(t *Trail) {
			t.scope.Audit.ResponseStatus = &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Status: "Failure", Reason: "Gone", Message: "m", Code: 410}
			t.Started(410)
			t.Complete()
		}, "RequestReceived ResponseComplete", `{"metadata":{},"status":"Failure","message":"m","reason":"Gone","code":410}`},
	} {
		out := &lines{}
		a, reg := auditor(t, Config{Log: logTo(out, ModeBlocking), Policy: mustParse(t, policyOf(c.policy))})
		trail, _ := begin(t, a, c.change)
		if !trail.Received() {
			t.Errorf("%s: refused", c.name)
		}
		c.end(trail)
		events := out.events(t)
		if got := out.stages(t); got != c.stages {
			t.Errorf("%s: got %s, want %s", c.name, got, c.stages)
			continue
		}
		var want any
		if err := json.Unmarshal([]byte(c.status), &want); err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if got := e["responseStatus"]; e["stage"] != "RequestReceived" && !reflect.DeepEqual(got, want) {
				t.Errorf("%s, %s: got %v, want %v", c.name, e["stage"], got, want)
			}
		}
		if n := counted(t, reg, "apiserver_audit_event_total", ""); int(n) != len(events) {
			t.Errorf("%s: %v events are counted", c.name, n)
		}
		if n := counted(t, reg, "apiserver_audit_level_total", "Metadata"); n != 1 {
			t.Errorf("%s: %v requests are counted", c.name, n)
		}
	}
}

// TestEvent checks the fields of the events of one request.
func TestEvent(t *testing.T) {
	out := &lines{}
	at := time.Unix(5, 0)
	a, _ := auditor(t, Config{Log: logTo(out, ModeBlocking), Now: func() time.Time { return at }})
	trail, scope := begin(t, a, func(r *http.Request, s *request.Scope) {
		r.Method, r.URL.Path, r.URL.RawQuery = http.MethodPost, "/apis/apps/v1/namespaces/ns/deployments", "dryRun=All"
		r.Header = http.Header{"User-Agent": {strings.Repeat("u", 2000)}, "X-Forwarded-For": {"10.0.0.1, 10.0.0.2"}, "X-Real-Ip": {"10.0.0.3"}, "Authorization": {"Bearer secret-token"}, "Cookie": {"secret-cookie"}}
		r.RemoteAddr = "10.0.0.4:123"
		s.Annotate("early", "1")
	})
	trail.Received()
	scope.Annotate("late", "2")
	scope.Impersonator, scope.User = scope.User, &request.User{Name: "joe", Groups: []string{"g"}}
	scope.Audit.Constraint = "impersonate:user-info"
	scope.Audit.BodyMeta = &request.AuditMeta{Namespace: "other", Name: "web", UID: "u", ResourceVersion: "7"}
	scope.Audit.RequestObject, scope.Audit.ResponseObject = []byte(`{"a":1}`), []byte(`{"b":2}`)
	scope.Durations.Add(request.PartEtcd, 3*time.Second)
	trail.Started(201)
	trail.Complete()
	events := out.events(t)
	if len(events) != 2 {
		t.Fatal(out)
	}
	if strings.Contains(out.String(), "secret") {
		t.Error("a credential is recorded")
	}
	const common = `"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"RequestResponse","auditID":"id-1","requestURI":"/apis/apps/v1/namespaces/ns/deployments?dryRun=All","verb":"create",
		"user":{"username":"jane"},"sourceIPs":["10.0.0.1","10.0.0.2","10.0.0.3","10.0.0.4"],"requestReceivedTimestamp":"1970-01-01T00:00:01.000002Z",`
	for i, text := range []string{
		`{` + common + `"stage":"RequestReceived","stageTimestamp":"1970-01-01T00:00:01.000002Z","annotations":{"early":"1"},
			"objectRef":{"resource":"deployments","namespace":"ns","apiGroup":"apps","apiVersion":"v1"}}`,
		`{` + common + `"stage":"ResponseComplete","stageTimestamp":"1970-01-01T00:00:05.000000Z","impersonatedUser":{"username":"joe","groups":["g"]},
			"authenticationMetadata":{"impersonationConstraint":"impersonate:user-info"},
			"annotations":{"early":"1","late":"2","apiserver.latency.k8s.io/etcd":"3s","apiserver.latency.k8s.io/total":"3.999998s"},"requestObject":{"a":1},"responseObject":{"b":2},"responseStatus":{"metadata":{},"code":201},
			"objectRef":{"resource":"deployments","namespace":"ns","name":"web","uid":"u","resourceVersion":"7","apiGroup":"apps","apiVersion":"v1"}}`,
	} {
		var want map[string]any
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		if agent := events[i]["userAgent"]; agent != strings.Repeat("u", 1024)+"...TRUNCATED" {
			t.Errorf("user agent %v", agent)
		}
		delete(events[i], "userAgent")
		if !reflect.DeepEqual(events[i], want) {
			t.Errorf("event %d:\n got %v\nwant %v", i, events[i], want)
		}
	}
}

// TestNone checks that requests of level None have no trail.
func TestNone(t *testing.T) {
	out := &lines{}
	a, reg := auditor(t, Config{Log: logTo(out, ModeBlocking), Policy: mustParse(t, policyOf("- {level: None}"))})
	if trail, scope := begin(t, a, nil); trail != nil || scope.Audit != nil {
		t.Error("the request is audited")
	}
	if n := counted(t, reg, "apiserver_audit_level_total", "None"); n != 1 {
		t.Errorf("%v requests are counted", n)
	}
}

// TestUnauthenticated checks the only event of a request whose authentication failed.
func TestUnauthenticated(t *testing.T) {
	for want, change := range map[string]func(*http.Request){
		"Authentication failed, no credentials provided": func(*http.Request) {},
		"Authentication failed, attempted: bearer":       func(r *http.Request) { r.Header.Set("Authorization", "bearer secret") },
		"Authentication failed, attempted: basic, access_token, x509": func(r *http.Request) {
			r.SetBasicAuth("a", "secret")
			r.URL.RawQuery = url.Values{"access_token": {"t"}}.Encode()
			r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{}}}
		},
	} {
		out := &lines{}
		a, _ := auditor(t, Config{Log: logTo(out, ModeBlocking)})
		var refused *http.Request
		trail, _ := begin(t, a, func(r *http.Request, s *request.Scope) { change(r); s.User = nil; refused = r })
		trail.RefuseUnauthenticated(refused)
		trail.Started(401)
		events := out.events(t)
		if len(events) != 1 || events[0]["stage"] != "ResponseStarted" || strings.Contains(out.String(), "secret") {
			t.Fatal(out)
		}
		if got := events[0]["responseStatus"].(map[string]any); got["message"] != want || got["code"] != 401.0 {
			t.Errorf("got %v, want %s", got, want)
		}
		if user := events[0]["user"].(map[string]any); len(user) != 0 {
			t.Errorf("user %v", user)
		}
	}
}

func BenchmarkNone(b *testing.B) {
	a, _ := auditor(b, Config{Log: logTo(&lines{}, ModeBlocking), Policy: mustParse(b, policyOf(`
- {level: Metadata, users: [somebody]}
- {level: Metadata, userGroups: [dev]}
- {level: Request, resources: [{group: apps}, {resources: [secrets, configmaps, pods/exec]}]}
- {level: Metadata, nonResourceURLs: ["/healthz*", "/version"]}
- {level: None}`))})
	r := httptest.NewRequest(http.MethodGet, "/api/v1/namespaces/ns/pods/p", nil)
	scope := &request.Scope{User: &request.User{Name: "jane", Groups: []string{"qa", "system:authenticated"}}, Info: request.Parse(r)}
	b.ReportAllocs()
	for b.Loop() {
		if a.Begin(r, scope, time.Time{}) != nil {
			b.Fatal("the request is audited")
		}
	}
}

// TestTrailsAreReused checks that the events of a request have nothing of an earlier one, whose memory
// its trail uses.
func TestTrailsAreReused(t *testing.T) {
	out := &lines{}
	a, _ := auditor(t, Config{Log: logTo(out, ModeBlocking)})
	for i := range 100 {
		trail, scope := begin(t, a, func(r *http.Request, s *request.Scope) {
			s.ID = fmt.Sprint(i)
			if i%2 == 0 {
				r.Header.Set("User-Agent", "even")
			}
		})
		trail.Received()
		if i%2 == 0 {
			scope.Audit.BodyMeta = &request.AuditMeta{UID: "uid"}
			scope.Audit.ResponseStatus = &metav1.Status{Message: "no", Reason: "Why"}
		}
		trail.Started(200 + i)
		trail.Complete()
	}
	for i, e := range out.events(t) {
		number := i / 2
		if want := fmt.Sprint(number); e["auditID"] != want {
			t.Fatalf("event %d has the ID %v, want %s", i, e["auditID"], want)
		}
		if _, ok := e["userAgent"]; ok != (number%2 == 0) {
			t.Errorf("event %d: %v", i, e)
		}
		if i%2 == 0 {
			continue
		}
		status := e["responseStatus"].(map[string]any)
		if status["code"] != float64(200+number) || (status["reason"] == "Why") != (number%2 == 0) || (e["objectRef"].(map[string]any)["uid"] == "uid") != (number%2 == 0) {
			t.Errorf("event %d: %v", i, e)
		}
	}
}

// TestNoDurationsOfWatches checks that the events of a watch have no durations, however long it takes.
func TestNoDurationsOfWatches(t *testing.T) {
	for watch, want := range map[bool]string{false: `"apiserver.latency.k8s.io/total"`, true: ""} {
		out := &lines{}
		a, _ := auditor(t, Config{Log: logTo(out, ModeBlocking), Now: func() time.Time { return time.Unix(5, 0) }})
		trail, scope := begin(t, a, func(r *http.Request, _ *request.Scope) {
			r.URL.Path, r.URL.RawQuery = "/api/v1/pods", "watch="+strconv.FormatBool(watch)
		})
		scope.Durations.Add(request.PartAuthentication, time.Millisecond)
		trail.Started(200)
		trail.Complete()
		if !strings.Contains(out.String(), want) || watch && strings.Contains(out.String(), "latency") {
			t.Errorf("watch %t: %s", watch, out)
		}
	}
}
