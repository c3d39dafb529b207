package conformance

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/lab/conversation"
)

// auditEvents are the events of requests by audit ID.
type auditEvents map[string][]map[string]any

// TestAuditEvents replays a conversation whose requests have audit IDs, and compares the audit
// events with the events that kube-apiserver 1.37 wrote for the same requests and policy. Of a
// request that is repeated until its response is the expected one, only the last attempt
// counts. testdata/audit/differs.txt lists the requests whose events differ.
func TestAuditEvents(t *testing.T) {
	files, err := conversation.Load("testdata/audit/conversation.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	o := conversationOptions()
	o.Audit.PolicyFile, o.Audit.Log.Path = "testdata/audit/policy.yaml", filepath.Join(t.TempDir(), "audit.log")
	s, _ := startWith(t, o)
	r := conversation.Replayer{Server: s.URL, Token: *token, Parallel: 24, Only: *only}
	if _, err := r.Run(t.Context(), files); err != nil {
		t.Fatal(err)
	}
	want, got := recordedEvents(t), loggedEvents(t, o.Audit.Log.Path)
	listed := listedAudit(t)
	for _, id := range slices.Sorted(maps.Keys(want)) {
		if _, sent := got[id]; !sent && (*only != "" || len(want[id]) == 0) {
			continue
		}
		w, g := lastAttempt(want[id]), lastAttempt(got[id])
		switch difference := auditDifference(w, g); {
		case difference == "" && listed[id] != "":
			t.Logf("%s agrees, although it is listed", id)
		case difference != "" && listed[id] == "":
			t.Errorf("%s: %s", id, difference)
		}
	}
	for id := range listed {
		if _, ok := want[id]; !ok {
			t.Errorf("%s is listed, but there is no such request", id)
		}
	}
}

func recordedEvents(t *testing.T) (events auditEvents) {
	t.Helper()
	file, err := os.Open("testdata/audit/events.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(z)
	d.UseNumber()
	if err := d.Decode(&events); err != nil {
		t.Fatal(err)
	}
	return events
}

// generatedName matches the names of namespaces and of objects with a random part.
var generatedName = regexp.MustCompile(`p-([a-z0-9-]+?)-[a-z0-9]{4,12}(["/ \\?&])`)

// loggedEvents reads a log, and normalises its events as those in the recording are.
func loggedEvents(t *testing.T, path string) auditEvents {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	events := auditEvents{}
	for line := range bytes.Lines(data) {
		var e map[string]any
		decodeNumbers(t, line, &e)
		id := e["auditID"].(string)
		for _, key := range []string{"auditID", "sourceIPs", "userAgent", "requestReceivedTimestamp", "stageTimestamp"} {
			delete(e, key)
		}
		annotations, _ := e["annotations"].(map[string]any)
		if annotations == nil {
			annotations = map[string]any{}
		}
		maps.DeleteFunc(annotations, func(key string, _ any) bool { return strings.HasPrefix(key, "apiserver.latency.k8s.io/") })
		e["annotations"] = annotations
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(conversation.Normalised(e)); err != nil {
			t.Fatal(err)
		}
		var normalised map[string]any
		decodeNumbers(t, generatedName.ReplaceAll(text.Bytes(), []byte("p-$1-<id>$2")), &normalised)
		events[id] = append(events[id], normalised)
	}
	return events
}

func decodeNumbers(t *testing.T, data []byte, into any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
}

// lastAttempt returns the events of the last of several requests with the same ID.
func lastAttempt(events []map[string]any) []map[string]any {
	for i := len(events) - 1; i > 0; i-- {
		if events[i]["stage"] == events[0]["stage"] {
			return events[i:]
		}
	}
	return events
}

// auditDifference describes the first difference, or returns "".
func auditDifference(want, got []map[string]any) string {
	stages := func(events []map[string]any) (all []any) {
		for _, e := range events {
			all = append(all, e["stage"], e["level"])
		}
		return all
	}
	if !auditAgrees(stages(want), stages(got)) {
		w, _ := json.Marshal(stages(want))
		g, _ := json.Marshal(stages(got))
		return "events " + string(g) + ", want " + string(w)
	}
	for i := range want {
		for _, key := range slices.Sorted(maps.Keys(want[i])) {
			if !auditAgrees(want[i][key], got[i][key]) {
				w, _ := json.Marshal(want[i][key])
				g, _ := json.Marshal(got[i][key])
				return key + " " + string(g) + ", want " + string(w)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(got[i])) {
			if want[i][key] == nil && got[i][key] != nil {
				g, _ := json.Marshal(got[i][key])
				return key + " " + string(g) + ", want none"
			}
		}
	}
	return ""
}

// auditAgrees compares values. "<any>" stands for a value that differed between two
// recordings.
func auditAgrees(want, got any) bool {
	if want == "<any>" {
		return true
	}
	switch want := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || len(g) != len(want) {
			return false
		}
		for key, value := range want {
			if other, ok := g[key]; !ok || !auditAgrees(value, other) {
				return false
			}
		}
		return true
	case []any:
		g, ok := got.([]any)
		return ok && slices.EqualFunc(want, g, auditAgrees)
	}
	return conversation.Equal(want, got)
}

// listedAudit returns the reasons of the listed requests.
func listedAudit(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile("testdata/audit/differs.txt")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		id, reason, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok || reason == "" {
			t.Fatalf("%q is not a request and a reason, separated by a tab", line)
		}
		listed[id] = reason
	}
	return listed
}
