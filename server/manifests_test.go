package server

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Manifests of a policy that denies objects with the label deny, of one that sets a label, and of a
// webhook.
const (
	denyingManifest = `apiVersion: v1
kind: List
items:
- apiVersion: admissionregistration.k8s.io/v1
  kind: ValidatingAdmissionPolicy
  metadata: {name: deny.static.k8s.io}
  spec:
    matchConstraints:
      resourceRules:
      - {operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: [configmaps, validatingadmissionpolicybindings, selfsubjectaccessreviews]}
    validations: [{expression: "object.kind != 'SelfSubjectAccessReview'"}, {expression: "!('deny' in object.metadata.?labels.orValue({}))", message: denied by a file}]
- apiVersion: admissionregistration.k8s.io/v1
  kind: ValidatingAdmissionPolicyBinding
  metadata: {name: deny.static.k8s.io}
  spec: {policyName: deny.static.k8s.io, validationActions: [Deny]}
`
	labelingManifest = `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: label.static.k8s.io}
spec:
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules:
    - {operations: [CREATE], apiGroups: [""], apiVersions: ["*"], resources: [configmaps]}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {"file": "yes"}}}'}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: label.static.k8s.io}
spec: {policyName: label.static.k8s.io}
`
	webhookManifest = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: hooks.static.k8s.io}
webhooks:
- name: hook.example.com
  sideEffects: None
  admissionReviewVersions: [v1]
  clientConfig: {url: %q}
  failurePolicy: Fail
  rules: [{operations: [CREATE], apiGroups: ["*"], apiVersions: ["*"], resources: [secrets, validatingwebhookconfigurations]}]
`
)

// manifestOptions writes an AdmissionConfiguration and its manifests, and returns options that name
// it.
func manifestOptions(t *testing.T, manifests map[string]string) Options {
	t.Helper()
	config := "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n"
	for plugin, text := range manifests {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		kind := plugin + "Configuration"
		if strings.HasSuffix(plugin, "Webhook") {
			kind = "WebhookAdmissionConfiguration"
		}
		config += fmt.Sprintf("- name: %s\n  configuration: {apiVersion: apiserver.config.k8s.io/v1, kind: %s, staticManifestsDir: %q}\n", plugin, kind, dir)
	}
	file := filepath.Join(t.TempDir(), "admission.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return Options{Admission: Admission{ConfigFile: file}}
}

// TestAdmissionManifests checks that policies and webhooks in files apply, to the objects that
// configure admission too, and that no client can create one.
func TestAdmissionManifests(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	url := strings.Replace(closed.URL, "http:", "https:", 1)
	s := run(t, manifestOptions(t, map[string]string{
		"ValidatingAdmissionPolicy":  denyingManifest,
		"MutatingAdmissionPolicy":    labelingManifest,
		"ValidatingAdmissionWebhook": fmt.Sprintf(webhookManifest, url),
	}))
	c := raw(t, s)
	const (
		maps  = "/api/v1/namespaces/default/configmaps"
		group = "/apis/admissionregistration.k8s.io/v1/"
	)
	for _, test := range []struct {
		path, body string
		status     int
		want       string
	}{
		{maps, `{"metadata":{"name":"a"}}`, 201, `"file":"yes"`},
		{maps, `{"metadata":{"name":"b","labels":{"deny":"x"}}}`, 422,
			`configmaps \"b\" is forbidden: ValidatingAdmissionPolicy 'deny.static.k8s.io' with binding 'deny.static.k8s.io' denied request: denied by a file`},
		{group + "validatingadmissionpolicybindings", `{"metadata":{"name":"b","labels":{"deny":"x"}},"spec":{"policyName":"p","validationActions":["Deny"]}}`, 422, `denied by a file`},
		{"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", `{"spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}}`, 201, ""},
		{"/api/v1/namespaces/default/secrets", `{"metadata":{"name":"a"}}`, 500, `failed calling webhook \"hook.example.com\"`},
		{group + "validatingwebhookconfigurations", `{"metadata":{"name":"a"}}`, 500, `failed calling webhook \"hook.example.com\"`},
		{group + "validatingadmissionpolicybindings", `{"metadata":{"name":"a.static.k8s.io"},"spec":{"policyName":"p","validationActions":["Deny"]}}`, 422, `are reserved for static manifest-based configurations`},
	} {
		response, body := send(t, c, s, http.MethodPost, test.path, "", test.body)
		if response.StatusCode != test.status || !strings.Contains(body, test.want) {
			t.Errorf("%s %s: got %d %s, want %d ... %s", test.path, test.body, response.StatusCode, body, test.status, test.want)
		}
	}
	_, metrics := send(t, c, s, http.MethodGet, "/metrics", "", "")
	for _, plugin := range []string{"ValidatingAdmissionPolicy", "MutatingAdmissionPolicy", "ValidatingAdmissionWebhook"} {
		if !strings.Contains(metrics, fmt.Sprintf(`plugin=%q,status="success"} 1`, plugin)) {
			t.Errorf("no load of %s in the metrics", plugin)
		}
	}
}

// TestAdmissionManifestsRefused checks that a server does not start with an invalid manifest, unless
// its plugin is disabled.
func TestAdmissionManifestsRefused(t *testing.T) {
	const url = "https://localhost:1"
	for _, test := range []struct{ plugin, text, want string }{
		{"ValidatingAdmissionPolicy", strings.Replace(denyingManifest, "spec:\n    match", "spec:\n    paramKind: {apiVersion: v1, kind: ConfigMap}\n    match", 1), `ValidatingAdmissionPolicy "deny.static.k8s.io": spec.paramKind is not supported for static manifests`},
		{"ValidatingAdmissionPolicy", strings.Replace(denyingManifest, "validationActions", "paramRef: {name: x, parameterNotFoundAction: Deny}, validationActions", 1), `binding "deny.static.k8s.io": spec.paramRef is not supported for static manifests`},
		{"ValidatingAdmissionPolicy", strings.Replace(denyingManifest, "{policyName: deny.static", "{policyName: other.static", 1), `binding "deny.static.k8s.io" references policy "other.static.k8s.io" which does not exist in the manifest directory`},
		{"ValidatingAdmissionPolicy", strings.Replace(denyingManifest, "{policyName: deny.static.k8s.io", "{policyName: other", 1), `spec.policyName "other" must end with ".static.k8s.io"`},
		{"ValidatingAdmissionPolicy", strings.Replace(denyingManifest, "'deny' in object", "nonsense in object", 1), `undeclared reference to 'nonsense'`},
		{"ValidatingAdmissionPolicy", labelingManifest, `unsupported resource type *v1.MutatingAdmissionPolicy`},
		{"ValidatingAdmissionWebhook", strings.Replace(fmt.Sprintf(webhookManifest, url), "{url: \""+url+"\"}", "{service: {name: a, namespace: b}}", 1), `clientConfig.service is not supported for static manifests; use clientConfig.url instead`},
		{"MutatingAdmissionWebhook", fmt.Sprintf(webhookManifest, url), `unsupported resource type *v1.ValidatingWebhookConfiguration`},
	} {
		o := manifestOptions(t, map[string]string{test.plugin: test.text})
		s, err := Start(t.Context(), o)
		if err == nil {
			_ = s.Stop(context.WithoutCancel(t.Context()))
		}
		if want := fmt.Sprintf("couldn't init admission plugin %q: failed to load static ", test.plugin); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v\nwant %s ... %s", test.plugin, err, want, test.want)
		}
	}
	o := manifestOptions(t, map[string]string{"MutatingAdmissionPolicy": "nonsense"})
	o.Admission.DisablePlugins = []string{"MutatingAdmissionPolicy"}
	run(t, o)
}
