package server

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// auditEvent is the part of an event that the tests look at.
type auditEvent struct {
	Level, Stage, Verb, RequestURI string
	User, ImpersonatedUser         struct{ Username string }
	ObjectRef                      struct{ Resource, Name, Subresource string }
	ResponseStatus                 metav1.Status
	RequestObject, ResponseObject  json.RawMessage
	SourceIPs                      []string
	Annotations                    map[string]string
}

// writeAuditPolicy writes a policy with some rules, each on a line, and returns its path.
func writeAuditPolicy(t *testing.T, rules string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(path, []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules:\n"+rules), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// readAudit returns the events in a log, and its text.
func readAudit(t *testing.T, path string) (events []auditEvent, text string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var e auditEvent
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		events = append(events, e)
	}
	return events, string(data)
}

// TestAudit checks the annotations of the events of requests that layers behind the chain
// annotate, and that the log has no credential.
func TestAudit(t *testing.T) {
	o := Options{}
	o.Audit.PolicyFile = writeAuditPolicy(t, `
- {level: None, users: ["system:apiserver"]}
- {level: Metadata}
`)
	o.Audit.Log.Path = filepath.Join(t.TempDir(), "logs", "audit.log")
	s := run(t, o)
	c := clientOf(t, s.RESTConfig())
	last := func() (e auditEvent) {
		t.Helper()
		events, _ := readAudit(t, o.Audit.Log.Path)
		for i := len(events) - 1; i >= 0; i-- {
			if user := events[i].User.Username; !strings.HasPrefix(user, "system:kube-controller") && !strings.HasPrefix(user, "system:serviceaccount:kube-system:") {
				return events[i]
			}
		}
		t.Fatal("no events")
		return e
	}
	annotated := func(want map[string]string) {
		t.Helper()
		e := last()
		maps.DeleteFunc(e.Annotations, func(key, _ string) bool {
			return strings.HasPrefix(key, "authorization.k8s.io/") || strings.HasPrefix(key, "apiserver.latency.k8s.io/")
		})
		for key, value := range want {
			if got := e.Annotations[key]; !strings.HasPrefix(got, value) || got == "" {
				t.Errorf("%s %s: %s is %q, want %q", e.Verb, e.RequestURI, key, got, value)
			}
		}
		if len(e.Annotations) != len(want) {
			t.Errorf("%s %s: %v", e.Verb, e.RequestURI, e.Annotations)
		}
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns", Labels: map[string]string{"pod-security.kubernetes.io/audit": "restricted"}}}
	if _, err := c.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	annotated(nil)
	if e := last(); e.ResponseStatus.Code != 201 || e.ObjectRef.Name != "ns" || len(e.SourceIPs) != 1 || e.SourceIPs[0] != "127.0.0.1" || e.RequestObject != nil {
		t.Errorf("%+v", e)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	if _, err := c.CoreV1().Pods("ns").Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{"All"}}); err != nil {
		t.Fatal(err)
	}
	annotated(map[string]string{"pod-security.kubernetes.io/enforce-policy": "privileged:latest",
		"pod-security.kubernetes.io/audit-violations": `would violate PodSecurity "restricted:latest": allowPrivilegeEscalation != false`})
	if _, err := c.CoreV1().Endpoints("ns").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	annotated(map[string]string{"k8s.io/deprecated": "true"})
	token, err := c.CoreV1().ServiceAccounts("ns").CreateToken(t.Context(), "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	annotated(map[string]string{"authentication.kubernetes.io/issued-credential-id": "JTI="})
	if code, _ := get(t, raw(t, s), s.URL+"/api/v1/namespaces/ns/secrets", token.Status.Token); code != http.StatusForbidden {
		t.Errorf("got %d", code)
	}
	if e := last(); e.User.Username != "system:serviceaccount:ns:default" || e.Annotations["authorization.k8s.io/decision"] != "forbid" || e.ResponseStatus.Reason != metav1.StatusReasonForbidden {
		t.Errorf("%+v", e)
	}
	if code, _ := get(t, raw(t, s), s.URL+"/api/v1/namespaces/ns/secrets", "not-a-token"); code != http.StatusUnauthorized {
		t.Errorf("got %d", code)
	}
	if e := last(); e.Stage != "ResponseStarted" || e.ResponseStatus.Code != 401 || e.User.Username != "" || e.Annotations != nil {
		t.Errorf("%+v", e)
	}
	if code, _ := get(t, raw(t, s), s.URL+"/api/v1/namespaces/ns/pods/none/exec?command=a", s.Token); code != http.StatusNotFound {
		t.Errorf("got %d", code)
	}
	if e := last(); e.ObjectRef.Subresource != "exec" || e.ResponseStatus.Code != 404 {
		t.Errorf("%+v", e)
	}
	auditValidatingPolicy(t, c, annotated)
	if _, text := readAudit(t, o.Audit.Log.Path); strings.Contains(text, token.Status.Token) || strings.Contains(text, s.Token) || strings.Contains(text, "not-a-token") {
		t.Error("the log has a token")
	}
}

// auditValidatingPolicy checks the annotations of a policy that only audits.
func auditValidatingPolicy(t *testing.T, c *kubernetes.Clientset, annotated func(map[string]string)) {
	t.Helper()
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "size.example.com"}, Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{"CREATE"}, Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"secrets"}}}}}},
		Validations:      []admissionregistrationv1.Validation{{Expression: "size(object.data) > 5", Message: "too small"}},
		AuditAnnotations: []admissionregistrationv1.AuditAnnotation{{Key: "size", ValueExpression: "string(size(object.data))"}},
	}}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "binding"}, Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: policy.Name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Audit}}}
	if _, err := c.AdmissionregistrationV1().ValidatingAdmissionPolicies().Create(t.Context(), policy, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CoreV1().Secrets("ns").Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Data: map[string][]byte{"a": nil}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	annotated(map[string]string{"size.example.com/size": "1",
		"validation.policy.admission.k8s.io/validation_failure": `[{"message":"too small","policy":"size.example.com","binding":"binding","expressionIndex":0,"validationActions":["Audit"]}]`})
}

// auditHook is a webhook that receives events.
type auditHook struct {
	*httptest.Server
	mu     sync.Mutex
	events []auditEvent
}

func newAuditHook(t *testing.T) *auditHook {
	h := &auditHook{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var list struct{ Items []auditEvent }
		data, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(data, &list)
		}
		if err != nil {
			t.Error(err)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.events = append(h.events, list.Items...)
	}))
	t.Cleanup(h.Close)
	return h
}

// kubeconfig returns the path of a kubeconfig file for the webhook.
func (h *auditHook) kubeconfig(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := `{apiVersion: v1, kind: Config, clusters: [{name: a, cluster: {server: "` + h.URL + `/events"}}], contexts: [{name: a, context: {cluster: a}}], current-context: a}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestAuditEnd checks that a server that stops sends the events that wait.
func TestAuditEnd(t *testing.T) {
	h := newAuditHook(t)
	o := Options{}
	o.Audit.PolicyFile = writeAuditPolicy(t, "- {level: Metadata, nonResourceURLs: [/version]}\n")
	o.Audit.Webhook.ConfigFile, o.Audit.Webhook.Backend.BatchWait = h.kubeconfig(t), time.Hour
	o.Audit.Log.Path, o.Audit.Log.Backend.Mode = filepath.Join(t.TempDir(), "audit.log"), "batch"
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	client := raw(t, s)
	for range 1000 {
		if code, _ := get(t, client, s.URL+"/version", s.Token); code != http.StatusOK {
			t.Fatal(code)
		}
	}
	halt(t, s)
	if n := len(h.events); n != 1000 {
		t.Errorf("the webhook has %d events", n)
	}
	if events, _ := readAudit(t, o.Audit.Log.Path); len(events) != 1000 {
		t.Errorf("the log has %d events", len(events))
	}
}

// TestFlushTime checks that the backends have time for the events that wait even if the time for the stop
// of the server is over.
func TestFlushTime(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	short, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	long, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	for name, ctx := range map[string]context.Context{"ended": ended, "short": short, "long": long, "unlimited": context.Background()} {
		got, cancel := withFlushTime(ctx)
		end, ok := got.Deadline()
		if got.Err() != nil || ok && time.Until(end) < auditFlushTime-time.Second {
			t.Errorf("%s: %v, until %v", name, got.Err(), end)
		}
		cancel()
	}
}

// TestAuditFaults checks that a server does not start with an audit log that it cannot write.
func TestAuditFaults(t *testing.T) {
	valid := writeAuditPolicy(t, "- {level: Metadata}\n")
	for want, audit := range map[string]Audit{
		"--audit-policy-file: loading audit policy file: failed to read file path \"none\"":          {PolicyFile: "none"},
		"--audit-policy-file: loading audit policy file: rules[0].level: Unsupported value: \"All\"": {PolicyFile: writeAuditPolicy(t, "- {level: All}\n")},
		"--audit-webhook-config-file: initializing audit webhook: ":                                  {PolicyFile: valid, Webhook: AuditWebhook{ConfigFile: "none"}},
		"--audit-log-path: audit log: ":                                                              {PolicyFile: valid, Log: AuditLog{Path: valid + "/audit.log"}},
		"--audit-log-mode: \"x\" is none of batch, blocking, blocking-strict":                        {PolicyFile: valid, Log: AuditLog{Path: "-", Backend: AuditBackend{Mode: "x"}}},
		"--audit-log-path: invalid audit truncate log max event size -1, must be a positive number":  {PolicyFile: valid, Log: AuditLog{Path: "-", Backend: AuditBackend{MaxEventSize: -1}}},
	} {
		s, err := Start(t.Context(), Options{Audit: audit})
		if err == nil {
			halt(t, s)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
