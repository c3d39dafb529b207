package conversation

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// result returns a result that differs at diffs.
func result(step string, diffs ...Difference) Result {
	return Result{Group: "g", Scenario: "s", Step: Step{ID: step}, Differences: diffs}
}

func TestKnownDiffs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "differs.txt")
	empty, err := ReadKnownDiffs(path)
	if err != nil {
		t.Fatal(err)
	}
	diff := Difference{Path: "body.metadata.managedFields", Want: "x", Got: absent}
	results := []Result{result("agrees"), result("differs", diff)}
	if err := empty.Updated(results).Write(path, results); err != nil {
		t.Fatal(err)
	}
	written, err := ReadKnownDiffs(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(written.reasons); got != "map[g s / differs:"+unexplained+"]" {
		t.Error(got)
	}
	explained := KnownDiffs{reasons: map[string]string{"g s / differs": "it must"}}
	for _, tt := range []struct {
		known  KnownDiffs
		result Result
		fault  string
	}{
		{explained, result("agrees"), ""},
		{explained, result("agrees", diff), "differs: "},
		{explained, result("differs", diff), ""},
		{explained, result("differs"), "agrees now"},
		{written, result("differs", diff), "differs: "},
	} {
		if got := tt.known.Fault(tt.result); (got == "") != (tt.fault == "") || !strings.HasPrefix(got, tt.fault) {
			t.Errorf("%s: fault %q, want %q", tt.result.Name(), got, tt.fault)
		}
	}
	totals := Totals(results)
	if totals[0] != (Total{Group: "g", Agree: 1, Differ: 1}) || totals[1].Group != "all" {
		t.Errorf("totals %v", totals)
	}
	kept := explained.Updated([]Result{result("differs", Difference{Path: "status"}), result("agrees")})
	if got := fmt.Sprint(kept.reasons); got != "map[g s / differs:it must]" {
		t.Error(got)
	}
}

func TestReadKnownDiffsFaults(t *testing.T) {
	for _, text := range []string{"g s / a no reason\n", "g s / a\tx\ng s / a\ty\n", "g s / a\t\n"} {
		path := filepath.Join(t.TempDir(), "differs.txt")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadKnownDiffs(path); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}
