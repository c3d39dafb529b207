package webhook_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/server"
)

type validator = func(*admissionregistrationv1.ValidatingWebhook)

func (f *fixture) dryCreate() string {
	_, err := f.create("a", metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return outcome(err)
}

// allowing starts a server that allows all requests.
func (f *fixture) allowing() *hookServer {
	return f.serveReviews(func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse { return allow() })
}

// TestConnections checks the errors for hooks that cannot be reached.
func TestConnections(t *testing.T) {
	f := start(t, server.Options{})
	good := f.allowing()
	hung := f.serve(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server detects a disconnected client only after reading the body
		<-r.Context().Done()
	})
	post := failed + `failed to call webhook: Post "https://HOST/hook?timeout=%ds": `
	for i, tt := range []struct {
		name   string
		server *hookServer
		change validator
		want   string
	}{
		{"fine", good, func(*admissionregistrationv1.ValidatingWebhook) {}, "ok"},
		{"nobody vouches", good, func(w *admissionregistrationv1.ValidatingWebhook) { w.ClientConfig.CABundle = nil },
			fmt.Sprintf(post, 10) + "tls: failed to verify certificate: x509: certificate signed by unknown authority"},
		{"for another name", good, func(w *admissionregistrationv1.ValidatingWebhook) {
			w.ClientConfig.URL = ptrTo(strings.Replace(*w.ClientConfig.URL, "127.0.0.1", "localhost", 1))
		}, failed + `failed to call webhook: Post "https://localhost:PORT/hook?timeout=10s": tls: failed to verify certificate: x509: certificate is not valid for any names, but wanted to match localhost`},
		{"hung", hung, func(w *admissionregistrationv1.ValidatingWebhook) { w.TimeoutSeconds = ptrTo(int32(1)) },
			fmt.Sprintf(post, 1) + "context deadline exceeded"},
		{"hung and ignored", hung, func(w *admissionregistrationv1.ValidatingWebhook) {
			w.TimeoutSeconds, w.FailurePolicy = ptrTo(int32(1)), ptrTo(admissionregistrationv1.Ignore)
		}, "ok"},
		{"a bundle that is none", good, func(w *admissionregistrationv1.ValidatingWebhook) { w.ClientConfig.CABundle = []byte("no PEM") },
			failed + "could not get REST client: unable to load root certificates: unable to parse bytes as PEM block"},
		{"only new versions", good, func(w *admissionregistrationv1.ValidatingWebhook) {
			w.AdmissionReviewVersions = []string{"v9", "v1"}
		}, "ok"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := f.subtest(t, fmt.Sprintf("connections-%d", i))
			f.validating("h.example.com", tt.server, tt.change)
			u, _ := url.Parse(tt.server.url)
			if got := strings.ReplaceAll(f.dryCreate(), "localhost:"+u.Port(), "localhost:PORT"); got != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestServices checks hooks that are services, and the errors for services without a backend.
func TestServices(t *testing.T) {
	f := start(t, server.Options{})
	routed := start(t, server.Options{Aggregation: server.Aggregation{Routing: true}})
	s := f.serve(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != fmt.Sprintf("hook.ns.svc:%s", strings.Split(r.Host, ":")[1]) || r.URL.Path != "/p" {
			t.Errorf("asked for %s%s", r.Host, r.URL)
		}
		http.Error(w, "reached", http.StatusTeapot)
	}, "hook.ns.svc")
	u, _ := url.Parse(s.url)
	number, _ := strconv.Atoi(u.Port())
	port := int32(number)
	for _, svc := range []*corev1.Service{
		{ObjectMeta: metav1.ObjectMeta{Name: "hook"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "headless"}, Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Port: port}}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "other-port"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "empty"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: port}}}},
	} {
		for _, f := range []*fixture{f, routed} {
			if _, err := f.client.CoreV1().Services("ns").Create(t.Context(), svc.DeepCopy(), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, tt := range []struct {
		name, want string
		routed     bool
	}{
		{"hook", `the server responded with the status code 418 but did not return more information`, false},
		{"hook", `unsupported service type "ExternalName"`, true},
		{"headless", `cannot route to service with ClusterIP "None"`, false},
		{"other-port", fmt.Sprintf(`no service port %d found for service "other-port"`, port), false},
		{"empty", `no endpoints available for service "empty"`, true},
		{"none", `service "none" not found`, false},
	} {
		f := map[bool]*fixture{false: f, true: routed}[tt.routed].subtest(t, fmt.Sprintf("services-%d", i))
		f.validating("h.example.com", s, func(w *admissionregistrationv1.ValidatingWebhook) {
			w.ClientConfig.URL = nil
			w.ClientConfig.Service = &admissionregistrationv1.ServiceReference{Namespace: "ns", Name: tt.name, Path: ptrTo("/p"), Port: &port}
		})
		want := failed + "failed to call webhook: "
		if i > 0 {
			want += fmt.Sprintf(`Post "https://%s.ns.svc:%d/p?timeout=10s": `, tt.name, port)
		}
		if got := f.dryCreate(); got != want+tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, want+tt.want)
		}
	}
}

// TestSpread checks that requests to a hook that is a service reach all of its endpoints, although
// connections to each stay open, and that with the gate off one endpoint serves all of them.
func TestSpread(t *testing.T) {
	for _, spreads := range []bool{true, false} {
		var reached [2]atomic.Int32
		backends := map[string]string{}
		cert, ca := certify(t, "hook.ns.svc")
		slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: "hook-1", Labels: map[string]string{discoveryv1.LabelServiceName: "hook"}},
			AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}}, {Addresses: []string{"10.0.0.2"}}},
			Ports: []discoveryv1.EndpointPort{{Name: new(string), Port: ptrTo(int32(8443))}}}
		for i, e := range slice.Endpoints {
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Host != "hook.ns.svc:443" {
					t.Errorf("asked for %s", r.Host)
				}
				reached[i].Add(1)
				_, _ = io.Copy(io.Discard, r.Body)
				_, _ = io.WriteString(w, "reached") // a complete response keeps the connection open
			}))
			s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
			s.StartTLS()
			t.Cleanup(s.Close)
			backends[e.Addresses[0]+":8443"] = s.Listener.Addr().String()
		}
		f := start(t, server.Options{
			FeatureGates: map[string]bool{"WebhookRoundTripLoadBalancing": spreads},
			Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, backends[address])
			},
		})
		if _, err := f.client.CoreV1().Services("ns").Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "hook"},
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := f.client.DiscoveryV1().EndpointSlices("ns").Create(t.Context(), slice, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		f.validating("h.example.com", &hookServer{ca: ca}, func(w *admissionregistrationv1.ValidatingWebhook) {
			w.ClientConfig.URL = nil
			w.ClientConfig.Service = &admissionregistrationv1.ServiceReference{Namespace: "ns", Name: "hook"}
			w.FailurePolicy = ptrTo(admissionregistrationv1.Ignore)
		})
		const requests = 64 // all to one of two endpoints by chance: once in 2^63
		for range requests {
			if got := f.dryCreate(); got != "ok" {
				t.Fatal(got)
			}
		}
		first, second := reached[0].Load(), reached[1].Load()
		if both := first > 0 && second > 0; first+second != requests || both != spreads {
			t.Errorf("spread %t: %d and %d requests", spreads, first, second)
		}
	}
}

// TestReviews checks that hooks for everything are not called for reviews of identities and
// permissions, unless the gate is off.
func TestReviews(t *testing.T) {
	for _, exempt := range []bool{true, false} {
		f := start(t, server.Options{FeatureGates: map[string]bool{"ExcludeAdmissionWebhookVirtualResources": exempt}})
		var calls atomic.Int32
		s := f.serveReviews(func(q *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			if strings.HasSuffix(q.Resource.Resource, "reviews") {
				calls.Add(1)
			}
			return allow()
		})
		all := []admissionregistrationv1.RuleWithOperations{{Operations: []admissionregistrationv1.OperationType{"*"},
			Rule: admissionregistrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*"}}}}
		f.validating("v.example.com", s, func(w *admissionregistrationv1.ValidatingWebhook) { w.Rules, w.NamespaceSelector = all, nil })
		f.mutating("m.example.com", s, func(w *admissionregistrationv1.MutatingWebhook) { w.Rules, w.NamespaceSelector = all, nil })
		path := &authorizationv1.NonResourceAttributes{Path: "/x", Verb: "get"}
		_, err1 := f.client.AuthenticationV1().TokenReviews().Create(t.Context(), &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: "x"}}, metav1.CreateOptions{})
		_, err2 := f.client.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		_, err3 := f.client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{User: "u", NonResourceAttributes: path}}, metav1.CreateOptions{})
		_, err4 := f.client.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{NonResourceAttributes: path}}, metav1.CreateOptions{})
		if err := errors.Join(err1, err2, err3, err4); err != nil {
			t.Fatal(err)
		}
		if want := map[bool]int32{true: 0, false: 8}[exempt]; calls.Load() != want {
			t.Errorf("exempt %t: %d calls, want %d", exempt, calls.Load(), want)
		}
	}
}

// TestCredentials checks the credentials for hooks in the admission configuration.
func TestCredentials(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cert, ca := certify(t, "client")
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	write("client.crt", string(ca))
	write("client.key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})))
	token := write("token", "first\n")
	kubeconfig := write("kubeconfig", `
apiVersion: v1
kind: Config
users:
- {name: "127.0.0.1", user: {token: wrong}}
- {name: "*", user: {tokenFile: token, client-certificate: client.crt, client-key: client.key}}
`)
	f := start(t, server.Options{Admission: server.Admission{ConfigFile: write("admission.yaml", fmt.Sprintf(`
apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: ValidatingAdmissionWebhook
  configuration: {apiVersion: apiserver.config.k8s.io/v1, kind: WebhookAdmissionConfiguration, kubeConfigFile: %q}
`, kubeconfig))}})
	var shown []string
	s := f.serve(func(w http.ResponseWriter, r *http.Request) {
		shown = append(shown, fmt.Sprint(r.Header.Get("Authorization"), " ", len(r.TLS.PeerCertificates), " ", r.UserAgent()))
		http.Error(w, "no", http.StatusForbidden)
	})
	f.validating("h.example.com", s)
	f.dryCreate()
	if err := os.WriteFile(token, []byte("second"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.dryCreate()
	// A token in a token file is read for each request, the kubeconfig within seconds.
	write("kubeconfig", `{apiVersion: v1, kind: Config, users: [{name: "127.0.0.1:*", user: {token: wrong}}, {name: "*", user: {token: third}}]}`)
	for deadline := time.Now().Add(20 * time.Second); !strings.HasPrefix(shown[len(shown)-1], "Bearer third"); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("a changed kubeconfig is not used: %q", shown)
		}
		f.dryCreate()
	}
	if got := fmt.Sprintf("%q", shown[:2]); got != `["Bearer first 1 kube-apiserver-admission" "Bearer second 1 kube-apiserver-admission"]` {
		t.Error(got)
	}
}

// TestBadCredentials checks that a server with an invalid configuration does not start.
func TestBadCredentials(t *testing.T) {
	path := filepath.Join(t.TempDir(), "admission.yaml")
	if err := os.WriteFile(path, []byte(`{apiVersion: apiserver.config.k8s.io/v1, kind: AdmissionConfiguration, plugins: [
{name: MutatingAdmissionWebhook, configuration: {apiVersion: apiserver.config.k8s.io/v1, kind: WebhookAdmissionConfiguration, kubeConfigFile: here}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	srv, err := server.Start(t.Context(), server.Options{Admission: server.Admission{ConfigFile: path}})
	if err == nil {
		_ = srv.Stop(context.Background())
	}
	if err == nil || err.Error() != "--admission-control-config-file: "+path+`: couldn't init admission plugin "MutatingAdmissionWebhook": kubeConfigFile must be an absolute file path: here` {
		t.Error(err)
	}
}

// TestStartWithHungHooks checks that hooks which match everything and never respond prevent neither
// start nor stop of a server, and can be deleted.
func TestStartWithHungHooks(t *testing.T) {
	o := server.Options{Dir: t.TempDir()}
	helper := &fixture{T: t}
	var calls atomic.Int32
	hung := helper.serve(func(_ http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	everything := admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{"*"},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*/*"}},
	}
	run := func(do func(f *fixture)) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		srv, err := server.Start(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		f := &fixture{T: t, server: srv, warnings: &warnings{}, ns: "default"}
		f.client = f.clientAs(srv.RESTConfig())
		do(f)
		if err := srv.Stop(ctx); err != nil {
			t.Error(err)
		}
	}
	configs := func(f *fixture) {
		quiet, fail := ptrTo(admissionregistrationv1.SideEffectClassNone), ptrTo(admissionregistrationv1.Fail)
		_, err := f.client.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(t.Context(), &admissionregistrationv1.MutatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: "all"}, Webhooks: []admissionregistrationv1.MutatingWebhook{{Name: "all.example.com", ClientConfig: hung.config(), FailurePolicy: fail,
				Rules: []admissionregistrationv1.RuleWithOperations{everything}, SideEffects: quiet, TimeoutSeconds: ptrTo(int32(30)), AdmissionReviewVersions: []string{"v1"}}}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	run(configs)
	run(func(f *fixture) {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if _, err := f.client.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{}); err == nil {
			t.Error("the hook was not asked")
		}
		if err := f.client.AdmissionregistrationV1().MutatingWebhookConfigurations().Delete(t.Context(), "all", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		if _, err := f.create("a", metav1.CreateOptions{}); err != nil {
			t.Error(err)
		}
	})
	if calls.Load() == 0 {
		t.Error("the hook was not asked")
	}
}
