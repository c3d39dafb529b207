package kubectl

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/internal/eventually"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// newStates returns a server with two checkpoints, of which the newest is not the last by name.
func newStates(t *testing.T) *fake {
	t.Helper()
	f := newFake(t)
	checkpoint := func(name, version, revision string, age time.Duration) v1alpha1.Checkpoint {
		return v1alpha1.Checkpoint{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version, CreationTimestamp: metav1.NewTime(now.Add(-age))},
			Status: v1alpha1.CheckpointStatus{ResourceVersion: revision, Objects: 205, Bytes: 157_000}}
	}
	f.answers[labPath+"checkpoints"] = map[string]any{"metadata": map[string]any{"resourceVersion": "100"},
		"items": []v1alpha1.Checkpoint{checkpoint("clean", "99", "40", 90*time.Second), checkpoint("dirty", "9", "38", time.Hour)}}
	f.created[labPath+"checkpoints"] = checkpoint("made", "101", "42", 0)
	return f
}

// TestCheckpoint checks what the command creates, lists and deletes.
func TestCheckpoint(t *testing.T) {
	f := newStates(t)
	if got := f.run("checkpoint", "made"); got.stdout != "checkpoint made: revision 42, 205 objects, 157 kB\n" || got.code != 0 {
		t.Errorf("%+v", got)
	}
	if body := f.bodies["POST "+labPath+"checkpoints"]; !strings.Contains(body, `"name":"made"`) || !strings.Contains(body, `"kind":"Checkpoint"`) {
		t.Error(body)
	}
	if got := f.run("checkpoint", "-o", "json"); !strings.Contains(got.stdout, `"resourceVersion": "42"`) {
		t.Errorf("%+v", got)
	}
	if body := f.bodies["POST "+labPath+"checkpoints"]; !strings.Contains(body, `"generateName":"checkpoint-"`) {
		t.Error(body)
	}
	golden(t, "checkpoints.txt", f.run("checkpoint", "--list").stdout)
	if got := f.run("checkpoint", "--list", "-o", "yaml"); !strings.Contains(got.stdout, "kind: CheckpointList") || !strings.Contains(got.stdout, "  kind: Checkpoint\n") {
		t.Errorf("%+v", got)
	}
	f.written["DELETE "+labPath+"checkpoints/clean"] = "{}"
	if got := f.run("checkpoint", "--delete", "clean"); got.stdout != "checkpoint clean deleted\n" {
		t.Errorf("%+v", got)
	}
	for args, want := range map[string]string{
		"checkpoint 812":               `"812" would mean a resourceVersion or a time ago`,
		"checkpoint 30s":               "choose another name",
		"checkpoint a --list":          "exclude each other",
		"checkpoint --list --delete a": "exclude each other",
	} {
		if got := f.run(strings.Fields(args)...); got.code != 1 || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v", args, got)
		}
	}
	f.answers[labPath+"checkpoints"] = nil
	if got := f.run("checkpoint", "--list"); got.stderr != "error: this server has no lab; start it with --lab\n" {
		t.Errorf("%+v", got)
	}
}

// rewound returns the answer to a Rewind of some objects.
func rewound(dryRun bool, objects int) v1alpha1.Rewind {
	r := v1alpha1.Rewind{Spec: v1alpha1.RewindSpec{Checkpoint: "clean", DryRun: dryRun}, Status: v1alpha1.RewindStatus{To: "40", ResourceVersion: "60", Took: "2.1ms"}}
	actions := []string{v1alpha1.ActionRestored, v1alpha1.ActionChanged, v1alpha1.ActionRemoved}
	for i := range objects {
		r.Status.Objects = append(r.Status.Objects, v1alpha1.RewoundObject{Object: fmt.Sprintf("configmaps/shop/c%d", i), Action: actions[i%3]})
		*[]*int64{&r.Status.Restored, &r.Status.Changed, &r.Status.Removed}[i%3]++
	}
	return r
}

// TestRewind checks what the command asks for, and what it tells.
func TestRewind(t *testing.T) {
	f := newStates(t)
	path := labPath + "rewinds"
	f.created[path] = rewound(false, 4)
	for args, want := range map[string]string{
		"rewind":                 `"spec":{"checkpoint":"clean"}`,
		"rewind dirty --dry-run": `"spec":{"checkpoint":"dirty","dryRun":true}`,
		"rewind 812 -n shop -n other --resource deploy": `"spec":{"resourceVersion":"812","namespaces":["shop","other"],"resources":["deployments.apps"]}`,
		"rewind 1m30s --include leases,events":          `"spec":{"ago":"1m30s","include":["leases","events"]}`,
	} {
		if got := f.run(strings.Fields(args)...); got.code != 0 || !strings.Contains(f.bodies["POST "+path], want) {
			t.Errorf("%s: %+v sent %s", args, got, f.bodies["POST "+path])
		}
	}
	golden(t, "rewind.txt", f.run("rewind").stdout)
	golden(t, "rewind-color.txt", f.run("rewind", "--color", "always").stdout)
	f.created[path] = rewound(true, 23)
	golden(t, "rewind-dry-run.txt", f.run("rewind", "--dry-run").stdout)
	f.created[path] = rewound(false, 0)
	if got := f.run("rewind"); got.stdout != "Nothing differs from checkpoint clean (revision 40).\n" {
		t.Errorf("%+v", got)
	}
	if got := f.run("rewind", "-o", "yaml"); !strings.Contains(got.stdout, `resourceVersion: "60"`) {
		t.Errorf("%+v", got)
	}
	if got := f.run("rewind", "--resource", "nothing"); got.code != 1 || !strings.Contains(got.stderr, "--resource: ") {
		t.Errorf("%+v", got)
	}
	f.answers[labPath+"checkpoints"] = map[string]any{"items": []any{}}
	if got := f.run("rewind"); got.code != 1 || !strings.Contains(got.stderr, "there is no checkpoint") {
		t.Errorf("%+v", got)
	}
}

// TestSave checks the file, its rights, and that the checkpoint that is made for it goes again.
func TestSave(t *testing.T) {
	f := newStates(t)
	file := filepath.Join(t.TempDir(), "scene.db")
	f.answers[labPath+"checkpoints/clean/snapshot"], f.answers[labPath+"checkpoints/made/snapshot"] = "clean state", "present state"
	f.written["DELETE "+labPath+"checkpoints/made"] = "{}"
	for want, args := range map[string][]string{"clean state": {"save", file, "--checkpoint", "clean"}, "present state": {"save", file}} {
		if got := f.run(args...); got.stdout != fmt.Sprintf("Saved %d B to %s.\n", len(want), file) {
			t.Errorf("%+v", got)
		}
		text, err := os.ReadFile(file)
		info, err2 := os.Stat(file)
		if err != nil || err2 != nil || string(text) != want || info.Mode().Perm() != 0o600 {
			t.Error(err, err2, string(text), info)
		}
	}
	if !f.sent("DELETE " + labPath + "checkpoints/made") {
		t.Error("the temporary checkpoint is not deleted")
	}
	if got := f.run("save", file, "--checkpoint", "none"); got.code != 1 {
		t.Errorf("%+v", got)
	}
	f.answers[labPath+"checkpoints/clean/snapshot"] = ""
	if got := f.run("save", file, "--checkpoint", "clean"); got.code != 1 || !strings.Contains(got.stderr, "sent nothing") {
		t.Errorf("%+v", got)
	}
	files, err := os.ReadDir(filepath.Dir(file))
	if text, _ := os.ReadFile(file); err != nil || len(files) != 1 || len(text) == 0 { // the file before
		t.Error(files, err)
	}
}

// TestClock checks how the command moves the clock of the server.
func TestClock(t *testing.T) {
	f := newStates(t)
	path := labPath + "clocks/server"
	if got := f.run("clock"); got.code != 1 || !strings.Contains(got.stderr, "has no clock") {
		t.Errorf("%+v", got)
	}
	clock := func(spec map[string]any) map[string]any {
		return map[string]any{"metadata": map[string]any{"name": "server"}, "spec": spec, "status": map[string]any{"now": "2026-01-03T15:04:05.500000Z"}}
	}
	f.answers[path], f.written["PATCH "+path] = clock(map[string]any{"offset": "24h0m0s"}), clock(map[string]any{"offset": "48h0m0s"})
	if got := f.run("clock"); got.stdout != "2026-01-03 15:04:05 UTC, 24h0m0s ahead\n" {
		t.Errorf("%+v", got)
	}
	if got := f.run("clock", "+24h"); got.stdout != "2026-01-03 15:04:05 UTC, 48h0m0s ahead\n" {
		t.Errorf("%+v", got)
	}
	want := map[string]string{"+24h": `{"spec":{"offset":"48h0m0s"}}`, "freeze": `{"spec":{"frozenAt":"2026-01-03T15:04:05.500000Z"}}`, "reset": `{"spec":{"frozenAt":null,"offset":null}}`}
	check := func() {
		t.Helper()
		for word, body := range want {
			if got := f.run("clock", word); got.code != 0 || f.bodies["PATCH "+path] != body {
				t.Errorf("%s: %+v sent %s", word, got, f.bodies["PATCH "+path])
			}
		}
	}
	check()
	f.answers[path] = clock(map[string]any{"frozenAt": "2026-01-03T15:00:00.000000Z"})
	want = map[string]string{"+24h": `{"spec":{"frozenAt":"2026-01-04T15:00:00.000000Z"}}`, "freeze": `{"spec":{}}`}
	check()
	if got := f.run("clock"); got.stdout != "2026-01-03 15:04:05 UTC, frozen\n" {
		t.Errorf("%+v", got)
	}
	for _, word := range []string{"24h", "+-24h", "tomorrow"} {
		if got := f.run("clock", word); got.code != 1 {
			t.Errorf("%s: %+v", word, got)
		}
	}
	f.answers[path], f.answers[labPath+"checkpoints"] = nil, nil
	if got := f.run("clock"); got.stderr != "error: this server has no lab; start it with --lab\n" {
		t.Errorf("%+v", got)
	}
}

// safeBuffer is a buffer that a command writes while a test reads it.
type safeBuffer struct {
	lock chan struct{}
	text bytes.Buffer
}

func newSafeBuffer() *safeBuffer { return &safeBuffer{lock: make(chan struct{}, 1)} }

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.lock <- struct{}{}
	defer func() { <-b.lock }()
	return b.text.Write(p)
}

func (b *safeBuffer) String() string {
	b.lock <- struct{}{}
	defer func() { <-b.lock }()
	return b.text.String()
}

// TestPage opens the page and reads the API through it, until Ctrl-C.
func TestPage(t *testing.T) {
	f := newStates(t)
	ctx, interrupt := context.WithCancel(t.Context())
	stdout, stderr, ended := newSafeBuffer(), newSafeBuffer(), make(chan int, 1)
	go func() { ended <- f.runWith(ctx, stdout, stderr, "page", "--open") }()
	eventually.True(t, "the address", func() bool {
		return strings.HasSuffix(stdout.String(), "\n") && strings.Contains(stderr.String(), "Ctrl-C")
	})
	address, token, found := strings.Cut(strings.TrimSpace(stdout.String()), "/#token=")
	if !found || len(f.opened) != 1 || f.opened[0] != strings.TrimSpace(stdout.String()) {
		t.Errorf("%q, opened %q", stdout.String(), f.opened)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address+labPath+"checkpoints", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	answer, err := transport.RoundTrip(r)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Error(answer, err)
	}
	if err == nil {
		_ = answer.Body.Close()
	}
	interrupt()
	select {
	case code := <-ended:
		if code != 0 {
			t.Error(code, stderr.String())
		}
	case <-time.After(patience):
		t.Fatal("the page does not end")
	}
}
