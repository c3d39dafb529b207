package server

import (
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/controllers"
	"github.com/miniapiserver/miniapiserver/internal/otlptest"
)

// traceHook is an admission webhook that allows everything and remembers the parent of its
// requests.
type traceHook struct {
	*httptest.Server
	mu      sync.Mutex
	parents map[string]string // by path
}

func newTraceHook(t *testing.T) *traceHook {
	h := &traceHook{parents: map[string]string{}}
	h.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		h.parents[r.URL.Path] = r.Header.Get("Traceparent")
		h.mu.Unlock()
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		_ = json.NewEncoder(w).Encode(&review)
	}))
	t.Cleanup(h.Close)
	return h
}

// roundTripper is a function as an http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// client returns the address of the hook under a path.
func (h *traceHook) client(path string) admissionregistrationv1.WebhookClientConfig {
	url := h.URL + path
	return admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw})}
}

// TestTraces checks that the trace of a write by an administrator continues that of the client,
// and goes on to webhooks and an external etcd, and that its spans are sent when the server stops.
func TestTraces(t *testing.T) {
	collector := otlptest.New(t, "tcp", "127.0.0.1:0")
	file := filepath.Join(t.TempDir(), "tracing.yaml")
	if err := os.WriteFile(file, []byte("apiVersion: apiserver.config.k8s.io/v1beta1\nkind: TracingConfiguration\nendpoint: "+collector.Endpoint), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Start(t.Context(), Options{TracingConfigFile: file, Etcd: Etcd{Servers: []string{externalEtcd(t)}},
		Controllers: Controllers{Off: controllers.Names()}})
	if err != nil {
		t.Fatal(err)
	}
	hook := newTraceHook(t)
	client := clientOf(t, s.RESTConfig())
	none := admissionregistrationv1.SideEffectClassNone
	rules := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{"CREATE"},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
	}}
	if _, err := client.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(t.Context(), &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "m"}, Webhooks: []admissionregistrationv1.MutatingWebhook{
			{Name: "m.example.com", ClientConfig: hook.client("/mutate"), Rules: rules, SideEffects: &none, AdmissionReviewVersions: []string{"v1"}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "v"}, Webhooks: []admissionregistrationv1.ValidatingWebhook{
			{Name: "v.example.com", ClientConfig: hook.client("/validate"), Rules: rules, SideEffects: &none, AdmissionReviewVersions: []string{"v1"}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	const id = "0af7651916cd43dd8448eb211c80319c"
	traced := rest.CopyConfig(s.RESTConfig())
	traced.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			r = r.Clone(r.Context())
			r.Header.Set("Traceparent", "00-"+id+"-b7ad6b7169203331-01")
			return next.RoundTrip(r)
		})
	})
	if _, err := clientOf(t, traced).CoreV1().ConfigMaps("default").Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	halt(t, s)

	parents, names := map[string]string{}, map[string]string{} // by span id
	for _, span := range collector.Spans() {
		if got := hex.EncodeToString(span.TraceId); got != id {
			t.Errorf("%s is in trace %s", span.Name, got)
		}
		parents[hex.EncodeToString(span.SpanId)], names[hex.EncodeToString(span.SpanId)] = hex.EncodeToString(span.ParentSpanId), span.Name
	}
	path := func(id string) string {
		var all []string
		for ; names[id] != ""; id = parents[id] {
			all = append([]string{names[id]}, all...)
		}
		return strings.Join(all, "/")
	}
	paths := map[string]bool{}
	for id := range names {
		paths[path(id)] = true
	}
	const request = "POST /api/v1/namespaces/{:namespace}/configmaps"
	for _, name := range []string{"authentication", "audit", "impersonation", "priorityandfairness", "authorization",
		"Create", "Create/Mutating admission", "Create/Mutating admission/Call mutating webhook",
		"Create/Validating admission/Call validating webhook", "Create/Create etcd3", "Create/Create etcd3/etcdserverpb.KV/Txn"} {
		if !paths[request+"/"+name] {
			t.Errorf("there is no span %s", name)
		}
	}
	if t.Failed() {
		t.Log(paths)
	}
	for path, name := range map[string]string{"/mutate": "Call mutating webhook", "/validate": "Call validating webhook"} {
		parts := strings.Split(hook.parents[path], "-")
		if len(parts) != 4 || parts[1] != id || names[parts[2]] != name || parts[3] != "01" {
			t.Errorf("the parent of the request to %s is %q", path, hook.parents[path])
		}
	}
}

// TestTracingFaults checks that errors name the flag and the file.
func TestTracingFaults(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tracing.yaml")
	if err := os.WriteFile(file, []byte("apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\nendpoint: http://x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{file: `--tracing-config-file: ` + file + `: endpoint: Invalid value: "http://x"`, file + "x": "--tracing-config-file: open " + file + "x"} {
		s, err := Start(t.Context(), Options{TracingConfigFile: name})
		if err == nil {
			halt(t, s)
		}
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
