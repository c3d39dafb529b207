package kubectl

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// recordedVersion is a recording of one request.
const recordedVersion = `{"recording":{"name":"record-x","begin":"2026-01-02T03:04:05Z"}}
{"id":"1","method":"GET","path":"/version","timing":{"start":0,"answer":0.001,"end":0.001},"expect":{"status":200,"headers":{"content-type":"application/json"},"body":{"major":"1"}}}
{"id":"2","method":"POST","path":"/api/v1/namespaces","timing":{"start":0.002,"answer":0.003,"end":0.003,"skip":"its body is not kept"},"expect":{"status":400}}
`

// newRecorder returns a server that records.
func newRecorder(t *testing.T) *fake {
	t.Helper()
	f := newFake(t)
	one := labPath + "recordings/record-x"
	made := v1alpha1.Recording{ObjectMeta: metav1.ObjectMeta{Name: "record-x"},
		Status: v1alpha1.RecordingStatus{Phase: v1alpha1.RecordingFull, Requests: 1, Events: 2, LeftOut: 3, Reason: "limits.requests: 1 requests were reached"}}
	f.created[labPath+"recordings"], f.answers[one] = made, made
	f.written["PATCH "+one], f.written["DELETE "+one] = made, map[string]any{}
	f.answers[one+"/log"] = recordedVersion
	f.answers["/readyz"], f.answers["/version"] = "ok", map[string]any{"major": "1"}
	return f
}

// TestRecord checks what record asks of the server and says, and that the recording is deleted whatever happens.
func TestRecord(t *testing.T) {
	f := newRecorder(t)
	file := filepath.Join(t.TempDir(), "r.jsonl")
	got := f.run("record", "-o", file, "--agent", "a*", "--max-requests", "1", "--", "sh", "-c", "grep server: $KUBECONFIG; test -n \"$KUBECACHEDIR\"; exit 5")
	if got.code != 5 || !strings.Contains(got.stdout, f.URL+v1alpha1.RecordingAddress+"record-x") {
		t.Errorf("%+v", got)
	}
	for _, want := range []string{"Recorded 1 request and 2 events to " + file, "not complete: limits.requests", "left out: 3 connections"} {
		if !strings.Contains(got.stderr, want) {
			t.Errorf("%q is missing in %s", want, got.stderr)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != recordedVersion {
		t.Errorf("%s %v", text, err)
	}
	sent := f.bodies["POST "+labPath+"recordings"]
	for _, want := range []string{`"addressed":true`, `"userAgents":["a*"]`, `"requests":1`, `"generateName":"record-"`} {
		if !strings.Contains(sent, want) {
			t.Errorf("%s is missing in %s", want, sent)
		}
	}
	if f.bodies["PATCH "+labPath+"recordings/record-x"] != `{"spec":{"stopped":true}}` || !f.sent("DELETE "+labPath+"recordings/record-x") {
		t.Errorf("%v", f.seen)
	}
	f.seen = nil
	if got := f.run("record", "-o", file, "--", "/no/such/program"); got.code != 1 || !strings.Contains(got.stderr, "cannot run") || !f.sent("DELETE ") {
		t.Errorf("%+v", got)
	}
	for args, want := range map[string]string{"record ls": `a command comes after "--"`, "record -o /no/such/dir/f -- true": "no such file or directory"} {
		if got := f.run(strings.Fields(args)...); got.code != 1 || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

// TestReplay checks what replay prints, and its exit status.
func TestReplay(t *testing.T) {
	f := newRecorder(t)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	same, other := write("same.jsonl", recordedVersion), write("other.jsonl", strings.Replace(recordedVersion, `"major":"1"`, `"major":"2"`, 1))
	known := write("known.txt", "other record-x / 1\tanother release\n")
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"replay --fast " + same, 0, "2 requests in 0s: 1 agree, 0 differ, 1 skipped\n"},
		{"replay " + other, 1, "DIFF record-x / 1: GET /version\n     body.major: want \"2\" got \"1\"\n2 requests in 0s: 0 agree, 1 differ, 1 skipped\n"},
		{"replay --known " + known + " " + other, 0, "2 requests in 0s: 0 agree, 0 differ, 1 known to differ, 1 skipped\n"},
		{"replay --ignore-key major " + other, 0, "2 requests in 0s: 1 agree, 0 differ, 1 skipped\n"},
	} {
		if got := f.run(strings.Fields(c.args)...); got.code != c.code || got.stdout != c.want {
			t.Errorf("%s: %+v", c.args, got)
		}
	}
	if got := f.run("replay", other, "-o", "json"); got.code != 1 || !strings.Contains(got.stdout, `"got": "1"`) || !strings.Contains(got.stdout, `"skipped": "its body is not kept"`) {
		t.Errorf("%+v", got)
	}
	for args, want := range map[string]string{
		"replay":                              "requires at least 1 arg",
		"replay " + dir + "/none":             "no such file",
		"replay --fast --as-recorded " + same: "exclude each other",
		"replay " + write("bad", "{}"):        "neither the scenarios of a conversation nor the head of a recording",
		"replay --known " + dir + " " + same:  "--known",
	} {
		if got := f.run(strings.Fields(args)...); got.code != 1 || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v", args, got)
		}
	}
}
