package server

import (
	"bufio"
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
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The load of TestOverload: the number of seats, the number of greedy clients, which share
// a user, and of polite clients with a user each, and how long a request occupies a seat.
const (
	seats       = 20
	greedy      = 200
	polite      = 10
	rounds      = 15
	occupies    = 20 * time.Millisecond
	mostWaiting = 2 * time.Second
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
	s := run(t, Options{TokenFile: file, MaxRequestsInflight: seats / 2, MaxMutatingRequestsInflight: seats / 2, RequestTimeout: 4 * mostWaiting})
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

// seen has the durations that clients measured.
type seen struct{ polite, admin, election []time.Duration }

// measure sends requests of the polite clients, one after the other, and concurrently those
// of an administrator and of a leader election.
func (o *overloaded) measure(t *testing.T) (all seen) {
	t.Helper()
	var mu sync.Mutex
	var wg, others sync.WaitGroup
	over := make(chan struct{})
	timed := func(to *[]time.Duration, wanted int, f func() (int, error)) {
		start := time.Now()
		code, err := f()
		took := time.Since(start)
		mu.Lock()
		defer mu.Unlock()
		*to = append(*to, took)
		if err != nil || code != wanted {
			t.Errorf("answered %d %v", code, err)
		}
	}
	for _, c := range o.polite {
		wg.Go(func() {
			for range rounds {
				timed(&all.polite, http.StatusCreated, func() (int, error) { return c.occupy(t.Context()) })
			}
		})
	}
	lease := "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
	for _, other := range []struct {
		c      *caller
		to     *[]time.Duration
		method string
		path   string
		body   string
		wanted int
	}{
		{o.admin, &all.admin, http.MethodGet, "/api/v1/namespaces/default", "", http.StatusOK},
		{o.manager, &all.election, http.MethodPost, lease + "?dryRun=All", `{"metadata":{"name":"leader"}}`, http.StatusCreated},
	} {
		others.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					timed(other.to, other.wanted, func() (int, error) {
						code, _, err := other.c.do(t.Context(), other.method, other.path, strings.NewReader(other.body))
						return code, err
					})
				}
			}
		})
	}
	wg.Wait()
	close(over)
	others.Wait()
	return all
}

// flood sends requests of all greedy clients, as fast as possible, until stop is called,
// which returns the number of responses by code.
func (o *overloaded) flood(t *testing.T) (stop func() map[int]int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var mu sync.Mutex
	codes := map[int]int{}
	for _, c := range o.greedy {
		wg.Go(func() {
			for ctx.Err() == nil {
				code, err := c.occupy(ctx)
				if err == nil {
					mu.Lock()
					codes[code]++
					mu.Unlock()
				}
				if code == http.StatusTooManyRequests { // waits as clients do, for the time in Retry-After
					select {
					case <-ctx.Done():
					case <-time.After(time.Second):
					}
				}
			}
		})
	}
	for o.inQueue(t, "global-default") < greedy/2 {
		if t.Context().Err() != nil {
			break
		}
	}
	return func() map[int]int {
		cancel()
		wg.Wait()
		return codes
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

// quantile returns the q-quantile of durations.
func quantile(all []time.Duration, q float64) time.Duration {
	all = slices.Sorted(slices.Values(all))
	return all[min(len(all)-1, int(q*float64(len(all))))]
}

// TestOverload checks that 200 greedy clients of one user do not prevent others from being
// served, and that queues and memory stay within their bounds.
func TestOverload(t *testing.T) {
	o := newOverloaded(t)
	// Other load of the machine adds to the durations. In the first ten seconds, before seats
	// are borrowed, the level has two seats for all these clients.
	const tries = 6
	for try := 1; ; try++ {
		before := heap()
		calm := o.measure(t)
		stop := o.flood(t)
		busy := o.measure(t)
		grown := heap() - before
		codes := stop()
		calmP99, busyP99 := quantile(calm.polite, 0.99), quantile(busy.polite, 0.99)
		calmAdmin, busyAdmin := quantile(calm.admin, 0.5), quantile(busy.admin, 0.5)
		t.Logf("%d polite requests, %d of the administrator; polite p99 %v, with the greedy %v; administrator's median %v, %v; leader election's p99 %v, %v; greedy were answered %v; %d KiB more",
			len(busy.polite), len(busy.admin), calmP99, busyP99, calmAdmin, busyAdmin, quantile(calm.election, 0.99), quantile(busy.election, 0.99), codes, grown>>10)
		for code := range codes {
			if code != http.StatusCreated && code != http.StatusTooManyRequests {
				t.Errorf("greedy clients were answered %d", code)
			}
		}
		if grown > 64<<20 {
			t.Errorf("the heap grew by %d MiB", grown>>20)
		}
		fair := busyP99 <= 3*calmP99
		free := busyAdmin <= 3*calmAdmin+occupies
		elected := quantile(busy.election, 0.99) < mostWaiting
		if fair && free && elected {
			break
		}
		if try == tries {
			t.Errorf("fair to polite clients: %v; the administrator is not delayed: %v; leader election gets through: %v", fair, free, elected)
			break
		}
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

// checkWaits checks the metrics of the server: no request waited longer than the limit, plus
// a margin for a busy machine, and exempt requests did not wait.
func (o *overloaded) checkWaits(t *testing.T) {
	t.Helper()
	_, metrics, err := o.admin.do(t.Context(), http.MethodGet, "/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	within, all := map[string]string{}, map[string]string{}
	const name = "apiserver_flowcontrol_request_wait_duration_seconds"
	for s := bufio.NewScanner(strings.NewReader(metrics)); s.Scan(); {
		line := s.Text()
		labels, value, _ := strings.Cut(line, "} ")
		switch {
		case strings.HasPrefix(line, name+"_count{"):
			all[strings.TrimPrefix(labels, name+"_count{")] = value
		case strings.HasPrefix(line, name+"_bucket{") && strings.HasSuffix(labels, `,le="5"`):
			within[strings.TrimSuffix(strings.TrimPrefix(labels, name+"_bucket{"), `,le="5"`)] = value
		case strings.HasPrefix(line, "apiserver_flowcontrol_rejected_requests_total") && strings.Contains(line, `priority_level="exempt"`):
			t.Errorf("exempt requests were rejected: %s", line)
		}
	}
	if len(all) == 0 {
		t.Fatal("no request waited")
	}
	for labels, n := range all {
		if strings.Contains(labels, `"exempt"`) {
			t.Errorf("exempt requests waited: %s %s", labels, n)
		}
		if within[labels] != n {
			t.Errorf("%s: only %s of %s waited less than 5 s, where %v are allowed", labels, within[labels], n, mostWaiting)
		}
	}
}
