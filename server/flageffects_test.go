package server

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/eventually"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/server/credentials"
)

// TestPublishedAddress checks what --advertise-address, --external-hostname and
// --kubernetes-service-node-port publish.
func TestPublishedAddress(t *testing.T) {
	s := run(t, Options{Serving: Serving{AdvertiseAddress: "192.0.2.7", ExternalHostname: "api.example"},
		Services: Services{KubernetesNodePort: 30443}, Authentication: Authentication{NoAnonymous: true}})
	port := s.secure.Addr().(*net.TCPAddr).Port
	c := clientOf(t, s.RESTConfig())
	endpoints, err := c.DiscoveryV1().EndpointSlices("default").Get(t.Context(), "kubernetes", metav1.GetOptions{})
	if err != nil || endpoints.Endpoints[0].Addresses[0] != "192.0.2.7" || *endpoints.Ports[0].Port != int32(port) {
		t.Errorf("endpoints: %+v, %v", endpoints, err)
	}
	service, err := c.CoreV1().Services("default").Get(t.Context(), "kubernetes", metav1.GetOptions{})
	if err != nil || service.Spec.Type != corev1.ServiceTypeNodePort || service.Spec.Ports[0].NodePort != 30443 {
		t.Errorf("service: %+v, %v", service, err)
	}
	address := net.JoinHostPort("api.example", strconv.Itoa(port))
	client := raw(t, s)
	if _, body := get(t, client, s.URL+"/api", s.Token); !strings.Contains(body, `"serverAddress":"`+address+`"`) {
		t.Errorf("/api: %s", body)
	}
	var issuer struct {
		URI string `json:"jwks_uri"`
	}
	_, body := get(t, client, s.URL+"/.well-known/openid-configuration", s.Token)
	if err := json.Unmarshal([]byte(body), &issuer); err != nil || issuer.URI != "https://"+address+"/openid/v1/jwks" {
		t.Errorf("discovery document: %s, %v", body, err)
	}
	for _, host := range []string{"192.0.2.7", "api.example"} {
		if err := s.tlsCertificate(t).Leaf.VerifyHostname(host); err != nil {
			t.Error(err)
		}
	}
}

// tlsCertificate returns the certificate that the server presents by default.
func (s *Server) tlsCertificate(t *testing.T) *tls.Certificate {
	t.Helper()
	c, err := s.tls.GetCertificate(&tls.ClientHelloInfo{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestEndpointReconcilerNone checks that the server publishes no address if somebody else
// does.
func TestEndpointReconcilerNone(t *testing.T) {
	s := run(t, Options{Services: Services{EndpointReconciler: "none"},
		Serving: Serving{AdvertiseAddress: "192.0.2.7"}})
	_, err := clientOf(t, s.RESTConfig()).DiscoveryV1().EndpointSlices("default").Get(t.Context(), "kubernetes", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("got %v", err)
	}
}

// TestConnectionFlags checks --disable-http2-serving and
// --strict-transport-security-directives.
func TestConnectionFlags(t *testing.T) {
	s := run(t, Options{Serving: Serving{NoHTTP2: true, HSTSDirectives: []string{"max-age=60", "includeSubDomains"}}})
	response, err := raw(t, s).Get(s.URL + "/livez")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.ProtoMajor != 1 || response.Header.Get("Strict-Transport-Security") != "max-age=60; includeSubDomains" {
		t.Errorf("got HTTP/%d, %v", response.ProtoMajor, response.Header)
	}
}

// TestGoaway checks that HTTP/2 connections end with the probability of --goaway-chance,
// that no request fails by it, and that HTTP/1 connections stay.
func TestGoaway(t *testing.T) {
	s := run(t, Options{Serving: Serving{GoawayChance: 0.02}})
	connections := func(client *http.Client, dials *int, requests int) int {
		dialer := &net.Dialer{}
		client.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			*dials++
			return dialer.DialContext(ctx, network, address)
		}
		for range requests {
			if code, body := get(t, client, s.URL+"/livez", s.Token); code != http.StatusOK {
				t.Fatalf("got %d: %s", code, body)
			}
		}
		return *dials
	}
	if n := connections(raw(t, s), new(int), 1000); n < 3 || n > 100 { // 20 are likely
		t.Errorf("%d HTTP/2 connections for 1000 requests", n)
	}
	old := raw(t, s)
	old.Transport.(*http.Transport).ForceAttemptHTTP2 = false
	if n := connections(old, new(int), 200); n != 1 {
		t.Errorf("%d HTTP/1 connections", n)
	}
}

// TestShutdownDelay checks that the server serves for --shutdown-delay-duration after it
// was asked to stop, while /readyz fails.
func TestShutdownDelay(t *testing.T) {
	s, err := Start(t.Context(), Options{Lifecycle: Lifecycle{ShutdownDelay: time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	client := raw(t, s)
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(ctx) }()
	eventually.True(t, "/readyz fails", func() bool {
		code, body := get(t, client, s.URL+"/readyz", s.Token)
		return code == http.StatusInternalServerError && strings.Contains(body, "[-]shutdown failed")
	})
	if code, body := get(t, client, s.URL+"/api/v1/namespaces/default", s.Token); code != http.StatusOK {
		t.Errorf("got %d: %s", code, body)
	}
	select {
	case <-stopped:
		t.Error("the server has stopped before the delay was over")
	default:
	}
	cancel() // ends the delay
	<-stopped
}

// TestSNICertificates checks that the certificates of --tls-sni-cert-key are presented for
// their names alone.
func TestSNICertificates(t *testing.T) {
	dir := t.TempDir()
	files := func(name string, hosts ...string) string {
		if _, err := credentials.Load(filepath.Join(dir, name), credentials.Names{DNS: hosts}, time.Now(), false); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, name, credentials.ServingName+".crt") + "," + filepath.Join(dir, name, credentials.ServingName+".key")
	}
	s := run(t, Options{TLS: TLS{SNICertificates: []string{
		files("own", "own.example"), files("given", "x.example") + ":*.given.example,given.example", files("exact", "y.example") + ":a.given.example",
	}}})
	for name, want := range map[string]string{
		"own.example": "own.example", "OWN.example": "own.example", "given.example": "x.example", "b.given.example": "x.example",
		"a.given.example": "y.example", "a.b.given.example": "kubernetes", "x.example": "kubernetes", "": "kubernetes",
	} {
		conn, err := tls.Dial("tcp", s.secure.Addr().String(), &tls.Config{ServerName: name, InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := conn.ConnectionState().PeerCertificates[0].DNSNames[0]; got != want {
			t.Errorf("%q: the certificate of %s, want that of %s", name, got, want)
		}
		conn.Close()
	}
	_, err := Start(t.Context(), Options{TLS: TLS{SNICertificates: []string{filepath.Join(dir, "none") + "," +
		filepath.Join(dir, "none")}}})
	if err == nil || !strings.HasPrefix(err.Error(), "--tls-sni-cert-key: ") {
		t.Errorf("got %v", err)
	}
}

// TestCurvePreferences checks that --tls-curve-preferences limits the key exchange.
func TestCurvePreferences(t *testing.T) {
	s := run(t, Options{TLS: TLS{Curves: []tls.CurveID{tls.CurveP384}}})
	for curve, works := range map[tls.CurveID]bool{tls.CurveP384: true, tls.X25519: false} {
		conn, err := tls.Dial("tcp", s.secure.Addr().String(), &tls.Config{CurvePreferences: []tls.CurveID{curve}, InsecureSkipVerify: true})
		if err == nil {
			conn.Close()
		}
		if works != (err == nil) {
			t.Errorf("%v: %v", curve, err)
		}
	}
}

// TestPortSharing checks that two servers listen on a port only if both share it.
func TestPortSharing(t *testing.T) {
	first := run(t, Options{Serving: Serving{SharePort: true}})
	port := first.secure.Addr().(*net.TCPAddr).Port
	if s, err := Start(t.Context(), Options{Serving: Serving{Port: port}}); err == nil {
		halt(t, s)
		t.Error("a server that does not share the port has started")
	}
	run(t, Options{Serving: Serving{Port: port, SharePort: true, ShareAddress: true}})
}

// TestAllowPrivileged checks that --allow-privileged=false refuses privileged containers
// as kube-apiserver does.
func TestAllowPrivileged(t *testing.T) {
	s := run(t, Options{Admission: Admission{NoPrivileged: true, DisablePlugins: []string{"ServiceAccount"}}})
	c := clientOf(t, s.RESTConfig())
	privileged := true
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "c", Image: "i", SecurityContext: &corev1.SecurityContext{Privileged: &privileged},
	}}}}
	_, err := c.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
	if want := `Pod "p" is invalid: spec.containers[0].securityContext.privileged: Forbidden: disallowed by cluster policy`; err == nil || err.Error() != want || !apierrors.IsInvalid(err) {
		t.Errorf("got %v, want %s", err, want)
	}
	pod.Spec.Containers[0].SecurityContext = nil
	if _, err := c.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
}

// TestHTTP2Streams checks that the server announces --http2-max-streams-per-connection to
// clients, and 100 by default.
func TestHTTP2Streams(t *testing.T) {
	for limit, want := range map[int]uint32{0: 100, 7: 7} {
		s := run(t, Options{Serving: Serving{HTTP2MaxStreams: limit}})
		conn, err := tls.Dial("tcp", s.secure.Addr().String(), &tls.Config{NextProtos: []string{"h2"}, InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		const settings, maxConcurrentStreams = 4, 3 // of RFC 9113
		if _, err := conn.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")); err != nil {
			t.Fatal(err)
		}
		head := make([]byte, 9)
		if _, err := io.ReadFull(conn, head); err != nil || head[3] != settings {
			t.Fatalf("the first frame is %x, %v", head, err)
		}
		body := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
		if _, err := io.ReadFull(conn, body); err != nil {
			t.Fatal(err)
		}
		got := uint32(0)
		for ; len(body) >= 6; body = body[6:] {
			if binary.BigEndian.Uint16(body) == maxConcurrentStreams {
				got = binary.BigEndian.Uint32(body[2:])
			}
		}
		if got != want {
			t.Errorf("with %d, clients may have %d streams, want %d", limit, got, want)
		}
	}
}

// TestAdmissionControl checks that only the plugins of --admission-control run, and none if
// the list is empty, as with kwokctl.
func TestAdmissionControl(t *testing.T) {
	for list, wanted := range map[string]corev1.PullPolicy{"AlwaysPullImages,NamespaceLifecycle": corev1.PullAlways, "": corev1.PullIfNotPresent} {
		c := NewCommandLine()
		if err := set(c, "ephemeral=true", "secure-port=0", "admission-control="+list); err != nil {
			t.Fatal(err)
		}
		o, err := c.Complete()
		if err != nil {
			t.Fatal(err)
		}
		client := clientOf(t, run(t, o).RESTConfig())
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i:1"}}}}
		made, err := client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		// Priority, ServiceAccount and DefaultTolerationSeconds are plugins by default.
		if made.Spec.Priority != nil || made.Spec.ServiceAccountName != "" || len(made.Spec.Tolerations) > 0 || made.Spec.Containers[0].ImagePullPolicy != wanted {
			t.Errorf("%q: %+v", list, made.Spec)
		}
		_, err = client.CoreV1().ConfigMaps("missing").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
		if apierrors.IsNotFound(err) != (list != "") {
			t.Errorf("%q: in a missing namespace: %v", list, err)
		}
	}
}

// TestAdmissionConfigPath checks that a path in --admission-control-config-file is relative to
// that file.
func TestAdmissionConfigPath(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"admission.yaml":   "{apiVersion: apiserver.config.k8s.io/v1, kind: AdmissionConfiguration, plugins: [{name: PodSecurity, path: podsecurity.yaml}]}",
		"podsecurity.yaml": `{apiVersion: pod-security.admission.config.k8s.io/v1, kind: PodSecurityConfiguration, defaults: {enforce: baseline}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := Options{Admission: Admission{ConfigFile: filepath.Join(dir, "admission.yaml"),
		DisablePlugins: []string{"ServiceAccount"}}}
	client := clientOf(t, run(t, o).RESTConfig())
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{HostPID: true, Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	_, err := client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
	if err == nil || !strings.Contains(err.Error(), `violates PodSecurity "baseline:latest"`) {
		t.Errorf("got %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "podsecurity.yaml")); err != nil {
		t.Fatal(err)
	}
	if s, err := Start(t.Context(), o); err == nil || !strings.HasPrefix(err.Error(), "--admission-control-config-file: ") {
		t.Errorf("%v, %v", s, err)
	}
}

// TestUncached checks which resources have no watch cache in kube-apiserver by the flags.
func TestUncached(t *testing.T) {
	pods, things := schema.GroupResource{Resource: "pods"}, schema.GroupResource{Group: "example.com", Resource: "things"}
	for flags, want := range map[string][2]bool{
		"": {}, "watch-cache=true": {}, "watch-cache=false": {true, true}, "watch-cache-sizes=pods#0": {true, false},
		"watch-cache-sizes=pods#10,things.example.com#0,things#0": {false, true}, "watch-cache-sizes=pods.example.com#0": {},
	} {
		c := NewCommandLine()
		if flags != "" {
			if err := set(c, flags); err != nil {
				t.Fatal(err)
			}
		}
		o, err := c.Complete()
		if err != nil {
			t.Fatal(err)
		}
		got := [2]bool{}
		if uncached := o.uncached(); uncached != nil {
			got = [2]bool{uncached(pods), uncached(things)}
		}
		if got != want {
			t.Errorf("%q: got %v, want %v", flags, got, want)
		}
	}
}

// TestListGates checks the gates of sharded lists and of compressed watches, and their defaults.
func TestListGates(t *testing.T) {
	for _, changed := range []bool{false, true} {
		o := Options{}
		if changed {
			o.FeatureGates = map[string]bool{"ShardedListAndWatch": true, "WatchListCompression": false}
		}
		s := run(t, o)
		list, err := clientOf(t, s.RESTConfig()).CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{
			ShardSelector: "shardRange(object.metadata.uid, '0x0000000000000000', '0x0000000000000001')"})
		if err != nil || (len(list.Items) == 0) != changed || (list.ShardInfo != nil) != changed {
			t.Errorf("gates changed %t: %+v, %v", changed, list, err)
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			s.URL+"/api/v1/namespaces?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept-Encoding", "gzip")
		admin, err := rest.HTTPClientFor(s.RESTConfig())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(admin.CloseIdleConnections)
		w, err := admin.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		w.Body.Close()
		if compressed := w.Header.Get("Content-Encoding") == "gzip"; w.StatusCode != http.StatusOK || compressed == changed {
			t.Errorf("gates changed %t: %d, headers %v", changed, w.StatusCode, w.Header)
		}
	}
}
