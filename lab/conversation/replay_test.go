package conversation

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// fake is a server that stores objects and streams.
type fake struct {
	mu       sync.Mutex
	requests []string
	calls    int
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	f.requests = append(f.requests, r.Method+" "+r.RequestURI+" "+r.Header.Get("Authorization")+" "+string(body))
	f.calls++
	calls := f.calls
	f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/watch":
		for i := range 3 {
			fmt.Fprintf(w, `{"type":"ADDED","object":{"n":%d}}`+"\n", i)
		}
	case "/calls":
		fmt.Fprintf(w, `{"calls":%d,"enough":%t}`, calls, calls >= 5)
	case "/text":
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, "ok 123e4567-e89b-12d3-a456-426614174000")
	case "/binary":
		w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
		fmt.Fprint(w, "k8s\x00rest")
	default:
		w.Header().Add("Warning", "one")
		w.Header().Add("Warning", "two")
		fmt.Fprintf(w, `{"path":%q,"ns":%q}`, r.URL.Path, r.URL.Query().Get("ns"))
	}
}

// replayed runs the steps of one scenario against a fake.
func replayed(t *testing.T, r Replayer, scenario string) ([]Result, *fake) {
	t.Helper()
	var s Scenario
	dec := json.NewDecoder(strings.NewReader(scenario))
	dec.UseNumber()
	if err := dec.Decode(&s); err != nil {
		t.Fatal(err)
	}
	f := &fake{}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	r.Server, r.Token = server.URL, "secret"
	results, err := r.Run(t.Context(), []File{{Group: "g", Scenarios: []Scenario{s}}})
	if err != nil {
		t.Fatal(err)
	}
	return results, f
}

func TestReplay(t *testing.T) {
	results, f := replayed(t, Replayer{NoServiceAccounts: true}, `{"name":"A b/C","cleanup":["/x/${id}"],"steps":[
		{"id":"saved","method":"GET","path":"/${ns}?ns=${id}","save":{"v":"path","none":"a.b"},
		 "expect":{"status":200,"headers":{"content-type":"application/json","warning":"one\ntwo"},"body":{"path":"/p-a-b-c-<id>","ns":"<id>"}}},
		{"id":"used","method":"POST","path":"/y é${v}?ns=${none}","token":"","body":{"v":"${v}","u":"${unknown}"},"only":["ns"],
		 "expect":{"status":200,"headers":{"content-type":"application/json"},"only":{"ns":"None"}},"ignore":["headers.warning"]},
		{"id":"slashes","method":"GET","path":"//a//b?x=%zz","only":[],"ignore":["headers.warning"],
		 "expect":{"status":200,"headers":{"content-type":"application/json"}}},
		{"id":"stream","method":"GET","path":"/watch","stream":{"events":2},
		 "expect":{"status":200,"headers":{"content-type":"application/json"},"events":[{"type":"ADDED","object":{"n":0}},{"type":"ADDED","object":{"n":1}}]}},
		{"id":"closed","method":"GET","path":"/watch","stream":{},"ignore":["object"],
		 "expect":{"status":200,"headers":{"content-type":"application/json"},"events":[{"type":"ADDED"},{"type":"ADDED"},{"type":"ADDED"},{"type":"<closed>"}]}},
		{"id":"text","method":"GET","path":"/text","expect":{"status":200,"headers":{"content-type":"text/plain"},"body":"ok <uid>"}},
		{"id":"binary","method":"GET","path":"/binary","expect":{"status":200,"headers":{"content-type":"application/vnd.kubernetes.protobuf"},"body":{"bytes":"6b387300"}}},
		{"id":"differs","method":"GET","path":"/text","only":[],"expect":{"status":404,"headers":{}}}]}`)
	for _, r := range results[:len(results)-1] {
		if !r.Agrees() {
			t.Errorf("%s: %v", r.Name(), r.Differences)
		}
	}
	last := results[len(results)-1]
	if got := fmt.Sprint(last.Differences); got != `[headers.content-type: want "<absent>" got "text/plain" status: want 404 got 200]` {
		t.Errorf("%s: %s", last.Name(), got)
	}
	id := strings.TrimPrefix(f.requests[2][strings.Index(f.requests[2], "=")+1:], "=")[:5]
	for i, want := range []string{
		"GET /readyz Bearer secret ",
		`POST /api/v1/namespaces Bearer secret {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "p-a-b-c-ID"}}`,
		"GET /p-a-b-c-ID?ns=ID Bearer secret ",
		`POST /y%20%C3%A9/p-a-b-c-ID?ns=None  {"v": "/p-a-b-c-ID", "u": "${unknown}"}`,
		"GET //a//b?x=%zz Bearer secret ",
		"GET /watch Bearer secret ", "GET /watch Bearer secret ", "GET /text Bearer secret ",
		"GET /binary Bearer secret ", "GET /text Bearer secret ",
		"DELETE /api/v1/namespaces/p-a-b-c-ID Bearer secret ",
		"DELETE /x/ID Bearer secret ",
	} {
		if got := strings.ReplaceAll(f.requests[i], id, "ID"); got != want {
			t.Errorf("request %d: %s, want %s", i, got, want)
		}
	}
}

func TestRetry(t *testing.T) {
	const scenario = `{"name":"x","namespace":false,"steps":[
		{"id":"retried","method":"GET","path":"/calls","retry":{"until":{"enough":true},"seconds":30},"only":["enough"],
		 "expect":{"status":200,"headers":{"content-type":"application/json"},"only":{"enough":%s}}}]}`
	results, _ := replayed(t, Replayer{}, fmt.Sprintf(scenario, "true"))
	if !results[0].Agrees() {
		t.Error(results[0].Differences)
	}
	// A condition that holds for another reason does not end the retries.
	const early = `{"name":"x","namespace":false,"steps":[
		{"id":"retried","method":"GET","path":"/calls","retry":{"until":200,"seconds":30},"only":["enough"],
		 "expect":{"status":200,"headers":{"content-type":"application/json"},"only":{"enough":true}}}]}`
	if results, _ = replayed(t, Replayer{}, early); !results[0].Agrees() {
		t.Error(results[0].Differences)
	}
	impatient := Replayer{RetryLimit: func(name string, wanted time.Duration) time.Duration {
		if name != "g x / retried" || wanted != 30*time.Second {
			t.Errorf("patience was asked for %s, %s", name, wanted)
		}
		return 0
	}}
	if results, _ = replayed(t, impatient, fmt.Sprintf(scenario, "false")); !results[0].Agrees() {
		t.Error(results[0].Differences)
	}
}

func TestRunWithoutServer(t *testing.T) {
	for _, server := range []string{"", "no url\n", "http://127.0.0.1:1"} {
		if _, err := (Replayer{Server: server}).Run(t.Context(), nil); err == nil {
			t.Errorf("%q: no error", server)
		}
	}
}

func TestLoad(t *testing.T) {
	packed, err := filepath.Glob("../../conformance/testdata/conversations/*.json.gz")
	if err != nil || len(packed) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	files, err := Load(packed...)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		names := map[string]bool{}
		for _, s := range f.Scenarios {
			for _, step := range s.Steps {
				name := stepName(f.Group, s.Name, step.ID)
				if names[name] || strings.Contains(name, "\t") {
					t.Errorf("%s: the name is there already, or has a tab", name)
				}
				names[name] = true
			}
		}
	}
	plain := filepath.Join(t.TempDir(), "a.json")
	if err := os.WriteFile(plain, []byte(`{"scenarios":[{"name":"x"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if files, err = Load(plain); err != nil || files[0].Group != "a" || files[0].Scenarios[0].Name != "x" {
		t.Errorf("Load = %+v, %v", files, err)
	}
	for _, path := range []string{"none.json", "doc.go"} {
		if _, err := Load(path); err == nil {
			t.Errorf("%s: no error", path)
		}
	}
}
