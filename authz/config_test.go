package authz

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	authorizationv1 "k8s.io/api/authorization/v1"
	authorizationv1beta1 "k8s.io/api/authorization/v1beta1"

	"github.com/miniapiserver/miniapiserver/internal/configmetrics"
	"github.com/miniapiserver/miniapiserver/internal/hooks"
	"github.com/miniapiserver/miniapiserver/internal/seriestest"
	"github.com/miniapiserver/miniapiserver/request"
)

// hook is a webhook with a configurable response that records the last request.
type hook struct {
	asked  atomic.Int32
	last   []byte
	status authorizationv1.SubjectAccessReviewStatus
	code   int
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.asked.Add(1)
	buf := make([]byte, 1<<16)
	n, _ := r.Body.Read(buf)
	h.last = buf[:n]
	if h.code != 0 {
		w.WriteHeader(h.code)
		return
	}
	_ = json.NewEncoder(w).Encode(authorizationv1.SubjectAccessReview{Status: h.status})
}

func newBuilder(t *testing.T, h http.Handler) *Builder {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	metrics, err := NewMetrics(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &Builder{RBAC: rbacOf(someRoles), Node: &Node{}, Metrics: metrics, Logger: slog.New(slog.DiscardHandler),
		Dial: func(file string) (*http.Client, string, error) {
			if file != "hook" {
				return nil, "", errors.New("no such file")
			}
			return server.Client(), server.URL, nil
		}}
}

const hookChoice = `
- type: Webhook
  name: hook
  webhook:
    timeout: 3s
    subjectAccessReviewVersion: v1
    matchConditionSubjectAccessReviewVersion: v1
    failurePolicy: Deny
    authorizedTTL: 5m
    unauthorizedTTL: 30s
    connectionInfo: {type: KubeConfigFile, kubeConfigFile: hook}
    matchConditions:
    - expression: has(request.resourceAttributes)
    - expression: request.resourceAttributes.namespace != 'kube-system' && !('system:nodes' in request.groups)
`

func configFile(t *testing.T, authorizers string) string {
	return writeFile(t, "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers:"+authorizers)
}

func TestWebhook(t *testing.T) {
	h := &hook{}
	a, err := newBuilder(t, h).BuildFile(configFile(t, hookChoice))
	if err != nil {
		t.Fatal(err)
	}
	user := &request.User{Name: "jane", UID: "7", Groups: []string{"dev"}, Extra: map[string][]string{"k": {"v"}}}
	ask := func(path string) (Decision, string, error) {
		info := request.Parse(httptest.NewRequest("GET", path, nil))
		return a.Authorize(t.Context(), user, &info)
	}
	h.status = authorizationv1.SubjectAccessReviewStatus{Allowed: true, Reason: "because"}
	for range 2 { // the second decision comes from the cache
		if got, reason, err := ask("/api/v1/namespaces/ns/pods?fieldSelector=spec.nodeName%3Dn&labelSelector=a+in+(b,c)"); got != Allow || reason != "because" || err != nil {
			t.Errorf("allowed: %v, %q, %v", got, reason, err)
		}
	}
	if n := h.asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
	const question = `"spec":{"resourceAttributes":{"namespace":"ns","verb":"list","version":"v1","resource":"pods",` +
		`"fieldSelector":{"requirements":[{"key":"spec.nodeName","operator":"In","values":["n"]}]},` +
		`"labelSelector":{"requirements":[{"key":"a","operator":"In","values":["b","c"]}]}},` +
		`"user":"jane","groups":["dev"],"extra":{"k":["v"]},"uid":"7"}`
	if !strings.Contains(string(h.last), question) || !strings.Contains(string(h.last), `"apiVersion":"authorization.k8s.io/v1"`) {
		t.Errorf("asked %s", h.last)
	}
	for _, path := range []string{"/metrics", "/api/v1/namespaces/kube-system/pods"} { // excluded by the match conditions
		if got, _, err := ask(path); got != NoOpinion || err != nil {
			t.Errorf("%s: %v, %v", path, got, err)
		}
	}
	h.status = authorizationv1.SubjectAccessReviewStatus{Denied: true, Reason: "no"}
	if got, reason, err := ask("/api/v1/namespaces/ns/secrets"); got != Deny || reason != "no" || err != nil {
		t.Errorf("denied: %v, %q, %v", got, reason, err)
	}
	h.status.Allowed = true
	if got, _, err := ask("/api/v1/namespaces/ns/configmaps"); got != Deny || err == nil {
		t.Errorf("a contradiction: %v, %v", got, err)
	}
	h.code = http.StatusForbidden
	if got, _, err := ask("/api/v1/namespaces/ns/events"); got != Deny || err == nil {
		t.Errorf("a failure: %v, %v", got, err)
	}
	if n := h.asked.Load(); n != 4 {
		t.Errorf("asked %d times", n)
	}
}

// TestWebhookWithoutStatus checks that a webhook which answers without a status has no opinion, and that an
// answer of another kind is an error.
func TestWebhookWithoutStatus(t *testing.T) {
	for text, fails := range map[string]bool{`{}`: false, `{"kind":"SubjectAccessReview"}`: false, `{"status":{}}`: false, `{"kind":"Pod"}`: true, `x`: true} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }))
		w := newWebhook(WebhookConfig{Client: server.Client(), URL: server.URL, Metrics: newBuilder(t, &hook{}).Metrics})
		if got, _, err := w.Authorize(t.Context(), &request.User{}, &request.Info{Verb: "get", Path: "/x"}); got != NoOpinion || (err != nil) != fails {
			t.Errorf("%s: %v, %v", text, got, err)
		}
		server.Close()
	}
}

func TestWebhookRetriesAndVersion(t *testing.T) {
	h := &hook{code: http.StatusInternalServerError}
	server := httptest.NewServer(h)
	defer server.Close()
	w := newWebhook(WebhookConfig{Client: server.Client(), URL: server.URL, V1beta1: true, Backoff: time.Microsecond, Metrics: newBuilder(t, h).Metrics})
	info := request.Info{Verb: "get", Path: "/x"}
	if got, _, err := w.Authorize(t.Context(), &request.User{Groups: []string{"g"}}, &info); got != NoOpinion || err == nil {
		t.Errorf("got %v, %v", got, err)
	}
	if n := h.asked.Load(); n != hooks.MaxAttempts {
		t.Errorf("%d tries", n)
	}
	var q authorizationv1beta1.SubjectAccessReview
	if err := json.Unmarshal(h.last, &q); err != nil || q.APIVersion != "authorization.k8s.io/v1beta1" || q.Spec.Groups[0] != "g" || q.Spec.NonResourceAttributes.Path != "/x" {
		t.Errorf("asked %s: %v", h.last, err)
	}
}

func TestConfigurationFaults(t *testing.T) {
	b := newBuilder(t, &hook{})
	for authorizers, fault := range map[string]string{
		" []":                                "at least one",
		"\n- {type: RBAC}":                   "authorizers[0].name: Required",
		"\n- {type: Magic, name: a}":         "authorizers[0].type: Unsupported",
		"\n- {type: RBAC, name: a, more: 1}": "unknown field",
		"\n- {type: Webhook, name: a}":       "webhook: Required",
		"\n- {type: ABAC, name: a}":          "--authorization-policy-file",
		"\n- {type: RBAC, name: a}\n- {type: Node, name: a}":                                      "authorizers[1].name: Duplicate",
		"\n- {type: RBAC, name: a}\n- {type: RBAC, name: b}":                                      "authorizers[1].type: Duplicate",
		strings.Replace(hookChoice, "Deny", "Allow", 1):                                           "failurePolicy",
		strings.Replace(hookChoice, "kubeConfigFile: hook", "kubeConfigFile: none", 1):            "no such file",
		strings.Replace(hookChoice, "has(request.resourceAttributes)", "request.nothing == 1", 1): "compilation failed",
		strings.Replace(hookChoice, "has(request.resourceAttributes)", "request.user", 1):         "must evaluate to bool",
	} {
		if _, err := b.BuildFile(configFile(t, authorizers)); err == nil || !strings.Contains(err.Error(), fault) {
			t.Errorf("%s: got %v, want %s", authorizers, err, fault)
		}
	}
}

// TestReload checks that a changed configuration file is reloaded unless it is invalid.
func TestReload(t *testing.T) {
	builder := newBuilder(t, &hook{}) // outside of the bubble, since it waits for connections
	synctest.Test(t, func(t *testing.T) { testReload(t, builder) })
}

func testReload(t *testing.T, builder *Builder) {
	file := configFile(t, "\n- {type: AlwaysDeny, name: a}")
	reg := prometheus.NewPedanticRegistry()
	var err error
	if builder.Reloads, err = configmetrics.New(reg, configmetrics.Options{Name: "authorization", ServerID: "me", Stability: "BETA"}); err != nil {
		t.Fatal(err)
	}
	a, err := builder.BuildFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		content string
		want    Decision
	}{
		{"", NoOpinion},
		{"apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers: [{type: AlwaysAllow, name: a}]", Allow},
		{"{", Allow},
		{"apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers: [{type: AlwaysDeny, name: deny}]", NoOpinion},
	} {
		if step.content != "" {
			if err := os.WriteFile(file, []byte(step.content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * time.Second)
		if got, _, err := a.Authorize(t.Context(), &request.User{Name: "x"}, &request.Info{}); got != step.want || err != nil {
			t.Errorf("%q: got %v, %v", step.content, got, err)
		}
	}
	got, err := seriestest.Read(reg)
	const reloads = `apiserver_authorization_config_controller_automatic_reloads_total{apiserver_id_hash="sha256:2744ccd10c7533bd736ad890f9dd5cab2adb27b07d500b9493f29cdc420cb2e0",status=`
	if got[reloads+`"success"}`] != 2 || got[reloads+`"failure"}`] != 1 || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}
