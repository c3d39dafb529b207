package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/eventually"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// series returns the values in /metrics by the text before them.
func series(t *testing.T, s *Server) map[string]string {
	t.Helper()
	_, body := get(t, raw(t, s), s.URL+"/metrics", s.Token)
	out := map[string]string{}
	for line := range strings.Lines(body) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if at := strings.LastIndex(line, "} "); at >= 0 {
			name, value = line[:at+1], strings.TrimSpace(line[at+2:])
		}
		out[name] = value
	}
	return out
}

// TestCountedDecisions checks the metrics of Pod Security, of the durations of certificates, and of
// requests to webhooks, and DELETE /metrics.
func TestCountedDecisions(t *testing.T) {
	hook := httptest.NewTLSServer(http.NotFoundHandler())
	defer hook.Close()
	s := run(t, Options{})
	c := clientOf(t, s.RESTConfig())
	countPodSecurity(t, c)
	countCertificates(t, c, s.CA)
	countWebhook(t, c, hook)
	const pods = `request_operation="create",resource="pod",subresource=""`
	host := strings.TrimPrefix(hook.URL, "https://")
	want := map[string]string{
		`pod_security_evaluations_total{decision="allow",mode="enforce",policy_level="privileged",policy_version="latest",` + pods + `}`: "1",
		`pod_security_evaluations_total{decision="deny",mode="enforce",policy_level="baseline",policy_version="v1.30",` + pods + `}`:     "1",
		`pod_security_evaluations_total{decision="deny",mode="audit",policy_level="restricted",policy_version="future",` + pods + `}`:    "1",
		`apiserver_certificates_registry_csr_requested_duration_total{signerName="other"}`:                                               "2",
		`apiserver_certificates_registry_csr_honored_duration_total{signerName="other"}`:                                                 "1",
		`rest_client_requests_total{code="404",host="` + host + `",method="POST"}`:                                                       "1",
		`rest_client_request_duration_seconds_count{host="` + host + `",verb="POST"}`:                                                    "1",
	}
	got := series(t, s)
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s %q, want %s", name, got[name], value)
		}
	}
	if resp, body := send(t, raw(t, s), s, http.MethodDelete, "/metrics", "", ""); resp.StatusCode != http.StatusOK || body != "metrics reset\n" {
		t.Errorf("%s %q", resp.Status, body)
	}
	got = series(t, s)
	for name := range want {
		if value, ok := got[name]; ok {
			t.Errorf("after a reset: %s %s", name, value)
		}
	}
	without := run(t, Options{NoProfiling: true})
	// As in kube-apiserver, every method then reads the metrics.
	if resp, body := send(t, raw(t, without), without, http.MethodDelete, "/metrics", "", ""); resp.StatusCode != http.StatusOK || body == "metrics reset\n" {
		t.Errorf("without profiling: %s %.40q", resp.Status, body)
	}
}

// countPodSecurity creates a pod in a privileged namespace, and one that violates the levels of
// another.
func countPodSecurity(t *testing.T, c kubernetes.Interface) {
	t.Helper()
	strict := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "strict", Labels: map[string]string{
		"pod-security.kubernetes.io/enforce": "baseline", "pod-security.kubernetes.io/enforce-version": "v1.30",
		"pod-security.kubernetes.io/audit": "restricted", "pod-security.kubernetes.io/audit-version": "v1.99"}}}
	if _, err := c.CoreV1().Namespaces().Create(t.Context(), strict, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{HostNetwork: true, AutomountServiceAccountToken: new(bool),
		Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	eventually.Succeeds(t, "the service accounts exist", func() error {
		_, err := c.CoreV1().ServiceAccounts("default").Get(t.Context(), "default", metav1.GetOptions{})
		_, other := c.CoreV1().ServiceAccounts("strict").Get(t.Context(), "default", metav1.GetOptions{})
		return errors.Join(err, other)
	})
	if _, err := c.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := c.CoreV1().Pods("strict").Create(t.Context(), pod, metav1.CreateOptions{}); err == nil {
		t.Error("a pod violates the level")
	}
}

// countCertificates issues a certificate with about the requested duration, and one with another.
func countCertificates(t *testing.T, c kubernetes.Interface, issued []byte) {
	t.Helper()
	block, _ := pem.Decode(issued)
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		t.Fatal(err)
	}
	for i, seconds := range []int32{600, int32(certificate.NotAfter.Sub(certificate.NotBefore) / time.Second)} {
		csr := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("csr", i)}, Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request}), SignerName: "example.com/signer", ExpirationSeconds: &seconds,
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth}}}
		if csr, err = c.CertificatesV1().CertificateSigningRequests().Create(t.Context(), csr, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		csr.Status.Certificate = pem.EncodeToMemory(block)
		for _, dryRun := range [][]string{{metav1.DryRunAll}, nil} {
			if _, err = c.CertificatesV1().CertificateSigningRequests().UpdateStatus(t.Context(), csr, metav1.UpdateOptions{DryRun: dryRun}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// countWebhook sends one request to a webhook that fails.
func countWebhook(t *testing.T, c kubernetes.Interface, hook *httptest.Server) {
	t.Helper()
	ignore, none := admissionregistrationv1.Ignore, admissionregistrationv1.SideEffectClassNone
	_, err := c.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "v"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{Name: "v.example.com", FailurePolicy: &ignore, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			ClientConfig:    admissionregistrationv1.WebhookClientConfig{URL: &hook.URL, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.Certificate().Raw})},
			MatchConditions: []admissionregistrationv1.MatchCondition{{Name: "one", Expression: "request.name == 'counted'"}},
			Rules: []admissionregistrationv1.RuleWithOperations{{Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}}}}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = c.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "counted"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestCountedUpdates checks that updates are compared with the stored objects, and that the caches are compared with etcd while the
// gate is on.
func TestCountedUpdates(t *testing.T) {
	s := run(t, Options{})
	c := raw(t, s)
	const path = "/api/v1/namespaces/default/configmaps"
	send(t, c, s, http.MethodPost, path, "application/json", `{"metadata":{"name":"a"}}`)
	const fast = `apiserver_request_timestamp_comparison_time_count{code_path="unequal_objects_fast"}`
	before := series(t, s)[fast]
	send(t, c, s, http.MethodPatch, path+"/a", "application/merge-patch+json", `{"data":{"a":"1"}}`)
	if after := series(t, s)[fast]; after == before || after == "" {
		t.Errorf("%s: %q, then %q", fast, before, after)
	}
	for _, enabled := range []bool{true, false} {
		p := &builder{Server: &Server{o: Options{FeatureGates: map[string]bool{"DetectCacheInconsistency": enabled}}}}
		if got := p.etcdOptions(nil).CheckInterval > 0; got != enabled {
			t.Errorf("enabled %t: checks %t", enabled, got)
		}
	}
}
