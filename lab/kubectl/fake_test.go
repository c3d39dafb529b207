package kubectl

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	discovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

var update = flag.Bool("update", false, "write the outputs in testdata")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a server that answers with what a test puts into it.
type fake struct {
	*httptest.Server
	t *testing.T

	mu sync.Mutex
	// answers are the bodies for GET requests, by path.
	answers map[string]any
	// created are the answers to POST requests, by path, and written those to other writes, by method and path.
	created, written map[string]any
	// bodies are the bodies of the last writes, by method and path.
	bodies map[string]string
	// opened are the addresses for which a browser was opened.
	opened []string
	// requests and changes are what the lab has; nil if it is off.
	requests []v1alpha1.Request
	changes  []v1alpha1.Change
	// events are sent to watches, one after the other; a closed channel ends a watch.
	events chan any
	// watched is signalled when a watch begins.
	watched chan string
	// seen are the requests that came: the method and the URI, and the impersonated user.
	seen []string
}

const labPath = "/apis/lab.miniapiserver.io/v1alpha1/"

// now is the time of the tests.
var now = time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)

func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{t: t, answers: map[string]any{}, created: map[string]any{}, written: map[string]any{}, bodies: map[string]string{}, events: make(chan any), watched: make(chan string, 10)}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	resource := func(name, kind string, namespaced bool, short ...string) discovery.APIResourceDiscovery {
		r := discovery.APIResourceDiscovery{Resource: name, SingularResource: strings.ToLower(kind), ShortNames: short, Scope: discovery.ScopeCluster,
			ResponseKind: &metav1.GroupVersionKind{Kind: kind}, Verbs: []string{"create", "delete", "get", "list", "patch", "update", "watch"}}
		if namespaced {
			r.Scope = discovery.ScopeNamespace
		}
		return r
	}
	group := func(name, version string, resources ...discovery.APIResourceDiscovery) discovery.APIGroupDiscovery {
		return discovery.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: name},
			Versions: []discovery.APIVersionDiscovery{{Version: version, Resources: resources}}}
	}
	pods := resource("pods", "Pod", true, "po")
	pods.Subresources = []discovery.APISubresourceDiscovery{{Subresource: "exec"}, {Subresource: "status"}}
	f.answers["/api"] = discovery.APIGroupDiscoveryList{Items: []discovery.APIGroupDiscovery{
		group("", "v1", pods, resource("nodes", "Node", false, "no"), resource("namespaces", "Namespace", false, "ns"), resource("events", "Event", true, "ev"),
			resource("secrets", "Secret", true), resource("configmaps", "ConfigMap", true, "cm"))}}
	f.answers["/apis"] = discovery.APIGroupDiscoveryList{Items: []discovery.APIGroupDiscovery{
		group("apps", "v1", resource("deployments", "Deployment", true, "deploy")), group("events.k8s.io", "v1", resource("events", "Event", true, "ev")),
		group("example.com", "v2", resource("nodes", "Node", true), resource("deployers", "Deployer", true, "deploy"))}}
	f.created["/apis/authentication.k8s.io/v1/selfsubjectreviews"] = map[string]any{
		"status": map[string]any{"userInfo": map[string]any{"username": "jane", "groups": []string{"dev", "system:authenticated"}}}}
	return f
}

// ServeHTTP answers a request.
func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	seen := r.Method + " " + r.URL.RequestURI()
	if user := r.Header.Get("Impersonate-User"); user != "" {
		seen += " as " + user + " " + strings.Join(r.Header.Values("Impersonate-Group"), ",")
	}
	f.seen = append(f.seen, seen)
	if r.Method != http.MethodGet {
		sent, err := io.ReadAll(r.Body)
		if err != nil {
			f.t.Error(err)
		}
		f.bodies[r.Method+" "+r.URL.Path] = string(sent)
	}
	var body any
	switch path := r.URL.Path; {
	case r.URL.Query().Get("watch") != "":
		f.mu.Unlock()
		f.serveWatch(w, r)
		return
	case r.Method == http.MethodPost:
		body = f.created[path]
	case r.Method != http.MethodGet:
		body = f.written[r.Method+" "+path]
	case path == labPath+"requests" && f.requests != nil:
		body = page(withoutDetails(f.requests), r, requestFields)
	case path == labPath+"changes" && f.changes != nil:
		body = page(f.changes, r, func(c *v1alpha1.Change) fields.Set { return fields.Set{"object": c.Spec.Object} })
	default:
		if body = f.object(path); body == nil {
			body = f.answers[path]
		}
	}
	f.mu.Unlock()
	f.write(w, body)
}

// withoutDetails returns Requests as lists have them.
func withoutDetails(requests []v1alpha1.Request) []v1alpha1.Request {
	requests = slices.Clone(requests)
	for i := range requests {
		requests[i].Spec.Patch, requests[i].Status.Changes, requests[i].Status.Owners = "", nil, nil
	}
	return requests
}

// object returns a single Request or Change.
func (f *fake) object(path string) any {
	if name, found := strings.CutPrefix(path, labPath+"requests/"); found && f.requests != nil {
		for _, r := range f.requests {
			if r.Name == name {
				return r
			}
		}
		return status(404, metav1.StatusReasonNotFound, "requests.lab.miniapiserver.io "+strconv.Quote(name)+" not found", name)
	}
	if name, found := strings.CutPrefix(path, labPath+"changes/"); found {
		for _, c := range f.changes {
			if c.Name == name {
				return c
			}
		}
	}
	return nil
}

func status(code int32, reason metav1.StatusReason, message, name string) metav1.Status {
	return metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Code: code, Reason: reason, Message: message,
		Details: &metav1.StatusDetails{Name: name}}
}

// write writes an answer: a text, a Status with its code, or an object. Without one it is that for a path without a handler.
func (f *fake) write(w http.ResponseWriter, body any) {
	if text, ok := body.(string); ok {
		fmt.Fprint(w, text)
		return
	}
	if body == nil {
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if s, ok := body.(metav1.Status); ok {
		w.WriteHeader(int(s.Code))
	}
	if err := json.NewEncoder(w).Encode(body); err != nil {
		f.t.Error(err)
	}
}

// requestFields are the fields of Requests for field selectors.
func requestFields(r *v1alpha1.Request) fields.Set {
	return fields.Set{"user": r.Spec.User, "verb": r.Spec.Verb, "resource": r.Spec.Resource, "namespace": r.Spec.Namespace, "objectName": r.Spec.ObjectName,
		"code": strconv.Itoa(int(r.Status.Code)), "userAgent": r.Spec.UserAgent, "impersonator": r.Spec.Impersonator, "phase": r.Status.Phase}
}

// page returns a page of the selected objects.
func page[T any](all []T, r *http.Request, set func(*T) fields.Set) any {
	query := r.URL.Query()
	selector, err := fields.ParseSelector(query.Get("fieldSelector"))
	if err != nil {
		return status(400, metav1.StatusReasonBadRequest, err.Error(), "")
	}
	var items []T
	for i := range all {
		if selector.Matches(set(&all[i])) {
			items = append(items, all[i])
		}
	}
	meta := map[string]string{"resourceVersion": "100"}
	limit, _ := strconv.Atoi(query.Get("limit")) // 0 without one
	from, _ := strconv.Atoi(query.Get("continue"))
	items = items[min(from, len(items)):]
	if limit > 0 && len(items) > limit {
		items, meta["continue"] = items[:limit], strconv.Itoa(from+limit)
	}
	return map[string]any{"metadata": meta, "items": items}
}

// serveWatch sends events until the channel is closed or the client goes.
func (f *fake) serveWatch(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	flusher := w.(http.Flusher)
	flusher.Flush()
	select {
	case f.watched <- r.URL.RequestURI():
	default:
	}
	for {
		select {
		case event, ok := <-f.events:
			if !ok {
				return
			}
			if event == nil {
				return // this watch alone ends
			}
			if err := json.NewEncoder(w).Encode(event); err != nil {
				f.t.Error(err)
			}
			flusher.Flush()
			if m, ok := event.(map[string]any); ok && m["type"] == "ERROR" {
				return // as servers do
			}
		case <-r.Context().Done():
			return
		}
	}
}

// send sends an event to the watch that runs.
func (f *fake) send(event any) {
	f.t.Helper()
	select {
	case f.events <- event:
	case <-time.After(patience):
		f.t.Fatal("no watch takes the event")
	}
}

// nextWatch returns the URI of the next watch that begins.
func (f *fake) nextWatch() string {
	f.t.Helper()
	select {
	case uri := <-f.watched:
		return uri
	case <-time.After(patience):
		f.t.Fatal("no watch begins")
	}
	return ""
}

// patience is the time limit of what a test waits for.
const patience = 30 * time.Second

// sent reports whether a request came.
func (f *fake) sent(want string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.seen, func(s string) bool { return strings.Contains(s, want) })
}

// result is what a command printed.
type result struct {
	stdout, stderr string
	code           int
}

// run runs a command against the server.
func (f *fake) run(args ...string) result {
	f.t.Helper()
	var stdout, stderr bytes.Buffer
	code := f.runWith(f.t.Context(), &stdout, &stderr, args...)
	return result{stdout.String(), stderr.String(), code}
}

func (f *fake) runWith(ctx context.Context, stdout, stderr interface{ Write([]byte) (int, error) }, args ...string) int {
	return run(ctx, append([]string{"--server", f.URL, "--kubeconfig", os.DevNull}, args...), environment{
		stdout: stdout, stderr: stderr, getenv: func(string) string { return "" }, now: func() time.Time { return now }, location: time.UTC,
		executable: func() (string, error) { return "/opt/miniapiserver", nil }, environ: os.Environ,
		browse: func(address string) error { f.opened = append(f.opened, address); return nil }})
}

// golden compares an output with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

// at returns a time some microseconds after the hour of the tests.
func at(microseconds int64) metav1.MicroTime {
	return metav1.NewMicroTime(now.Add(-time.Minute).Add(time.Duration(microseconds) * time.Microsecond))
}
