package webhook_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/server"
)

// TestAuditAnnotations checks what the audit event of a request contains about the hooks that
// it went through, by the level of the event.
func TestAuditAnnotations(t *testing.T) {
	dir := t.TempDir()
	o := server.Options{}
	o.Audit.PolicyFile, o.Audit.Log.Path = filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "audit.log")
	const policy = `{apiVersion: audit.k8s.io/v1, kind: Policy, omitStages: [RequestReceived], rules: [
		{level: Metadata, verbs: [create], resources: [{resources: [configmaps]}], namespaces: [metadata]},
		{level: Request, verbs: [create], resources: [{resources: [configmaps]}], namespaces: [request]}]}`
	if err := os.WriteFile(o.Audit.PolicyFile, []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	base := start(t, o)
	for _, level := range []string{"metadata", "request"} {
		t.Run(level, func(t *testing.T) {
			f := base.subtest(t, level)
			ignore := admissionregistrationv1.Ignore
			f.mutating("a.example.com", f.serveReviews(func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
				r := patch(`[{"path":"/data","op":"add","value":{"k":"v"}}]`)
				r.AuditAnnotations = map[string]string{"note": "1"}
				return r
			}))
			f.mutating("b.example.com", f.serveReviews(func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse { return allow() }))
			f.validating("c.example.com", &hookServer{"https://127.0.0.1:1", nil}, func(w *admissionregistrationv1.ValidatingWebhook) { w.FailurePolicy = &ignore })
			if _, err := f.create("x", metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			configuration := level + "-"
			want := map[string]string{
				"authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": "",
				"mutation.webhook.admission.k8s.io/round_0_index_0": `{"configuration":"` + configuration + `a.example.com","webhook":"a.example.com","mutated":true}`,
				"mutation.webhook.admission.k8s.io/round_0_index_1": `{"configuration":"` + configuration + `b.example.com","webhook":"b.example.com","mutated":false}`,
				"a.example.com/note": "1",
				"failed-open.validating.webhook.admission.k8s.io/round_0_index_0": "c.example.com",
			}
			if level == "request" {
				want["patch.webhook.admission.k8s.io/round_0_index_0"] = `{"configuration":"` + configuration + `a.example.com","webhook":"a.example.com","patch":[{"op":"add","path":"/data","value":{"k":"v"}}],"patchType":"JSONPatch"}`
			}
			if got := lastAnnotations(t, o.Audit.Log.Path); !maps.Equal(got, want) {
				t.Errorf("%s:\n got %v\nwant %v", level, got, want)
			}
		})
	}
}

// lastAnnotations returns the annotations of the last event in a log, without durations.
func lastAnnotations(t *testing.T, path string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	var e struct{ Annotations map[string]string }
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &e); err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(e.Annotations, func(key, _ string) bool { return strings.HasPrefix(key, "apiserver.latency.k8s.io/") })
	return e.Annotations
}
