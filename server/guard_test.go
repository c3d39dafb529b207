package server

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const itself = "leads to this server itself"

// TestWebhookAtServerItself checks that no spelling of its own address makes the server call itself as an
// admission webhook.
func TestWebhookAtServerItself(t *testing.T) {
	s, admin := startWithClient(t, Options{})
	at, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	fail, none := admissionregistrationv1.Fail, admissionregistrationv1.SideEffectClassNone
	for i, host := range []string{"127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]"} {
		target := "https://" + host + ":" + at.Port() + "/version"
		name := fmt.Sprintf("itself%d.example.com", i)
		hooks := admin.AdmissionregistrationV1().ValidatingWebhookConfigurations()
		if _, err := hooks.Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}, Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: name, FailurePolicy: &fail, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &target, CABundle: s.CA},
			Rules: []admissionregistrationv1.RuleWithOperations{{Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}}}},
		}}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		_, err := admin.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if err == nil || !strings.Contains(err.Error(), itself) {
			t.Errorf("%s: %v", target, err)
		}
		if err := hooks.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestConfiguredWebhookAtServerItself checks the same for webhooks in kubeconfig files: those of
// authentication, authorization, image policies and the audit log.
func TestConfiguredWebhookAtServerItself(t *testing.T) {
	own := newOwnAddresses([]netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:6443")}, nil)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := `{"apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "k"}}],
		"clusters": [{"name": "k", "cluster": {"server": "https://localhost:6443/"}}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	unmeasured := func(t http.RoundTripper) http.RoundTripper { return t }
	client, target, err := newWebhookDialer(unmeasured, own.refuse, nil)(file)
	if err != nil {
		t.Fatal(err)
	}
	if w, err := client.Get(target); err == nil || !strings.Contains(err.Error(), itself) {
		t.Errorf("%v, %v", w, err)
	}
}
