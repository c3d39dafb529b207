package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/eventually"

	"go.etcd.io/etcd/server/v3/embed"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/internal/porttest"
)

// expectedChecks reads the checks of each endpoint from testdata/health.txt.
func expectedChecks(t *testing.T) map[string][]string {
	t.Helper()
	f, err := os.Open("testdata/health.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	checks := map[string][]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if words := strings.Fields(lines.Text()); words[0] != "#" {
			for _, endpoint := range words[1:] {
				checks[endpoint] = append(checks[endpoint], words[0])
			}
		}
	}
	return checks
}

// TestHealthChecks checks that every check of kube-apiserver exists, in its order, at a
// path of its own, and in the index.
func TestHealthChecks(t *testing.T) {
	s := run(t, Options{})
	c := raw(t, s)
	_, body := get(t, c, s.URL+"/", s.Token)
	var index metav1.RootPaths
	if err := json.Unmarshal([]byte(body), &index); err != nil {
		t.Fatal(err)
	}
	for endpoint, checks := range expectedChecks(t) {
		var want strings.Builder
		for _, check := range checks {
			fmt.Fprintf(&want, "[+]%s ok\n", check)
			path := "/" + endpoint + "/" + check
			if code, body := get(t, c, s.URL+path, s.Token); code != http.StatusOK || body != "ok" {
				t.Errorf("%s: %d %s", path, code, body)
			}
			if !slices.Contains(index.Paths, path) {
				t.Errorf("%s is not in the index", path)
			}
		}
		fmt.Fprintf(&want, "%s check passed\n", endpoint)
		if code, body := get(t, c, s.URL+"/"+endpoint+"?verbose", ""); code != http.StatusOK || body != want.String() {
			t.Errorf("%s: %d\n%s\nwant\n%s", endpoint, code, body, &want)
		}
	}
}

// TestHealthNecessaryChecks is the upstream end-to-end test "health handlers should contain
// necessary checks".
func TestHealthNecessaryChecks(t *testing.T) {
	s := run(t, Options{})
	client := clientOf(t, s.RESTConfig())
	necessary := []string{
		"ping", "log", "etcd", "poststarthook/start-apiserver-admission-initializer", "poststarthook/generic-apiserver-start-informers",
		"poststarthook/start-apiextensions-informers", "poststarthook/start-apiextensions-controllers", "poststarthook/crd-informer-synced",
		"poststarthook/bootstrap-controller", "poststarthook/start-system-namespaces-controller",
		"poststarthook/scheduling/bootstrap-system-priority-classes", "poststarthook/start-cluster-authentication-info-controller",
		"poststarthook/start-kube-aggregator-informers", "poststarthook/apiservice-registration-controller",
		"poststarthook/apiservice-status-local-available-controller", "poststarthook/apiservice-status-remote-available-controller",
		"poststarthook/kube-apiserver-autoregistration", "autoregister-completion", "poststarthook/apiservice-openapi-controller",
	}
	for endpoint, more := range map[string][]string{"/healthz": nil, "/livez": nil, "/readyz": {"informer-sync"}} {
		body, err := client.CoreV1().RESTClient().Get().RequestURI(endpoint + "?verbose=1").Do(t.Context()).Raw()
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(body), "\n")
		for _, name := range append(more, necessary...) {
			if !slices.Contains(lines, "[+]"+name+" ok") {
				t.Errorf("%s lacks %s:\n%s", endpoint, name, body)
			}
		}
	}
}

// TestHealthOfDisabledParts checks that disabled parts have no check, or another one.
func TestHealthOfDisabledParts(t *testing.T) {
	s := run(t, Options{
		Limits:        Limits{NoPriorityAndFairness: true},
		RuntimeConfig: map[string]string{"scheduling.k8s.io/v1": "false", "flowcontrol.apiserver.k8s.io/v1": "false"},
	})
	_, body := get(t, raw(t, s), s.URL+"/readyz?verbose", s.Token)
	if !strings.Contains(body, "[+]poststarthook/max-in-flight-filter ok\n[+]poststarthook/storage-object-count-tracker-hook ok\n") || !strings.Contains(body, "readyz check passed") {
		t.Error(body)
	}
	for _, name := range []string{"priority-and-fairness", "scheduling/bootstrap"} {
		if strings.Contains(body, name) {
			t.Errorf("%s is reported: %s", name, body)
		}
	}
}

// etcdAt starts an etcd that listens on an address.
func etcdAt(t *testing.T, dir, addr string) (stop func()) {
	t.Helper()
	cfg := embed.NewConfig()
	cfg.Dir, cfg.LogLevel = dir, "panic"
	peer := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	client := []url.URL{{Scheme: "http", Host: addr}}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = peer, peer
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = client, client
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		t.Fatal(err)
	}
	<-e.Server.ReadyNotify()
	return func() {
		e.Close()
		for range e.Err() {
		}
	}
}

// probe reads a path without a credential until the response is as wanted.
func probe(t *testing.T, url string, wanted func(code int, body string) bool) (int, string) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // the server is that of the test
	defer transport.CloseIdleConnections()
	c := &http.Client{Transport: transport, Timeout: 10 * time.Second}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var code int
	var body string
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		if req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil); err != nil {
			t.Fatal(err)
		} else if resp, err := c.Do(req); err == nil {
			data, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if code, body = resp.StatusCode, string(data); wanted(code, body) {
				tick.Stop()
				return code, body
			}
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %d %s", url, code, body)
		case <-tick.C:
		}
	}
}

// everybodyMay returns options by which everybody may do everything, also anonymous users, whom
// --authorization-mode=AlwaysAllow excludes.
func everybodyMay(t *testing.T) Authorization {
	t.Helper()
	path := filepath.Join(t.TempDir(), "authorization.yaml")
	const config = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers: [{type: AlwaysAllow, name: all}]\n"
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return Authorization{ConfigFile: path}
}

// TestHealthFollowsEtcd checks that a server without etcd serves health and reports what is
// missing, becomes ready when etcd appears, and reports the loss and the return of etcd.
func TestHealthFollowsEtcd(t *testing.T) {
	dir, addr := t.TempDir(), fmt.Sprint("127.0.0.1:", porttest.Free(t))
	o := Options{Serving: Serving{Port: porttest.Free(t)},
		Etcd: Etcd{Servers: []string{"http://" + addr},
			HealthcheckTimeout: 200 * time.Millisecond}, Authorization: everybodyMay(t)}
	url := fmt.Sprint("https://127.0.0.1:", o.Serving.Port)
	type started struct {
		s   *Server
		err error
	}
	result := make(chan started, 1)
	go func() {
		s, err := Start(t.Context(), o)
		result <- started{s, err}
	}()
	failed := func(code int, _ string) bool { return code == http.StatusInternalServerError }
	for _, endpoint := range []string{"livez", "readyz", "healthz"} {
		_, body := probe(t, url+"/"+endpoint, failed)
		for _, line := range []string{
			"[+]ping ok", "[+]log ok", "[-]etcd failed: reason withheld", "[+]poststarthook/start-apiserver-admission-initializer ok",
			"[-]poststarthook/generic-apiserver-start-informers failed: reason withheld", "[-]poststarthook/rbac/bootstrap-roles failed: reason withheld",
			"[-]autoregister-completion failed: reason withheld", endpoint + " check failed\n",
		} {
			if !strings.Contains(body, line) {
				t.Errorf("%s lacks %q:\n%s", endpoint, line, body)
			}
		}
	}
	for path, want := range map[string]string{
		"/livez/etcd": "internal server error: etcd client connection not yet established\n",
		"/readyz/poststarthook/storage-readiness": "internal server error: not finished\n",
	} {
		if _, body := probe(t, url+path, failed); body != want {
			t.Errorf("%s: %s", path, body)
		}
	}
	if _, body := probe(t, url+"/readyz/informer-sync", failed); !strings.Contains(body, " informers not started yet: [*v1.") {
		t.Errorf("informer-sync: %s", body)
	}
	if code, body := probe(t, url+"/api/v1/namespaces", func(int, string) bool { return true }); code != http.StatusTooManyRequests {
		t.Errorf("a list: %d %s", code, body)
	}

	stop := etcdAt(t, dir, addr)
	up := <-result
	if up.err != nil {
		stop()
		t.Fatal(up.err)
	}
	t.Cleanup(func() { halt(t, up.s) })
	passed := func(code int, body string) bool { return code == http.StatusOK && body == "ok" }
	for _, endpoint := range []string{"/livez", "/readyz", "/healthz"} {
		probe(t, url+endpoint, passed)
	}
	stop()
	_, body := probe(t, url+"/livez/etcd", failed)
	if !strings.HasPrefix(body, "internal server error: error getting data from etcd: ") {
		t.Errorf("without etcd: %s", body)
	}
	if _, body := probe(t, url+"/readyz", failed); strings.Count(body, "[-]") != 2 || !strings.Contains(body, "[-]etcd-readiness failed") {
		t.Errorf("without etcd: %s", body)
	}
	probe(t, url+"/readyz?exclude=etcd&exclude=etcd-readiness", passed)
	stop = etcdAt(t, dir, addr)
	t.Cleanup(stop)
	for _, endpoint := range []string{"/livez", "/readyz", "/healthz"} {
		probe(t, url+endpoint, passed)
	}
}

// TestStartWithoutEtcd checks that a start waits for etcd until its timeout.
func TestStartWithoutEtcd(t *testing.T) {
	addr := fmt.Sprint("127.0.0.1:", porttest.Free(t))
	_, err := Start(t.Context(), Options{Etcd: Etcd{Servers: []string{"http://" + addr},
		InitializationTimeout: 100 * time.Millisecond}})
	if err == nil || !strings.HasPrefix(err.Error(), "--etcd-servers: etcd does not answer: http://"+addr+": ") {
		t.Error(err)
	}
}

// TestHealthStrangers checks that RBAC allows anonymous users to read the health endpoints,
// but not single checks, and that only system:masters may read them before the roles are
// loaded.
func TestHealthStrangers(t *testing.T) {
	o := Options{Serving: Serving{Port: porttest.Free(t)},
		Etcd: Etcd{Servers: []string{fmt.Sprint("http://127.0.0.1:", porttest.Free(t))}}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := Start(ctx, o)
		ended <- err
	}()
	code, body := probe(t, fmt.Sprint("https://127.0.0.1:", o.Serving.Port, "/livez"),
		func(int, string) bool { return true })
	if code != http.StatusForbidden || !strings.Contains(body, `forbidden: User \"system:anonymous\" cannot get path \"/livez\"`) {
		t.Errorf("before the roles are loaded: %d %s", code, body)
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("started without etcd")
	}
	s := run(t, Options{})
	for path, want := range map[string]int{"/livez?verbose": 200, "/readyz?exclude=etcd": 200, "/healthz": 200, "/livez/ping": 403, "/readyz/poststarthook/rbac/bootstrap-roles": 403, "/": 403} {
		if code, body := get(t, raw(t, s), s.URL+path, ""); code != want {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
}

// TestLogCheck checks that the health check of the log fails while the log blocks.
func TestLogCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe() // blocks until somebody reads
		logger, progress := watchLog(slog.New(slog.NewTextHandler(w, nil)))
		logger = logger.With("a", "b")
		done := make(chan struct{})
		go func() {
			defer close(done)
			logger.Info("nobody reads this")
		}()
		synctest.Wait()
		if err := progress.check(t.Context()); err != nil {
			t.Errorf("at once: %v", err)
		}
		time.Sleep(logStall)
		if err := progress.check(t.Context()); err == nil || err.Error() != "logging blocked" {
			t.Errorf("after a while: %v", err)
		}
		if _, err := r.Read(make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
		<-done
		if err := progress.check(t.Context()); err != nil {
			t.Errorf("after the log was read: %v", err)
		}
	})
}

// TestOwnLoops checks that the server recreates the system namespaces, restores the
// ConfigMap of token tracking, and deletes Leases of servers that have stopped.
func TestOwnLoops(t *testing.T) {
	s := run(t, Options{})
	c := clientOf(t, s.RESTConfig()).CoreV1()
	leases := clientOf(t, s.RESTConfig()).CoordinationV1().Leases(metav1.NamespaceSystem)
	ctx := t.Context()
	const tracking = "kube-apiserver-legacy-service-account-token-tracking"
	today := time.Now().UTC().Format(time.DateOnly)
	tracked, err := c.ConfigMaps(metav1.NamespaceSystem).Get(ctx, tracking, metav1.GetOptions{})
	if err != nil || tracked.Data["since"] > today {
		t.Fatalf("%v, %v", tracked, err)
	}
	tracked.Data["since"] = "9999-01-01"
	if _, err := c.ConfigMaps(metav1.NamespaceSystem).Update(ctx, tracked, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	renewed, seconds := metav1.NewMicroTime(time.Now().Add(-time.Hour)), int32(60)
	for name, labels := range map[string]map[string]string{
		"old-server": {"apiserver.kubernetes.io/identity": "kube-apiserver"}, "somebody": nil,
	} {
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: coordinationv1.LeaseSpec{RenewTime: &renewed, LeaseDurationSeconds: &seconds}}
		if _, err := leases.Create(ctx, lease, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	before, err := c.Namespaces().Get(ctx, corev1.NamespaceNodeLease, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Namespaces().Delete(ctx, corev1.NamespaceNodeLease, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually.Succeeds(t, "the controllers have done their first round", func() error {
		m, err := c.ConfigMaps(metav1.NamespaceSystem).Get(ctx, tracking, metav1.GetOptions{})
		if err != nil || m.Data["since"] > today {
			return fmt.Errorf("tracking: %v, %w", m.Data, err)
		}
		if _, err := leases.Get(ctx, "old-server", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the old Lease: %w", err)
		}
		ns, err := c.Namespaces().Get(ctx, corev1.NamespaceNodeLease, metav1.GetOptions{})
		if err == nil && ns.UID == before.UID {
			err = errors.New("is the old one")
		}
		return err
	})
	if _, err := leases.Get(ctx, "somebody", metav1.GetOptions{}); err != nil {
		t.Errorf("the Lease of another kind of server: %v", err)
	}
}
