package random

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/miniapiserver/miniapiserver/lab/conversation"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestGenerateIsRepeatable checks that a seed determines a story, that others differ, and that stories
// have the length that was asked for.
func TestGenerateIsRepeatable(t *testing.T) {
	for _, class := range slices.Compact(Classes()) {
		first, err := json.Marshal(Generate(class, 1, 40))
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			again, err := json.Marshal(Generate(class, 1, 40))
			if err != nil {
				t.Fatal(err)
			}
			if string(again) != string(first) {
				t.Fatalf("%s: the same seed gives another story", class)
			}
		}
		others := 0
		for seed := range uint64(20) {
			s := Generate(class, seed, 40)
			if n := len(s.Steps); n < 40 || n > 75 {
				t.Errorf("%s, seed %d: %d steps instead of about 40", class, seed, n)
			}
			if text, err := json.Marshal(s); err != nil || string(text) != string(first) {
				others++
			}
		}
		if others < 19 {
			t.Errorf("%s: other seeds give the same story", class)
		}
	}
}

func TestChange(t *testing.T) {
	remove := func(any) (any, bool) { return nil, false }
	for _, c := range []struct {
		text string
		path []any
		want string
	}{
		{`{"a":{"b":1,"c":2}}`, []any{"a", "b"}, `{"a":{"c":2}}`},
		{`{"a":[1,2,3]}`, []any{"a", 1}, `{"a":[1,3]}`},
		{`{"a":[[1,2],{"b":[3]}]}`, []any{"a", 1, "b", 0}, `{"a":[[1,2],{"b":[]}]}`},
		{`{"a":[[1,2]]}`, []any{"a", 0, 0}, `{"a":[[2]]}`},
		{`{"a":1}`, []any{"b", "c"}, `{"a":1}`},
	} {
		var o any
		if err := json.Unmarshal([]byte(c.text), &o); err != nil {
			t.Fatal(err)
		}
		change(o, c.path, remove)
		if got, err := json.Marshal(o); err != nil || string(got) != c.want {
			t.Errorf("%s without %v is %s, want %s", c.text, c.path, got, c.want)
		}
	}
}

// peers returns an arena of two servers that respond as given.
func peers(t *testing.T, reference, subject http.HandlerFunc) Arena {
	t.Helper()
	peer := func(handler http.HandlerFunc) *conversation.Peer {
		s := httptest.NewServer(handler)
		t.Cleanup(s.Close)
		p, err := conversation.NewPeer(t.Context(), conversation.Replayer{Server: s.URL, NoServiceAccounts: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Close)
		return p
	}
	return Arena{Reference: peer(reference), Subject: peer(subject), Patience: 80 * time.Millisecond}
}

// counter responds with the number of POSTs to each path, and differs for GET /sum if faulty.
func counter(faulty bool) http.HandlerFunc {
	var mu sync.Mutex
	counts := map[string]int{}
	return func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		namespace := r.URL.Query().Get("ns")
		if r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/add") {
			counts[namespace+r.URL.Path]++
		}
		sum := counts[namespace+"/add1"] + counts[namespace+"/add2"]
		if faulty && sum > 2 {
			sum = 2
		}
		fmt.Fprintf(w, `{"sum":%d}`, sum)
	}
}

// TestReduce checks that a difference is found, and that its story becomes as small as it can be: three
// writes of the ones that count, without their bodies, and the read.
func TestReduce(t *testing.T) {
	arena := peers(t, counter(false), counter(true))
	s := conversation.Scenario{Name: "counts-1"}
	add := func(method, path string) {
		step := conversation.Step{ID: fmt.Sprint(len(s.Steps)), Method: method, Path: path + "?ns=${ns}"}
		if method == http.MethodPost {
			step.Body, step.Only = json.RawMessage(`{"a":{"b":1},"c":[1,2]}`), []string{}
		}
		s.Steps = append(s.Steps, step)
	}
	for _, path := range []string{"/add1", "/other", "/add2", "/other", "/other", "/add1", "/add2", "/other"} {
		add(http.MethodPost, path)
	}
	add(http.MethodGet, "/sum")
	steps, findings, err := arena.Play(t.Context(), s)
	if err != nil || steps != len(s.Steps) || len(findings) != 1 {
		t.Fatalf("%d steps, %d differ, %v: want %d steps of which one differs", steps, len(findings), err, len(s.Steps))
	}
	reduced := arena.Reduce(t.Context(), findings[0])
	var methods []string
	for _, step := range reduced.Scenario.Steps {
		methods = append(methods, step.Method)
		if step.Method == http.MethodPost && string(step.Body) != "{}" {
			t.Errorf("%s still has the body %s", step.Path, step.Body)
		}
	}
	if want := []string{"POST", "POST", "POST", "GET"}; !reflect.DeepEqual(methods, want) {
		t.Errorf("the reduced story is %v, want %v", methods, want)
	}
}

// TestPlayEndsAfterDifferentWrites checks that a story ends with a write that had different results, and
// goes on after reads and refusals that differ.
func TestPlayEndsAfterDifferentWrites(t *testing.T) {
	respond := func(code int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if r.URL.Path == "/refused" {
				w.WriteHeader(code)
			}
			fmt.Fprint(w, text)
		}
	}
	arena := peers(t, respond(422, `{"a":1}`), respond(400, `{"a":2}`))
	s := conversation.Scenario{Name: "ends-1", Steps: []conversation.Step{
		{ID: "refused", Method: "POST", Path: "/refused"}, {ID: "written", Method: "POST", Path: "/written"}, {ID: "after", Method: "GET", Path: "/after"},
	}}
	steps, findings, err := arena.Play(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if steps != 2 || len(findings) != 2 {
		t.Errorf("%d steps were played and %d differ, want 2 and 2", steps, len(findings))
	}
}

// TestAnswersThatVary checks that two servers that choose one of the same answers agree.
func TestAnswersThatVary(t *testing.T) {
	varying := func(start int) http.HandlerFunc {
		var mu sync.Mutex
		n := start
		return func(w http.ResponseWriter, _ *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			n++
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"message":"one of %d"}`, n%2)
		}
	}
	arena := peers(t, varying(0), varying(1))
	s := conversation.Scenario{Name: "varies-1", Steps: []conversation.Step{{ID: "a", Method: "POST", Path: "/a"}}}
	if _, findings, err := arena.Play(t.Context(), s); err != nil || len(findings) > 0 {
		t.Errorf("%d differences, %v: want none", len(findings), err)
	}
}
