package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// result makes one for a test, that differs where diffs say.
func result(step string, diffs ...Difference) Result {
	return Result{Group: "g", Scenario: "s", Step: Step{ID: step}, Differences: diffs}
}

func TestRatchet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "differs.txt")
	empty, err := ReadRatchet(path)
	if err != nil {
		t.Fatal(err)
	}
	diff := Difference{Path: "body.metadata.managedFields", Want: "x", Got: absent}
	results := []Result{result("agrees"), result("differs", diff), result("flaky", diff)}
	updated := empty.Updated(results, map[string]Result{"g s / flaky": result("flaky"), "g s / differs": results[1]})
	if err := updated.Write(path, results); err != nil {
		t.Fatal(err)
	}
	r, err := ReadRatchet(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(r.reasons); got != "map[g s / differs:waits: managedFields g s / flaky:unstable: timing]" {
		t.Error(got)
	}
	for _, tt := range []struct {
		result Result
		fault  string
	}{
		{result("agrees"), ""},
		{result("agrees", diff), "differs: "},
		{result("differs", diff), ""},
		{result("differs"), "agrees now"},
		{result("flaky", diff), ""},
		{result("flaky"), ""},
	} {
		if got := r.Fault(tt.result); (got == "") != (tt.fault == "") || !strings.HasPrefix(got, tt.fault) {
			t.Errorf("%s: fault %q, want %q", tt.result.Name(), got, tt.fault)
		}
	}
	totals := r.Totals(results)
	if totals[0] != (Total{Group: "g", Agree: 1, Wait: 1, Differ: 1}) || totals[1].Group != "all" || totals[0].Percent() != 50 {
		t.Errorf("totals %v", totals)
	}
	// A later step of a scenario shows what an earlier one waits for; another
	// scenario does not.
	apply := result("apply", diff)
	apply.Step.Headers = map[string]string{"Content-Type": "application/apply-patch+yaml"}
	later := []Result{apply, result("get", Difference{Path: "status"}), {Group: "g", Scenario: "other", Differences: []Difference{{Path: "status"}}}}
	if got := fmt.Sprint(empty.Updated(later, nil).reasons); got != "map[g other / :"+unexplained+" g s / apply:waits: managedFields g s / get:waits: managedFields]" {
		t.Error(got)
	}
	kept := r.Updated([]Result{result("differs", Difference{Path: "status"}), result("agrees")}, nil)
	if got := fmt.Sprint(kept.reasons); got != "map[g s / differs:waits: managedFields]" {
		t.Error(got)
	}
}

func TestReadRatchetFaults(t *testing.T) {
	for _, text := range []string{"g s / a no reason\n", "g s / a\tx\ng s / a\ty\n", "g s / a\t\n"} {
		path := filepath.Join(t.TempDir(), "differs.txt")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadRatchet(path); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

func TestGuess(t *testing.T) {
	for _, tt := range []struct {
		group, method, path, contentType string
		diff                             Difference
		want                             string
	}{
		{"errors", "GET", "/apis/crds.parity.example", "", Difference{}, "waits: crd"},
		{"authz", "GET", "/api/v1/pods", "", Difference{}, "waits: access"},
		{"admission", "POST", "/api/v1/pods", "", Difference{}, "waits: admission"},

		{"errors", "GET", "/api/v1/secrets", "", Difference{Path: "x"}, ""},
		{"patch", "POST", "/apis/apps/v1/deployments", "", Difference{"body.spec.replicas", value(t, "1"), absent}, "waits: defaults"},
		{"patch", "POST", "/apis/apps/v1/deployments", "", Difference{"status", value(t, "422"), value(t, "201")}, "waits: validation"},
		{"crud", "GET", "/api/v1/x", "", Difference{Path: "body.metadata.managedFields[0].time"}, "waits: managedFields"},
		{"subresources", "PUT", "/apis/apps/v1/namespaces/n/deployments/d/scale", "", Difference{Path: "x"}, "waits: subresources"},
	} {
		r := Result{Group: tt.group, Scenario: "s", Differences: []Difference{tt.diff},
			Step: Step{ID: "i", Method: tt.method, Path: tt.path, Headers: map[string]string{"Content-Type": tt.contentType}}}
		if got := guess(r); got != tt.want {
			t.Errorf("%s %s %v: %s, want %s", tt.method, tt.path, tt.diff, got, tt.want)
		}
	}
}
