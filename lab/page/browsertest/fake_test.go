package browsertest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lab "github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

const labPath = "/apis/lab.miniapiserver.io/v1alpha1/"

// fakeAPI serves what the page reads: requests of the lab, with lists and watches, and other answers as they are set.
type fakeAPI struct {
	server *httptest.Server

	mu      sync.Mutex
	changed *sync.Cond
	// log are the events of the requests; an event's resourceVersion is its index and one.
	log []logged
	// compacted is the resourceVersion before which a watch is answered with 410.
	compacted int
	answers   map[string]any
	dumps     map[string]func() string
	// got are the paths with the queries of the requests that came.
	got []string
	// cut ends the open watches once.
	cut int
}

type logged struct {
	kind    string
	request *lab.Request
	line    []byte
}

func newFakeAPI(t *testing.T) *fakeAPI {
	f := &fakeAPI{answers: map[string]any{}, dumps: map[string]func() string{}}
	f.changed = sync.NewCond(&f.mu)
	f.server = httptest.NewServer(f)
	t.Cleanup(func() {
		f.server.CloseClientConnections()
		f.server.Close()
	})
	return f
}

// url returns the address for page.Config.
func (f *fakeAPI) url(t *testing.T) *url.URL {
	u, err := url.Parse(f.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// load sets the answers of a file in testdata, by their paths. In it $MINUS(N) is the time N seconds ago.
func (f *fakeAPI) load(name string) {
	text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		panic(err)
	}
	text = ago.ReplaceAllFunc(text, func(match []byte) []byte {
		n, _ := strconv.Atoi(string(ago.FindSubmatch(match)[1]))
		return time.Now().Add(-time.Duration(n)*time.Second).UTC().AppendFormat(nil, time.RFC3339)
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := json.Unmarshal(text, &f.answers); err != nil {
		panic(err)
	}
}

var ago = regexp.MustCompile(`\$MINUS\((\d+)\)`)

// put adds or changes requests.
func (f *fakeAPI) put(requests ...*lab.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range requests {
		kind := "ADDED"
		if slices.ContainsFunc(f.log, func(l logged) bool { return l.request.Name == r.Name }) {
			kind = "MODIFIED"
		}
		f.append(kind, r)
	}
	f.changed.Broadcast()
}

// stream adds requests that are new, which are too many to compare.
func (f *fakeAPI) stream(requests []*lab.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range requests {
		f.append("ADDED", r)
	}
	f.changed.Broadcast()
}

func (f *fakeAPI) append(kind string, r *lab.Request) {
	r.ResourceVersion = strconv.Itoa(len(f.log) + 1)
	r.APIVersion, r.Kind = lab.GroupVersion.String(), "Request"
	object, err := json.Marshal(brief(r))
	if err != nil {
		panic(err)
	}
	line := slices.Concat([]byte(`{"type":"`+kind+`","object":`), object, []byte("}\n"))
	f.log = append(f.log, logged{kind, r, line})
}

// brief returns what lists and watches show of a request: the server finds out the changes and the conflicting writes only
// for a get.
func brief(r *lab.Request) *lab.Request {
	short := *r
	short.Status.Changes = nil
	if r.Status.Cause != nil {
		cause := *r.Status.Cause
		cause.Writes = nil
		short.Status.Cause = &cause
	}
	return &short
}

// cutWatches ends the open watches. With compact, those that resume get 410.
func (f *fakeAPI) cutWatches(compact bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cut++
	if compact {
		f.compacted = len(f.log) + 1
		f.log = append(f.log, f.log[len(f.log)-1])
	}
	f.changed.Broadcast()
}

// count returns the number of requests whose path and query contain a text.
func (f *fakeAPI) count(text string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, g := range f.got {
		if strings.Contains(g, text) {
			n++
		}
	}
	return n
}

func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.got = append(f.got, r.URL.Path+"?"+r.URL.RawQuery)
	answer, known := f.answers[r.URL.Path]
	dump := f.dumps[r.URL.Path]
	f.mu.Unlock()
	switch {
	case r.URL.Path == labPath+"requests":
		f.serveRequests(w, r)
	case strings.HasPrefix(r.URL.Path, labPath+"requests/"):
		f.serveRequest(w, strings.TrimPrefix(r.URL.Path, labPath+"requests/"))
	case r.URL.Path == labPath+"changes":
		all, _ := answer.(map[string]any)
		f.write(w, list(all[r.URL.Query().Get("fieldSelector")]))
	case dump != nil:
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, dump())
	case r.Method == http.MethodPost:
		var body struct {
			Spec map[string]any `json:"spec"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		f.write(w, map[string]any{"status": reviewed(body.Spec)})
	case known && r.URL.Query().Get("watch") == "true":
		w.Header().Set("Content-Type", "application/json")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	case known:
		f.write(w, selected(answer, r.URL.Query().Get("fieldSelector")))
	default:
		f.status(w, http.StatusNotFound, "NotFound", "the fake API has no "+r.URL.Path)
	}
}

// selected returns the objects of a list that metadata.name selects.
func selected(answer any, selector string) any {
	name, ok := strings.CutPrefix(selector, "metadata.name=")
	if !ok {
		return answer
	}
	var found []any
	for _, item := range answer.(map[string]any)["items"].([]any) {
		if item.(map[string]any)["metadata"].(map[string]any)["name"] == name {
			found = append(found, item)
		}
	}
	return list(found)
}

func (f *fakeAPI) write(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (f *fakeAPI) status(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{Status: "Failure", Code: int32(code), Reason: reason, Message: message})
}

func list(items any) map[string]any {
	if items == nil {
		items = []any{}
	}
	return map[string]any{"metadata": map[string]any{"resourceVersion": "1"}, "items": items}
}

// now returns the newest state of each request, in the order of their names.
func (f *fakeAPI) now(keep func(*lab.Request) bool) []*lab.Request {
	newest := map[string]*lab.Request{}
	for _, l := range f.log {
		newest[l.request.Name] = l.request
	}
	var all []*lab.Request
	for _, r := range newest {
		if keep(r) {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b *lab.Request) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// selector returns a predicate of the field selectors that the page sends.
func selector(text string) func(*lab.Request) bool {
	return func(r *lab.Request) bool {
		for part := range strings.SplitSeq(text, ",") {
			switch name, value, _ := strings.Cut(part, "="); name {
			case "verb":
				if r.Spec.Verb != value {
					return false
				}
			case "phase":
				if r.Status.Phase != value {
					return false
				}
			case "userAgent!":
				if r.Spec.UserAgent == value {
					return false
				}
			}
		}
		return true
	}
}

func (f *fakeAPI) serveRequest(w http.ResponseWriter, name string) {
	f.mu.Lock()
	found := f.now(func(r *lab.Request) bool { return r.Name == name })
	f.mu.Unlock()
	if len(found) == 0 {
		f.status(w, http.StatusNotFound, metav1.StatusReasonNotFound, fmt.Sprintf("requests.lab.miniapiserver.io %q not found", name))
		return
	}
	f.write(w, found[0])
}

func (f *fakeAPI) serveRequests(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	keep := selector(q.Get("fieldSelector"))
	from, _ := strconv.Atoi(q.Get("resourceVersion"))
	f.mu.Lock()
	if q.Get("watch") == "" {
		all := f.now(keep)
		for i := range all {
			all[i] = brief(all[i])
		}
		meta := map[string]any{"resourceVersion": strconv.Itoa(len(f.log))}
		begin, _ := strconv.Atoi(q.Get("continue"))
		limit, _ := strconv.Atoi(q.Get("limit"))
		if end := begin + limit; limit > 0 && end < len(all) {
			meta["continue"] = strconv.Itoa(end)
			all = all[:end]
		}
		f.mu.Unlock()
		f.write(w, map[string]any{"metadata": meta, "items": all[begin:]})
		return
	}
	defer f.mu.Unlock()
	if from < f.compacted {
		f.mu.Unlock()
		f.status(w, http.StatusGone, metav1.StatusReasonExpired, "too old resource version")
		f.mu.Lock()
		return
	}
	stop := contextEnds(r, f)
	defer stop()
	cut := f.cut
	w.Header().Set("Content-Type", "application/json")
	w.(http.Flusher).Flush()
	for f.cut == cut && r.Context().Err() == nil {
		if from >= len(f.log) {
			f.changed.Wait()
			continue
		}
		var out []byte
		for ; from < len(f.log); from++ {
			if keep(f.log[from].request) {
				out = append(out, f.log[from].line...)
			}
		}
		f.mu.Unlock()
		_, _ = w.Write(out)
		w.(http.Flusher).Flush()
		f.mu.Lock()
	}
}

// contextEnds wakes a watch when its client has gone.
func contextEnds(r *http.Request, f *fakeAPI) func() {
	done := make(chan struct{})
	go func() {
		select {
		case <-r.Context().Done():
		case <-done:
		}
		f.changed.Broadcast()
	}()
	return func() { close(done) }
}
