package conversation

import (
	"bytes"
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
)

// recordedStep returns a step of a recording.
func recordedStep(method, path, body string, start, end float64, status int, answer any) Step {
	return Step{ID: path, Method: method, Path: path, Body: json.RawMessage(body), Timing: &Timing{Start: start, Answer: end, End: end},
		Expect: map[string]any{"status": jsonInt(status), "headers": map[string]any{"content-type": "application/json"}, "body": answer}}
}

// store is a server that generates names, uids and resourceVersions, and watches with them. It notes the requests.
type store struct {
	mu       sync.Mutex
	seen     []string
	version  int
	meet     chan bool
	added    chan string
	arrivals map[string]time.Time
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body bytes.Buffer
	_, _ = body.ReadFrom(r.Body)
	s.mu.Lock()
	s.seen = append(s.seen, strings.TrimSpace(r.Method+" "+r.RequestURI+" "+body.String()))
	s.version++
	n := s.version
	s.arrivals[r.URL.Path] = time.Now()
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	object := fmt.Sprintf(`{"metadata":{"name":"a-x%03dx","generateName":"a-","uid":"123e4567-e89b-12d3-a456-%012d","resourceVersion":"%d"}}`, n, n, 1000+n)
	switch {
	case r.URL.Query().Get("watch") != "":
		_ = http.NewResponseController(w).Flush()
		for {
			select {
			case added := <-s.added:
				fmt.Fprintf(w, `{"type":"ADDED","object":%s}`+"\n", added)
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			}
		}
	case r.Method == http.MethodPost:
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, object)
		s.added <- object
	case r.URL.Path == "/slow1":
		select { // answered only while /slow2 is served
		case s.meet <- true:
		case <-r.Context().Done():
		}
		fmt.Fprint(w, `{}`)
	case r.URL.Path == "/slow2":
		select {
		case <-s.meet:
		case <-r.Context().Done():
		}
		fmt.Fprint(w, `{}`)
	default:
		fmt.Fprint(w, `{}`)
	}
}

// TestTimedReplay checks that a recording is sent with the values of the new server, in the order of its causes, and concurrently where
// it was.
func TestTimedReplay(t *testing.T) {
	made := map[string]any{"metadata": map[string]any{"name": "a-old01", "generateName": "a-", "uid": "00000000-0000-0000-0000-000000000001", "resourceVersion": "7"}}
	events := 1
	watch := recordedStep("GET", "/watch?watch=1", "", 0, 0.050, 200, nil)
	watch.Stream, watch.Timing.Answer, watch.Timing.Events = &Stream{Events: &events}, 0.001, []float64{0.012}
	watch.Expect = map[string]any{"status": jsonInt(200), "headers": map[string]any{"content-type": "application/json"},
		"events": []any{map[string]any{"type": "ADDED", "object": made}}}
	steps := []Step{
		watch,
		recordedStep("POST", "/make", `{"a":1}`, 0.010, 0.011, 201, made),
		recordedStep("PUT", "/a-old01", `{"metadata":{"uid":"00000000-0000-0000-0000-000000000001","resourceVersion":"7"},"other":"7"}`, 0.013, 0.014, 200, map[string]any{}),
		recordedStep("GET", "/slow1?fieldSelector=metadata.name%3Da-old01", "", 0.020, 0.030, 200, map[string]any{}),
		recordedStep("GET", "/slow2", "", 0.021, 0.029, 200, map[string]any{}),
		recordedStep("PATCH", "/last", `[{"op":"test","path":"/metadata/resourceVersion","value":"7"}]`, 0.040, 0.041, 200, map[string]any{"missing": "x"}),
	}
	for _, fast := range []bool{true, false} {
		s := &store{added: make(chan string, 10), meet: make(chan bool), arrivals: map[string]time.Time{}}
		server := httptest.NewServer(s)
		begin := time.Now()
		results, err := Replayer{Server: server.URL, Fast: fast}.Run(t.Context(), []File{{Group: "g", Scenarios: []Scenario{{Name: "r", Steps: steps}}}})
		if err != nil {
			t.Fatal(err)
		}
		server.Close()
		var differ []string
		for _, r := range results {
			if !r.Agrees() {
				differ = append(differ, fmt.Sprint(r.Step.Path, r.Differences))
			}
		}
		if want := []string{`/last[body.missing: want "x" got "<absent>"]`}; !slices.Equal(differ, want) {
			t.Errorf("fast %t: %v", fast, differ)
		}
		want := []string{"GET /readyz", "GET /watch?watch=1", `POST /make {"a": 1}`,
			`PUT /a-x003x {"metadata": {"resourceVersion": "1003", "uid": "123e4567-e89b-12d3-a456-000000000003"}, "other": "7"}`}
		if !slices.Equal(s.seen[:4], want) {
			t.Errorf("fast %t: %q", fast, s.seen)
		}
		if !slices.Contains(s.seen[4:6], "GET /slow1?fieldSelector=metadata.name%3Da-x003x") {
			t.Errorf("fast %t: %q", fast, s.seen[4:])
		}
		if got, want := s.seen[6], `PATCH /last [{"op": "test", "path": "/metadata/resourceVersion", "value": "1003"}]`; got != want {
			t.Errorf("fast %t: %s", fast, got)
		}
		if at := s.arrivals["/last"].Sub(begin); !fast && at < 40*time.Millisecond {
			t.Errorf("the last request came after %v", at)
		}
	}
}

// TestTimeline checks what a request waits for.
func TestTimeline(t *testing.T) {
	steps := []Step{recordedStep("GET", "/a", "", 0, 0.5, 200, nil), recordedStep("GET", "/b", "", 0.1, 0.2, 200, nil)}
	line := newTimeline(steps)
	for at, want := range map[float64]int{0: 0, 0.2: 0, 0.3: 1, 0.6: 2} {
		if got := line.before(at); got != want {
			t.Errorf("before %v: %d", at, got)
		}
	}
	line.reach(0, -1)
	if line.prefix != 0 {
		t.Error("the end of a counts before that of b")
	}
	if line.reach(1, -1); line.prefix != 2 {
		t.Errorf("prefix %d", line.prefix)
	}
}

// TestLearn checks which received values stand for recorded ones.
func TestLearn(t *testing.T) {
	for _, c := range []struct {
		want, got, sent, bound string
	}{
		{`{"metadata":{"resourceVersion":"5"}}`, `{"metadata":{"resourceVersion":"9"}}`, `{"resourceVersion":"5","x":"5"}`, `{"resourceVersion":"9","x":"5"}`},
		{`{"spec":{"clusterIP":"10.0.0.1","ports":[{"nodePort":30001}]}}`, `{"spec":{"clusterIP":"10.0.0.2","ports":[{"nodePort":30009}]}}`,
			`{"clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],"nodePort":30001}`, `{"clusterIP":"10.0.0.2","clusterIPs":["10.0.0.2"],"nodePort":30009}`},
		{`{"items":[{"metadata":{"name":"b","resourceVersion":"5"}}],"metadata":{"resourceVersion":"5"}}`,
			`{"items":[{"metadata":{"name":"a","resourceVersion":"7"}},{"metadata":{"name":"b","resourceVersion":"8"}}],"metadata":{"resourceVersion":"9"}}`,
			`{"resourceVersion":"5"}`, `{"resourceVersion":"8"}`},
		{`{"status":{"token":"lab-redacted-3"}}`, `{"status":{"token":"secret"}}`, `{"spec":{"token":"lab-redacted-3"},"data":{"k":"bGFiLXJlZGFjdGVkLTM="}}`,
			`{"spec":{"token":"secret"},"data":{"k":"c2VjcmV0"}}`},
		{`{"data":{"k":"x"}}`, `{"data":{"k":"y"}}`, `{"k":"x"}`, `{"k":"x"}`},
	} {
		b := newBinder(normaliser{})
		b.learn(value(t, c.want), value(t, c.got), "")
		s := b.request(Step{Path: "/", Timing: &Timing{}, Body: json.RawMessage(c.sent)})
		if got := value(t, string(s.Body)); !reflect.DeepEqual(got, value(t, c.bound)) {
			t.Errorf("%s becomes %s", c.sent, s.Body)
		}
	}
	b := newBinder(normaliser{})
	b.learn(value(t, `{"clusterIP":"10.0.0.1","nodePort":30001}`), value(t, `{"clusterIP":"10.0.0.2","nodePort":30009}`), "")
	if got := b.expected(map[string]any{"cells": []any{"10.0.0.1", "80:30001/TCP", "10.0.0.10"}}); !reflect.DeepEqual(got, map[string]any{"cells": []any{"10.0.0.2", "80:30009/TCP", "10.0.0.10"}}) {
		t.Error(got)
	}
	b.learn(value(t, `{"items":[],"metadata":{"resourceVersion":"5","continue":"abc"}}`), value(t, `{"items":[],"metadata":{"resourceVersion":"9","continue":"xyz"}}`), "")
	if got := b.path("/p?resourceVersion=5&continue=abc&limit=5"); got != "/p?resourceVersion=9&continue=xyz&limit=5" {
		t.Error(got)
	}
}

// TestRecording checks that a recording is read as it was written, and that nonsense is an error.
func TestRecording(t *testing.T) {
	var out bytes.Buffer
	head := Head{Name: "r", Begin: time.Unix(1, 0).UTC(), Hidden: 2}
	w, err := NewWriter(&out, head)
	if err != nil {
		t.Fatal(err)
	}
	step := recordedStep("GET", "/a?b=c&d=e", "", 1, 2, 200, "text")
	step.Headers = map[string]string{"Impersonate-Group": "a\nb"}
	if err := w.Write(&step); err != nil {
		t.Fatal(err)
	}
	gotHead, steps, err := ReadRecording(bytes.NewReader(out.Bytes()))
	if err != nil || gotHead != head || len(steps) != 1 || !reflect.DeepEqual(steps[0].Timing, step.Timing) || steps[0].Path != step.Path {
		t.Errorf("%+v %+v %v", gotHead, steps, err)
	}
	for _, text := range []string{"", "{}", `{"recording":{"name":"r"}}` + "\nx", `{"recording":{"name":"r"}}` + "\n" + `{"method":"GET"}`} {
		if _, _, err := ReadRecording(strings.NewReader(text)); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
	var har bytes.Buffer
	if err := WriteHAR(&har, head, []*Step{&step, &step}); err != nil {
		t.Fatal(err)
	}
	var archive struct {
		Log struct {
			Version string
			Comment string
			Entries []struct {
				Time    float64
				Request struct {
					Headers     []harPair
					QueryString []harPair
				}
				Response struct{ Content struct{ Text string } }
			}
		}
	}
	if err := json.Unmarshal(har.Bytes(), &archive); err != nil {
		t.Fatalf("%v in %s", err, har.String())
	}
	l := archive.Log
	if l.Version != "1.2" || !strings.Contains(l.Comment, "2 requests") || len(l.Entries) != 2 || l.Entries[0].Time != 1000 ||
		len(l.Entries[1].Request.Headers) != 2 || len(l.Entries[0].Request.QueryString) != 2 || l.Entries[0].Response.Content.Text != "text" {
		t.Errorf("%+v", l)
	}
}
