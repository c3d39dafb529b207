package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/miniapiserver/miniapiserver/controllers"
	"github.com/miniapiserver/miniapiserver/server/credentials"
)

// run starts a server and stops it when the test ends.
func run(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { halt(t, s) })
	return s
}

func halt(t *testing.T, s *Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.Stop(ctx); err != nil {
		t.Errorf("stopping: %v", err)
	}
}

// clientOf returns a typed client whose connections end with the test.
func clientOf(t *testing.T, c *rest.Config) *kubernetes.Clientset {
	t.Helper()
	h, err := rest.HTTPClientFor(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.CloseIdleConnections)
	client, err := kubernetes.NewForConfigAndClient(c, h)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// raw returns a client that trusts the server and presents no certificate.
func raw(t *testing.T, s *Server) *http.Client {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(s.CA) {
		t.Fatalf("CA: %s", s.CA)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: s.admin.ServerName}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// get sends a GET with a token, and returns the status and the body.
func get(t *testing.T, c *http.Client, url, token string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// TestStartIsReady checks that a started server is ready and serves requests.
func TestStartIsReady(t *testing.T) {
	s := run(t, Options{})
	client := clientOf(t, s.RESTConfig())
	list, err := client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, ns := range list.Items {
		names = append(names, ns.Name)
	}
	if got := strings.Join(names, " "); got != "default kube-node-lease kube-public kube-system" {
		t.Errorf("namespaces: %s", got)
	}
	version, err := client.Discovery().ServerVersion()
	if err != nil || version.Major != "1" || version.Minor != "37" {
		t.Errorf("version: %v, %v", version, err)
	}
	if code, body := get(t, raw(t, s), s.URL+"/readyz", ""); code != 200 || body != "ok" {
		t.Errorf("/readyz: %d %s", code, body)
	}
	status, err := client.CoreV1().ComponentStatuses().Get(t.Context(), "etcd-0", metav1.GetOptions{})
	if err != nil || len(status.Conditions) != 1 || status.Conditions[0].Status != corev1.ConditionTrue {
		t.Errorf("component status: %+v, %v", status, err)
	}
}

// TestAccess checks the permissions of each credential.
func TestAccess(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens.csv")
	if err := os.WriteFile(tokens, []byte("root-token,root,1,\"system:masters\"\nalice-token,alice,2,\"dev\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := run(t, Options{Authentication: Authentication{TokenFile: tokens}})
	c := raw(t, s)
	cases := []struct {
		token, path string
		code        int
		says        string
	}{
		{"", "/healthz", 200, "ok"},
		{"", "/version", 200, `"gitVersion": "v1.37`},
		{"", "/api/v1/namespaces", 403, `namespaces is forbidden: User \"system:anonymous\" cannot list resource \"namespaces\" in API group \"\" at the cluster scope`},
		{"", "/metrics", 403, `forbidden: User \"system:anonymous\" cannot get path \"/metrics\"`},
		{"alice-token", "/livez", 200, "ok"},
		{"alice-token", "/api/v1/nodes", 403, `User \"alice\" cannot list`},
		{"root-token", "/api/v1/namespaces/default", 200, `"name":"default"`},
		{s.Token, "/api/v1/namespaces/default", 200, `"name":"default"`},
		{"no-such-token", "/healthz", 401, `"Unauthorized"`},
		{"no-such-token", "/api/v1/namespaces", 401, `"Unauthorized"`},
	}
	for _, c1 := range cases {
		code, body := get(t, c, s.URL+c1.path, c1.token)
		if code != c1.code || !strings.Contains(body, c1.says) {
			t.Errorf("%s with token %.5q: got %d %s", c1.path, c1.token, code, body)
		}
	}
	for name, o := range map[string]Options{
		"without anonymous": {Authentication: Authentication{NoAnonymous: true}},
		"AlwaysAllow":       {Authorization: Authorization{Modes: []string{"AlwaysAllow"}}},
		"AlwaysAllow last":  {Authorization: Authorization{Modes: []string{"RBAC", "AlwaysAllow"}}},
		"AlwaysAllow, and a configuration that does not say what is anonymous": {
			Authorization:  Authorization{Modes: []string{"AlwaysAllow"}},
			Authentication: Authentication{ConfigFile: authenticationConfig(t, "")},
		},
	} {
		strict := run(t, o)
		if code, _ := get(t, raw(t, strict), strict.URL+"/healthz", ""); code != 401 {
			t.Errorf("%s: got %d", name, code)
		}
	}
	for name, o := range map[string]Options{
		"a configuration allows everything": {Authorization: everybodyMay(t)},
		"AlwaysAllow, and a configuration that says what is anonymous": {
			Authorization:  Authorization{Modes: []string{"AlwaysAllow"}},
			Authentication: Authentication{ConfigFile: authenticationConfig(t, "anonymous: {enabled: true}\n")},
		},
	} {
		open := run(t, o)
		if code, _ := get(t, raw(t, open), open.URL+"/api/v1/namespaces", ""); code != 200 {
			t.Errorf("%s: got %d", name, code)
		}
	}
}

// authenticationConfig returns the path of an AuthenticationConfiguration with more lines.
func authenticationConfig(t *testing.T, more string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "authentication.yaml")
	if err := os.WriteFile(path, []byte("apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\njwt: []\n"+more), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestSecondStartFindsEverything checks that a second start keeps the objects and the
// credentials of the first.
func TestSecondStartFindsEverything(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	first, err := Start(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	client := clientOf(t, first.RESTConfig())
	generated, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Start(t.Context(), Options{Dir: dir})
	if err == nil || !strings.HasPrefix(err.Error(), "--data-dir: ") || !strings.Contains(err.Error(), "in use by another server") {
		t.Errorf("a second server in the directory: %v", err)
	}
	halt(t, first)

	second := run(t, Options{Dir: dir})
	if !bytes.Equal(first.CA, second.CA) {
		t.Error("the CA is another one")
	}
	info, err := os.Stat(second.KubeconfigFile)
	if err != nil || info.Mode().Perm() != 0o600 || second.KubeconfigFile != filepath.Join(dir, "admin.kubeconfig") {
		t.Errorf("kubeconfig %s: %v, %v", second.KubeconfigFile, info, err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", second.KubeconfigFile)
	if err != nil {
		t.Fatal(err)
	}
	found, err := clientOf(t, config).CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{})
	if err != nil || found.UID != generated.UID || found.ResourceVersion != generated.ResourceVersion {
		t.Errorf("got %+v, %v", found, err)
	}
	// The credentials from the first server remain valid.
	old := first.RESTConfig()
	old.Host = second.URL
	if _, err := clientOf(t, old).CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
		t.Errorf("with the first server's credentials: %v", err)
	}
}

// TestEphemeralLeavesNothing checks that an ephemeral server removes its directory, also if
// its start fails.
func TestEphemeralLeavesNothing(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	s, err := Start(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(s.KubeconfigFile, tmp) {
		t.Errorf("kubeconfig in %s", s.KubeconfigFile)
	}
	if !bytes.Contains(s.Kubeconfig(), []byte(s.URL)) {
		t.Error("the kubeconfig does not name the server")
	}
	halt(t, s)
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if err := s.Err(); err != nil {
		t.Errorf("after Stop: %v", err)
	}
	// A failed start removes its directory too.
	for _, o := range []Options{{Authentication: Authentication{ClientCAFile: filepath.Join(tmp, "none")}},
		{Etcd: Etcd{Prefix: "/"}}, {Authentication: Authentication{TokenFile: tmp}}} {
		if _, err := Start(t.Context(), o); err == nil {
			t.Errorf("%+v: started", o)
		}
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind by failed starts: %v, %v", left, err)
	}
}

// TestTwentySideBySide checks that twenty servers in one process are independent of each
// other.
func TestTwentySideBySide(t *testing.T) {
	const n = 20
	servers := make([]*Server, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			s, err := Start(t.Context(), Options{})
			if err != nil {
				t.Errorf("server %d: %v", i, err)
				return
			}
			servers[i] = s
		})
	}
	wg.Wait()
	for i, s := range servers {
		if s == nil {
			continue
		}
		name := fmt.Sprintf("only-here-%d", i)
		_, err := clientOf(t, s.RESTConfig()).CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if err != nil {
			t.Errorf("server %d: %v", i, err)
		}
	}
	for i, s := range servers {
		if s == nil {
			continue
		}
		wg.Go(func() {
			list, err := clientOf(t, s.RESTConfig()).CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
			if err != nil || len(list.Items) != len(controllers.SystemNamespaces())+1 {
				t.Errorf("server %d: %d namespaces, %v", i, len(list.Items), err)
			}
			halt(t, s)
		})
	}
	wg.Wait()
}

// TestStopEndsWatches checks that Stop ends watches without an error.
func TestStopEndsWatches(t *testing.T) {
	s, err := Start(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := clientOf(t, s.RESTConfig()).CoreV1().Namespaces().Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for range controllers.SystemNamespaces() {
		<-w.ResultChan()
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		halt(t, s)
	}()
	// A clean end closes the channel. A lost connection sends an error event before.
	for e := range w.ResultChan() {
		t.Errorf("got %+v", e)
	}
	<-stopped
	halt(t, s) // once more does nothing
}

// TestStopLetsRequestsFinish checks that Stop waits for requests in flight.
func TestStopLetsRequestsFinish(t *testing.T) {
	s, err := Start(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	body, write := io.Pipe()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/api/v1/namespaces/default/configmaps", body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.Token)
	r.Header.Set("Content-Type", "application/json")
	codes := make(chan int, 1)
	go func() {
		resp, err := raw(t, s).Do(r)
		if err != nil {
			t.Errorf("the request was cut off: %v", err)
			codes <- 0
			return
		}
		codes <- resp.StatusCode
		_ = resp.Body.Close()
	}()
	if _, err := io.WriteString(write, `{"kind":"ConfigMap","apiVersion":"v1",`); err != nil {
		t.Fatal(err)
	}
	inFlight(t, s, 1)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		halt(t, s)
	}()
	refused(t, s)
	select {
	case <-stopped:
		t.Error("stopped while a request was being served")
	default:
	}
	if _, err := io.WriteString(write, `"metadata":{"name":"late"}}`); err != nil {
		t.Fatal(err)
	}
	_ = write.Close()
	if code := <-codes; code != http.StatusCreated {
		t.Errorf("got %d", code)
	}
	<-stopped
}

// inFlight waits until the metrics of the server report n mutating requests in flight.
func inFlight(t *testing.T, s *Server, n int) {
	t.Helper()
	c := raw(t, s)
	want := fmt.Sprintf(`apiserver_current_inflight_requests{request_kind="mutating"} %d`, n)
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		if _, body := get(t, c, s.URL+"/metrics", s.Token); strings.Contains(body, want) {
			return
		}
	}
	t.Fatal("the request did not arrive")
}

// refused waits until the server refuses connections.
func refused(t *testing.T, s *Server) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		c := raw(t, s)
		resp, err := c.Get(s.URL + "/healthz")
		if err != nil {
			return
		}
		_ = resp.Body.Close()
		c.CloseIdleConnections()
	}
	t.Fatal("the server still takes connections")
}

// TestStopClosesHangingRequests checks that Stop closes the connections of requests that
// outlast its context.
func TestStopClosesHangingRequests(t *testing.T) {
	s, err := Start(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	body, write := io.Pipe()
	defer write.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/api/v1/namespaces/default/configmaps", body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.Token)
	r.Header.Set("Content-Type", "application/json")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if resp, err := raw(t, s).Do(r); err == nil {
			_ = resp.Body.Close()
		}
	}()
	inFlight(t, s, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Stop(ctx); err == nil || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("got %v", err)
	}
	<-ended
}

// TestInsecurePort checks that requests on the insecure port are those of an administrator,
// and that other ports do not trust local clients.
func TestInsecurePort(t *testing.T) {
	s := run(t, Options{Serving: Serving{InsecurePort: -1}})
	send := func(host, origin, token string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.InsecureURL+"/api/v1/namespaces/default", nil)
		if err != nil {
			t.Fatal(err)
		}
		if host != "" {
			r.Host = host
		}
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(body)
	}
	defer http.DefaultClient.CloseIdleConnections()
	cases := []struct {
		host, origin, token string
		want                int
	}{
		{"", "", "", 200},
		{"localhost", "", "", 200},
		{"[::1]:1", "http://localhost:3000", "", 200},
		{"", "", "not-a-token", 200},
		{"rebound.example", "", "", 403},
		{"", "https://evil.example", "", 403},
	}
	for _, c := range cases {
		code, body := send(c.host, c.origin, c.token)
		if code != c.want {
			t.Errorf("%+v: got %d %s", c, code, body)
		}
		if code == 200 && !strings.Contains(body, `"name":"default"`) {
			t.Errorf("%+v: got %s", c, body)
		}
		var status metav1.Status
		if err := json.Unmarshal([]byte(body), &status); code == 403 && (err != nil || status.Reason != metav1.StatusReasonForbidden) {
			t.Errorf("%+v: got %s", c, body)
		}
	}
	// The secure port does not trust requests from the same address.
	if code, _ := get(t, raw(t, s), s.URL+"/api/v1/namespaces/default", ""); code != 403 {
		t.Errorf("the secure port, without a credential: %d", code)
	}
}

// TestBroughtCertificate checks a serving certificate from --tls-cert-file.
func TestBroughtCertificate(t *testing.T) {
	dir := t.TempDir()
	generated, err := credentials.Load(dir, credentials.Names{DNS: []string{"api.example"}}, time.Now(), false)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		TLS:            TLS{CertFile: filepath.Join(dir, "apiserver.crt"), KeyFile: filepath.Join(dir, "apiserver.key")},
		Authentication: Authentication{ClientCAFile: filepath.Join(dir, "ca.crt")},
	}
	s := run(t, o)
	if !bytes.Equal(s.CA, generated.Serving.CertPEM) {
		t.Error("CA is not what verifies the certificate")
	}
	config := s.RESTConfig()
	if _, err := clientOf(t, config).CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
		t.Errorf("as the administrator: %v", err)
	}
	config.CertData, config.KeyData = generated.Admin.CertPEM, generated.Admin.KeyPEM
	if _, err := clientOf(t, config).CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
		t.Errorf("with a certificate of --client-ca-file: %v", err)
	}
}

// TestStartFailures checks that the error of a failed start names the flag.
func TestStartFailures(t *testing.T) {
	s := run(t, Options{})
	var port int
	if _, err := fmt.Sscanf(s.URL, "https://127.0.0.1:%d", &port); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	junk := filepath.Join(dir, "junk")
	if err := os.WriteFile(junk, []byte("junk"), 0o600); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(dir, "missing")
	cases := []struct {
		name string
		o    Options
		want string
	}{
		{"port", Options{Serving: Serving{Port: port}},
			fmt.Sprintf("--secure-port %d: listen tcp 127.0.0.1:%d: bind: address already in use; use another one, or --secure-port 0 for a free one", port, port)},
		{"insecure port", Options{Serving: Serving{InsecurePort: port}},
			fmt.Sprintf("--insecure-port %d: listen tcp 127.0.0.1:%d: bind: address already in use; use another one, or --insecure-port -1 for a free one", port, port)},
		{"directory", Options{Dir: filepath.Join(junk, "data")}, "--data-dir: mkdir " + junk + ": not a directory; name a directory that can be written, or use --ephemeral to keep nothing"},
		{"certificate", Options{TLS: TLS{CertFile: missing, KeyFile: missing}},
			"--tls-cert-file: open " + missing + ": no such file or directory"},
		{"bad certificate", Options{TLS: TLS{CertFile: junk, KeyFile: junk}},
			"--tls-cert-file: " + junk + ": no PEM certificate found"},
		{"etcd CA", Options{Etcd: Etcd{Servers: []string{"https://127.0.0.1:1"}, CAFile: missing}},
			"--etcd-cafile: open " + missing + ": no such file or directory"},
		{"client CA", Options{Authentication: Authentication{ClientCAFile: junk}},
			"--client-ca-file: " + junk + ": no PEM certificate found"},
		{"tokens", Options{Authentication: Authentication{TokenFile: junk}},
			"--token-auth-file: " + junk + ": line 1: must have at least 3 columns (token,user name,user uid), has 1"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Start(t.Context(), c.o)
			if err == nil || err.Error() != c.want {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
		})
	}
}

// TestFailedStartCloses checks that a start that fails, at any step, frees its ports and
// removes its temporary directory.
func TestFailedStartCloses(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	missing := filepath.Join(t.TempDir(), "missing")
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	for name, o := range map[string]Options{
		"store":          {Etcd: Etcd{Servers: []string{"https://127.0.0.1:1"}, CAFile: missing}},
		"authorization":  {Authorization: Authorization{ConfigFile: missing}},
		"admission":      {Admission: Admission{ConfigFile: missing}},
		"authentication": {Authentication: Authentication{ClientCAFile: missing}},
		"proxies":        {Kubelets: Kubelets{CAFile: missing}},
		"controllers":    {Controllers: Controllers{RootCAFile: missing}},
		"boot": {Etcd: Etcd{Servers: []string{"http://127.0.0.1:1"},
			InitializationTimeout: 50 * time.Millisecond}},
	} {
		o.Serving.Port, o.Serving.InsecurePort = port, -1
		if s, err := Start(t.Context(), o); err == nil {
			halt(t, s)
			t.Errorf("%s: started", name)
			continue
		}
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		l.Close()
		if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
			t.Errorf("%s: left %v, %v", name, left, err)
		}
	}
}

// BenchmarkStart measures the time until a new server in a temporary directory is ready,
// without the time to stop it, and the memory that it holds then.
func BenchmarkStart(b *testing.B) {
	var held uint64
	for b.Loop() {
		b.StopTimer()
		before := liveHeap()
		b.StartTimer()
		s, err := Start(b.Context(), Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		held += max(liveHeap(), before) - before
		if err := s.Stop(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(held)/float64(b.N)/(1<<20), "MiB/server")
}

// liveHeap returns the bytes of all objects that are in use.
func liveHeap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
