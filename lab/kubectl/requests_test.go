package kubectl

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/lab/kubectl/client"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// TestRequests checks the table, the filters and what of them the server is asked for.
func TestRequests(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		// ids are the first letters of the IDs that are shown, in order.
		ids      string
		selector string // of the list
	}{
		"all, without those of the command": {nil, "1 2 3 4 5 7", ""},
		"a user":                            {[]string{"--user", "jane"}, "2 3 4 7", "user%3Djane"},
		"a service account":                 {[]string{"--user", "sa/ci:deployer"}, "1", "user%3Dsystem%3Aserviceaccount%3Aci%3Adeployer"},
		"users by patterns":                 {[]string{"--user", "*job*,*deployer"}, "1 5", ""},
		"an agent":                          {[]string{"--agent", "kubectl-lab/*"}, "6", ""},
		"a verb":                            {[]string{"--verb", "patch"}, "4", "verb%3Dpatch"},
		"verbs":                             {[]string{"--verb", "patch,delete"}, "1 4", ""},
		"a short name":                      {[]string{"--resource", "deploy"}, "2 3", "resource%3Ddeployments"},
		"another group":                     {[]string{"--resource", "nodes.example.com"}, "", "resource%3Dnodes"},
		"a resource pattern":                {[]string{"--resource", "*o*"}, "1 2 3 4 5", ""},
		"a namespace":                       {[]string{"-n", "shop"}, "1 2 3", "namespace%3Dshop"},
		"all namespaces":                    {[]string{"-n", "shop", "-A"}, "1 2 3 4 5 7", ""},
		"a name":                            {[]string{"--name", "web"}, "1 2 3", "objectName%3Dweb"},
		"a code":                            {[]string{"--code", "409"}, "3", "code%3D409"},
		"a class":                           {[]string{"--code", "2xx"}, "2 5 7", ""},
		"errors":                            {[]string{"--errors"}, "1 3 4", ""},
		"slow ones":                         {[]string{"--slow", "1ms"}, "2 4", ""},
		"the newest":                        {[]string{"--limit", "2"}, "5 7", ""},
		"two conditions":                    {[]string{"--user", "jane", "--errors", "--verb", "update"}, "3", "user%3Djane%2Cverb%3Dupdate"},
	} {
		f := newFake(t)
		f.requests = sampleRequests()
		got := f.run(append([]string{"requests"}, c.args...)...)
		var ids []string
		for line := range strings.Lines(got.stdout) {
			if cells := strings.Fields(line); cells[0] != "TIME" {
				ids = append(ids, cells[1][7:])
			}
		}
		if strings.Join(ids, " ") != c.ids || got.code != 0 {
			t.Errorf("%s: %v, want %s: %+v", name, ids, c.ids, got)
		}
		if c.selector != "" && !f.sent("fieldSelector="+c.selector+"&") && !f.sent("fieldSelector="+c.selector) || c.selector == "" && f.sent("fieldSelector") {
			t.Errorf("%s: the server was asked %q", name, f.seen)
		}
	}
}

// TestRequestsTable compares the table with a file.
func TestRequestsTable(t *testing.T) {
	f := newFake(t)
	f.requests = sampleRequests()
	golden(t, "requests.txt", f.run("requests").stdout)
	golden(t, "requests-color.txt", f.run("requests", "--color", "always", "--errors").stdout)
	golden(t, "watches.txt", f.run("watches").stdout)
	if got := f.run("requests", "-o", "json", "--limit", "1"); !strings.Contains(got.stdout, `"kind": "RequestList"`) || !strings.Contains(got.stdout, discoverID) {
		t.Errorf("%+v", got)
	}
	f.requests = []v1alpha1.Request{}
	if got := f.run("requests"); got.stdout != "" || got.stderr != "note: no requests match\n" {
		t.Errorf("%+v", got)
	}
}

// TestRequestsLimits checks wrong flags.
func TestRequestsLimits(t *testing.T) {
	f := newFake(t)
	f.requests = sampleRequests()
	for flags, want := range map[string]string{
		"--limit -1":      "--limit: -1 is negative",
		"--code 7":        `--code: "7" is neither a status`,
		"--code 9xx":      `--code: "9xx" is neither`,
		"--user a[":       `--user: "a[" is not a pattern`,
		"--resource podz": `--resource: the server has no resource "podz"; the nearest is pods`,
		"-o table":        `--output: "table" is neither json nor yaml`,
		"--color red":     `--color: "red" is none of auto, always, never`,
		"--verbz get":     "unknown flag: --verbz (see kubectl lab requests --help)",
	} {
		if got := f.run(append([]string{"requests"}, strings.Fields(flags)...)...); got.code != 1 || !strings.HasPrefix(got.stderr, "error: "+want) {
			t.Errorf("%s: %+v, want %q", flags, got, want)
		}
	}
}

// TestManyRequests lists 20,000 requests: in pages, of which only the newest are kept.
func TestManyRequests(t *testing.T) {
	f := newFake(t)
	const many = 20_000
	f.requests = make([]v1alpha1.Request, many)
	for i := range f.requests {
		// The times go up and down, as the names of a list are not in the order of time.
		f.requests[i] = v1alpha1.Request{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("r", i)},
			Spec:   v1alpha1.RequestSpec{Time: at(int64(i * 7919 % many)), Verb: "get", Resource: "pods", User: "u"},
			Status: v1alpha1.RequestStatus{Phase: "Complete", Code: 200, Microseconds: int64(i)}}
	}
	got := f.run("requests", "--limit", "3")
	if lines := strings.Split(strings.TrimSpace(got.stdout), "\n"); len(lines) != 4 || !strings.HasPrefix(lines[3], at(many-1).Format("15:04:05.000")) {
		t.Errorf("%+v", got)
	}
	if got.stderr != "note: 19997 requests older; --limit 0 shows them\n" {
		t.Errorf("%q", got.stderr)
	}
	if len(f.seen) != many/500 {
		t.Errorf("%d pages", len(f.seen))
	}
	if got := f.run("requests", "--limit", "0"); strings.Count(got.stdout, "\n") != many+1 {
		t.Errorf("%d lines", strings.Count(got.stdout, "\n"))
	}
	n := &newestRequests{limit: 3}
	for i := range f.requests {
		n.add(f.requests[i])
		if len(n.kept) > 2*3+pageOfRequests {
			t.Fatalf("%d requests in memory", len(n.kept))
		}
	}
}

// lines is a writer that passes on lines.
type lines struct {
	mu   sync.Mutex
	rest string
	to   chan string
}

func newLines() *lines { return &lines{to: make(chan string, 1000)} }

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest += string(b)
	for {
		line, rest, found := strings.Cut(l.rest, "\n")
		if !found {
			return len(b), nil
		}
		l.to <- line
		l.rest = rest
	}
}

// next returns the next line with a text.
func (l *lines) next(t *testing.T, text string) string {
	t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case line := <-l.to:
			if strings.Contains(line, text) {
				return line
			}
		case <-timeout:
			t.Fatalf("no line with %q", text)
		}
	}
}

// start runs a command in the background until the test ends it.
func (f *fake) start(args ...string) (stdout, stderr *lines, end func() int) {
	ctx, cancel := context.WithCancel(f.t.Context())
	stdout, stderr = newLines(), newLines()
	code := make(chan int, 1)
	go func() { code <- f.runWith(ctx, stdout, stderr, args...) }()
	end = func() int {
		cancel()
		status := <-code
		code <- status // for another call
		return status
	}
	f.t.Cleanup(func() { end() })
	return stdout, stderr, end
}

func event(kind string, object any) map[string]any {
	return map[string]any{"type": kind, "object": object}
}

// TestFollow checks the live tail: new requests once, long ones at both ends, a connection that ends, and what is forgotten.
func TestFollow(t *testing.T) {
	f := newFake(t)
	f.requests = sampleRequests()[:1]
	stdout, stderr, end := f.start("requests", "-w")
	stdout.next(t, "00000002")
	if uri := f.nextWatch(); !strings.Contains(uri, "resourceVersion=100") {
		t.Error(uri)
	}
	request := func(id int, phase string, code int32) v1alpha1.Request {
		return v1alpha1.Request{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("00000000-0000-4000-8000-00009999%04d", id), ResourceVersion: fmt.Sprint(200 + id)},
			Spec: v1alpha1.RequestSpec{Time: at(0), Verb: "get", URI: "/x"}, Status: v1alpha1.RequestStatus{Phase: phase, Code: code}}
	}
	f.send(event("ADDED", request(1, "Running", 0))) // no answer yet: not shown
	f.send(event("MODIFIED", request(1, "Complete", 200)))
	if line := stdout.next(t, "9999000"); !strings.Contains(line, "99990001") || strings.Contains(line, "runs") {
		t.Error(line)
	}
	f.send(event("ADDED", request(2, "Running", 200)))
	f.send(event("MODIFIED", request(2, "Running", 200))) // shown already
	f.send(event("MODIFIED", request(2, "Complete", 200)))
	if line := stdout.next(t, "9999000"); !strings.Contains(line, "runs") {
		t.Error(line)
	}
	if line := stdout.next(t, "9999000"); !strings.Contains(line, "99990002") || strings.Contains(line, "runs") {
		t.Error(line)
	}
	f.send(event("BOOKMARK", request(9, "", 0)))
	f.send(nil) // the connection ends
	if uri := f.nextWatch(); !strings.Contains(uri, "resourceVersion=209") {
		t.Errorf("the watch goes on with %s", uri)
	}
	f.send(event("DELETED", request(1, "Complete", 200)))
	f.send(event("ERROR", status(410, metav1.StatusReasonExpired, "too old", "")))
	stderr.next(t, "the server dropped requests")
	f.nextWatch()
	f.send(event("ADDED", request(3, "Complete", 500)))
	stdout.next(t, "99990003")
	if code := end(); code != 0 {
		t.Errorf("ends with %d", code)
	}
}

// TestFollowObjects checks -w with -o, which prints an object after the other.
func TestFollowObjects(t *testing.T) {
	f := newFake(t)
	f.requests = sampleRequests()[:1]
	stdout, _, end := f.start("requests", "-w", "-o", "json")
	f.nextWatch()
	f.send(event("ADDED", sampleRequests()[1]))
	stdout.next(t, deniedID)
	end()
}

// TestTop checks the numbers of clients, and that the window moves.
func TestTop(t *testing.T) {
	f := newFake(t)
	f.requests = sampleRequests()
	golden(t, "top.txt", f.run("top").stdout)
	f.requests[0].Spec.Time = metav1.NewMicroTime(now.Add(-time.Hour))
	if got := f.run("top", "-o", "json"); strings.Contains(got.stdout, `"requests": 4`) || !strings.Contains(got.stdout, `"requests": 3`) {
		t.Errorf("%+v", got)
	}
	if got := f.run("top", "--window", "10ms"); got.code != 1 {
		t.Errorf("%+v", got)
	}
	stdout, _, end := f.start("top", "-w", "--interval", "100ms")
	f.nextWatch()
	r := sampleRequests()[0]
	r.Spec.User, r.ResourceVersion = "newcomer", "300"
	f.send(event("ADDED", r))
	stdout.next(t, "newcomer")
	if code := end(); code != 0 {
		t.Errorf("ends with %d", code)
	}
}

// TestSamples checks that the memory of top is bounded.
func TestSamples(t *testing.T) {
	w := &traffic{window: time.Minute, now: func() time.Time { return now }}
	item, err := json.Marshal(sampleRequests()[0])
	if err != nil {
		t.Fatal(err)
	}
	w.requests = make([]sample, maxSamples)
	if err := w.add(item); err != nil || len(w.requests) > maxSamples {
		t.Errorf("%d samples, %v", len(w.requests), err)
	}
	if got := w.clients(); len(got) != 1 || got[0].Requests != 1 {
		t.Errorf("%+v", got)
	}
}

// TestBrokenAnswers checks that nothing that a server sends crashes the command.
func TestBrokenAnswers(t *testing.T) {
	for _, args := range [][]string{{"requests"}, {"requests", "-w"}, {"explain", "last"}, {"explain", "x"}, {"watches"}, {"top"}, {"top", "-w"}, {"levels"},
		{"history", "deploy/web"}, {"blame", "deploy/web"}, {"diff", "deploy/web"}, {"who-can", "get", "pods"}, {"can"}} {
		for _, body := range []any{"", "{", "[]", "null", `{"items":[1]}`, `{"items":[{"metadata":1}]}`, `{"metadata":{"continue":1}}`, `{"status":[]}`, "a, b\nc"} {
			f := newFake(t)
			for _, path := range []string{"requests", "requests/x", "changes"} {
				f.answers[labPath+path] = body
			}
			f.answers["/apis/apps/v1/namespaces/default/deployments/web"] = body
			f.answers["/debug/api_priority_and_fairness/dump_priority_levels"], f.answers["/debug/api_priority_and_fairness/dump_queues"] = body, body
			for _, path := range []string{"clusterroles", "clusterrolebindings", "namespaces/default/roles", "namespaces/default/rolebindings"} {
				f.answers["/apis/rbac.authorization.k8s.io/v1/"+path] = body
			}
			f.created["/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"] = body
			close(f.events)
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond) // -w ends by it
			f.runWith(ctx, io.Discard, &bytes.Buffer{}, args...)
			cancel()
		}
	}
}

// FuzzFilter checks that no flag of a user crashes the comparison.
func FuzzFilter(f *testing.F) {
	f.Add("a*", "b", "4xx")
	f.Add("[", ",", "xx")
	f.Fuzz(func(_ *testing.T, user, verb, code string) {
		filter := &filter{user: user, verb: verb, code: code}
		if filter.prepare(nil, &client.Client{}) == nil {
			for _, r := range sampleRequests() {
				filter.matches(&r)
			}
			_ = filter.options()
		}
	})
}
