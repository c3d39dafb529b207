package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The load of TestOverload: the number of seats, the number of greedy clients, which share
// a user, and of polite clients with a user each, and how long a request occupies a seat.
const (
	seats    = 20
	greedy   = 200
	polite   = 10
	rounds   = 15
	occupies = 20 * time.Millisecond
)

// caller is a client with a connection of its own.
type caller struct {
	http  *http.Client
	url   string
	token string
}

func newCaller(t *testing.T, s *Server, token string) *caller {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(s.CA) {
		t.Fatalf("CA: %s", s.CA)
	}
	transport := &http.Transport{
		TLSClientConfig:       &tls.Config{RootCAs: roots, ServerName: s.admin.ServerName},
		ExpectContinueTimeout: time.Hour,
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &caller{http: &http.Client{Transport: transport}, url: s.URL, token: token}
}

func (c *caller) do(ctx context.Context, method, path string, body io.Reader, headers ...string) (code int, response string, err error) {
	r, err := http.NewRequestWithContext(ctx, method, c.url+path, body)
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

// slowBody is a request body that is sent slowly, and only when the server has begun to
// execute the request and reads it (Expect: 100-continue).
type slowBody struct {
	rest    io.Reader
	started bool
}

func (b *slowBody) Read(p []byte) (int, error) {
	if !b.started {
		b.started = true
		<-time.After(occupies)
	}
	return b.rest.Read(p)
}

// occupy sends a request that occupies a seat for some time and changes nothing.
func (c *caller) occupy(ctx context.Context) (int, error) {
	body := &slowBody{rest: strings.NewReader(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"generateName":"x-"}}`)}
	code, _, err := c.do(ctx, http.MethodPost, "/api/v1/namespaces/default/configmaps?dryRun=All", body, "Expect", "100-continue")
	return code, err
}

// overloaded is a server with few seats and its clients.
type overloaded struct {
	*Server
	admin, manager *caller
	polite         []*caller
	greedy         []*caller
}

func newOverloaded(t *testing.T) *overloaded {
	t.Helper()
	var tokens bytes.Buffer
	fmt.Fprintln(&tokens, "greedy-token,greedy,u0\nmanager-token,system:kube-controller-manager,u1")
	for i := range polite {
		fmt.Fprintf(&tokens, "polite-%d-token,polite-%d,u%d\n", i, i, i+2)
	}
	file := filepath.Join(t.TempDir(), "tokens.csv")
	if err := os.WriteFile(file, tokens.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	s := run(t, Options{Authentication: Authentication{TokenFile: file},
		Limits: Limits{MaxRequestsInflight: seats / 2, MaxMutatingRequestsInflight: seats / 2,
			RequestTimeout: time.Hour}})
	o := &overloaded{Server: s, admin: newCaller(t, s, s.Token), manager: newCaller(t, s, "manager-token")}
	for i := range polite {
		o.polite = append(o.polite, newCaller(t, s, fmt.Sprintf("polite-%d-token", i)))
	}
	var connected sync.WaitGroup
	for range greedy {
		c := newCaller(t, s, "greedy-token")
		o.greedy = append(o.greedy, c)
		connected.Go(func() { // before anything is measured: a handshake costs more than a request
			if _, _, err := c.do(t.Context(), http.MethodGet, "/healthz", nil); err != nil {
				t.Error(err)
			}
		})
	}
	connected.Wait()
	binding := `{"metadata":{"name":"everybody"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},
		"subjects":[{"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"system:authenticated"}]}`
	code, body, err := o.admin.do(t.Context(), http.MethodPost, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", strings.NewReader(binding))
	if err != nil || code != http.StatusCreated {
		t.Fatalf("binding: %d %s %v", code, body, err)
	}
	for _, c := range o.polite { // makes their connections, when the binding holds
		for deadline := time.Now().Add(20 * time.Second); ; {
			if code, err := c.occupy(t.Context()); err == nil && code == http.StatusCreated {
				break
			} else if time.Now().After(deadline) {
				t.Fatalf("a polite client is answered %d %v", code, err)
			}
		}
	}
	return o
}

// measure sends requests of the polite clients, one after the other, and concurrently those
// of an administrator and of a leader election. All must succeed.
func (o *overloaded) measure(t *testing.T) {
	t.Helper()
	var wg, others sync.WaitGroup
	over := make(chan struct{})
	check := func(client string, wanted, code int, err error) {
		if err != nil || code != wanted {
			t.Errorf("the %s is answered %d %v", client, code, err)
		}
	}
	for _, c := range o.polite {
		wg.Go(func() {
			for range rounds {
				code, err := c.occupy(t.Context())
				check("polite client", http.StatusCreated, code, err)
			}
		})
	}
	lease := "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
	for _, other := range []struct {
		name         string
		c            *caller
		method, path string
		body         string
		wanted       int
	}{
		{"administrator", o.admin, http.MethodGet, "/api/v1/namespaces/default", "", http.StatusOK},
		{"leader election", o.manager, http.MethodPost, lease + "?dryRun=All", `{"metadata":{"name":"leader"}}`, http.StatusCreated},
	} {
		others.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					code, _, err := other.c.do(t.Context(), other.method, other.path, strings.NewReader(other.body))
					check(other.name, other.wanted, code, err)
				}
			}
		})
	}
	wg.Wait()
	close(over)
	others.Wait()
}

// flood sends requests of all greedy clients, as fast as possible, until stop is called. It returns when
// most of them wait, with the number of requests that were served.
func (o *overloaded) flood(t *testing.T) (served *atomic.Int64, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	served = new(atomic.Int64)
	for _, c := range o.greedy {
		wg.Go(func() {
			for ctx.Err() == nil {
				switch code, err := c.occupy(ctx); {
				case ctx.Err() != nil:
				case err == nil && code == http.StatusCreated:
					served.Add(1)
				case err != nil || code != http.StatusTooManyRequests:
					t.Errorf("a greedy client is answered %d %v", code, err)
				}
			}
		})
	}
	for o.inQueue(t, "global-default") < greedy/2 {
		if t.Context().Err() != nil {
			break
		}
	}
	return served, func() {
		cancel()
		wg.Wait()
	}
}

// inQueue returns the number of requests that wait in a priority level.
func (o *overloaded) inQueue(t *testing.T, level string) int {
	t.Helper()
	_, dump, err := o.admin.do(t.Context(), http.MethodGet, "/debug/api_priority_and_fairness/dump_priority_levels", nil)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(dump) {
		if cells := strings.Split(strings.ReplaceAll(line, " ", ""), ","); cells[0] == level {
			n, err := strconv.Atoi(cells[4])
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			return n
		}
	}
	t.Fatalf("there is no %s in\n%s", level, dump)
	return 0
}

// TestOverload checks that 200 greedy clients of one user do not prevent others from being
// served, and that memory stays within its bounds. It counts requests rather than time, which
// depends on the load of the machine.
func TestOverload(t *testing.T) {
	o := newOverloaded(t)
	o.measure(t) // makes the connections
	before := heap()
	greedyServed, stop := o.flood(t)
	atStart := greedyServed.Load()
	o.measure(t)
	served := greedyServed.Load() - atStart
	grown := heap() - before
	stop()
	// In the order of arrival, every polite request would wait for a request of each greedy client.
	const inOrder = rounds * greedy
	t.Logf("%d polite requests and %d greedy ones were served; %d KiB more", polite*rounds, served, grown>>10)
	if served > inOrder/2 {
		t.Errorf("%d greedy requests were served meanwhile, in the order of arrival %d", served, inOrder)
	}
	if grown > 64<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
	o.checkWaits(t)
}

// heap returns the size of the live heap, of the server and the clients.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// checkWaits checks the metrics of the server: requests waited, but no exempt ones, and none of these was rejected.
func (o *overloaded) checkWaits(t *testing.T) {
	t.Helper()
	_, metrics, err := o.admin.do(t.Context(), http.MethodGet, "/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	waited := false
	for line := range strings.Lines(metrics) {
		isWait := strings.HasPrefix(line, "apiserver_flowcontrol_request_wait_duration_seconds_count{")
		waited = waited || isWait
		if (isWait || strings.HasPrefix(line, "apiserver_flowcontrol_rejected_requests_total{")) && strings.Contains(line, `priority_level="exempt"`) {
			t.Errorf("exempt requests were queued or rejected: %s", line)
		}
	}
	if !waited {
		t.Error("no request waited")
	}
}
