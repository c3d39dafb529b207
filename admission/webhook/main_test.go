package webhook_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a server and a namespace in which hooks match config maps.
type fixture struct {
	*testing.T
	server   *server.Server
	client   kubernetes.Interface
	warnings *warnings
	ns       string
}

// start starts a server.
func start(t *testing.T, o server.Options) *fixture {
	t.Helper()
	// This controller writes config maps of its own.
	o.Controllers.Off = []string{"root-ca-certificate-publisher-controller"}
	srv, err := server.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := srv.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	f := &fixture{T: t, server: srv, warnings: &warnings{}}
	config := srv.RESTConfig()
	config.WarningHandler = f.warnings
	f.client = f.clientAs(config)
	return f.inNamespace("ns")
}

// inNamespace creates a namespace and returns the fixture for it.
func (f *fixture) inNamespace(ns string) *fixture {
	f.Helper()
	c := *f
	c.ns = ns
	if _, err := f.client.CoreV1().Namespaces().Create(f.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, metav1.CreateOptions{}); err != nil {
		f.Fatal(err)
	}
	return &c
}

// subtest returns the fixture for a subtest in a namespace of its own.
func (f *fixture) subtest(t *testing.T, ns string) *fixture {
	t.Helper()
	c := *f
	c.T = t
	f.warnings.take()
	return c.inNamespace(ns)
}

// clientAs returns a client whose connections are closed when the test ends.
func (f *fixture) clientAs(config *rest.Config) kubernetes.Interface {
	f.Helper()
	h, err := rest.HTTPClientFor(config)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(h.CloseIdleConnections)
	c, err := kubernetes.NewForConfigAndClient(config, h)
	if err != nil {
		f.Fatal(err)
	}
	return c
}

type warnings struct {
	mu   sync.Mutex
	text []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _ string, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, text)
}

func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.text
	w.text = nil
	return out
}

// hookServer is a webhook server.
type hookServer struct {
	url string
	ca  []byte
}

func (s *hookServer) config() admissionregistrationv1.WebhookClientConfig {
	return admissionregistrationv1.WebhookClientConfig{URL: &s.url, CABundle: s.ca}
}

// serve starts a server with a certificate for the given names.
func (f *fixture) serve(h http.HandlerFunc, names ...string) *hookServer {
	f.Helper()
	cert, ca := certify(f, names...)
	s := httptest.NewUnstartedServer(h)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequestClientCert}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	f.Cleanup(s.Close)
	return &hookServer{s.URL + "/hook", ca}
}

// serveReviews starts a server that responds with the result of f, with the uid set.
func (f *fixture) serveReviews(hookResponse func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse) *hookServer {
	f.Helper()
	return f.serve(func(w http.ResponseWriter, r *http.Request) {
		newReview := &admissionv1.AdmissionReview{}
		if err := json.NewDecoder(r.Body).Decode(newReview); err != nil {
			f.Error(err)
			return
		}
		response := hookResponse(newReview.Request)
		response.UID = newReview.Request.UID
		newReview.Request, newReview.Response = nil, response
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(newReview); err != nil {
			f.Error(err)
		}
	})
}

func allow() *admissionv1.AdmissionResponse { return &admissionv1.AdmissionResponse{Allowed: true} }

// patch allows the request with a patch.
func patch(format string, args ...any) *admissionv1.AdmissionResponse {
	kind := admissionv1.PatchTypeJSONPatch
	return &admissionv1.AdmissionResponse{Allowed: true, PatchType: &kind, Patch: fmt.Appendf(nil, format, args...)}
}

func certify(t testing.TB, names ...string) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "hook"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    names, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// rule matches all operations on config maps.
func rule() admissionregistrationv1.RuleWithOperations {
	return admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
	}
}

func (f *fixture) here() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: f.ns}}
}

func ptrTo[T any](v T) *T { return &v }

// validating registers a hook for the namespace until the test ends.
func (f *fixture) validating(name string, s *hookServer, change ...func(*admissionregistrationv1.ValidatingWebhook)) {
	f.Helper()
	w := admissionregistrationv1.ValidatingWebhook{Name: name, ClientConfig: s.config(), Rules: []admissionregistrationv1.RuleWithOperations{rule()},
		NamespaceSelector: f.here(), SideEffects: ptrTo(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"}}
	for _, c := range change {
		c(&w)
	}
	configs := f.client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: f.ns + "-" + strings.ToLower(name)}, Webhooks: []admissionregistrationv1.ValidatingWebhook{w}}
	if _, err := configs.Create(f.Context(), config, metav1.CreateOptions{}); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := configs.Delete(context.Background(), config.Name, metav1.DeleteOptions{}); err != nil {
			f.Error(err)
		}
	})
}

func (f *fixture) mutating(name string, s *hookServer, change ...func(*admissionregistrationv1.MutatingWebhook)) {
	f.Helper()
	w := admissionregistrationv1.MutatingWebhook{Name: name, ClientConfig: s.config(), Rules: []admissionregistrationv1.RuleWithOperations{rule()},
		NamespaceSelector: f.here(), SideEffects: ptrTo(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"}}
	for _, c := range change {
		c(&w)
	}
	configs := f.client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	config := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: f.ns + "-" + strings.ToLower(name)}, Webhooks: []admissionregistrationv1.MutatingWebhook{w}}
	if _, err := configs.Create(f.Context(), config, metav1.CreateOptions{}); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := configs.Delete(context.Background(), config.Name, metav1.DeleteOptions{}); err != nil {
			f.Error(err)
		}
	})
}

// create creates an empty config map.
func (f *fixture) create(name string, o metav1.CreateOptions) (*corev1.ConfigMap, error) {
	return f.client.CoreV1().ConfigMaps(f.ns).Create(f.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{}}, o)
}
