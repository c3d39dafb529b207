package conversation

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// KnownDiffs is the list of steps known to differ, with reasons.
type KnownDiffs struct {
	reasons map[string]string
}

// knownDiffsHead is the comment at the start of the file.
const knownDiffsHead = `# Steps that differ from kube-apiserver, and why: GROUP SCENARIO / STEP, a tab, the reason.
# The test fails for a step that differs and is not listed, and for a listed step that agrees.
# go test ./conformance -run TestConversations -update rewrites this file and keeps the reasons. A new line gets
# the reason "` + unexplained + `", with which the test fails: replace it by the real reason, or fix the server.
`

// unexplained is the reason of a new line.
const unexplained = "not explained yet"

// ReadKnownDiffs reads the file. A missing file has no steps.
func ReadKnownDiffs(path string) (KnownDiffs, error) {
	r := KnownDiffs{reasons: map[string]string{}}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, ok := strings.Cut(line, "\t")
		if !ok || reason == "" {
			return r, fmt.Errorf("%s:%d: missing tab and reason after the step", path, n)
		}
		if _, ok := r.reasons[name]; ok {
			return r, fmt.Errorf("%s:%d: duplicate step %s", path, n, name)
		}
		r.reasons[name] = reason
	}
	return r, lines.Err()
}

// Write writes the file, with its lines in the order of results.
func (r KnownDiffs) Write(path string, results []Result) error {
	var b bytes.Buffer
	b.WriteString(knownDiffsHead)
	for _, result := range results {
		if reason, ok := r.reasons[result.Name()]; ok {
			fmt.Fprintf(&b, "%s\t%s\n", result.Name(), reason)
		}
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

// Lists reports whether a step is known to differ.
func (r KnownDiffs) Lists(name string) bool { return r.reasons[name] != "" }

// Fault returns the failure of a result: it differs and is not listed with a reason, or it is
// listed and agrees. It is empty if the result is as expected.
func (r KnownDiffs) Fault(result Result) string {
	reason := r.reasons[result.Name()]
	switch {
	case result.Agrees() && reason != "":
		return "agrees now: remove its line (" + reason + ")"
	case !result.Agrees() && (reason == "" || reason == unexplained):
		lines := []string{"differs: " + result.Step.Method + " " + result.Step.Path}
		for i, d := range result.Differences {
			if i == 4 {
				lines = append(lines, fmt.Sprintf("... and %d more", len(result.Differences)-i))
				break
			}
			lines = append(lines, d.String())
		}
		return strings.Join(lines, "\n\t")
	}
	return ""
}

// Updated returns the steps for results, with the reasons of r.
func (r KnownDiffs) Updated(results []Result) KnownDiffs {
	out := KnownDiffs{reasons: map[string]string{}}
	for _, result := range results {
		if name := result.Name(); !result.Agrees() {
			out.reasons[name] = cmp.Or(r.reasons[name], unexplained)
		}
	}
	return out
}

// Total counts the steps of a group.
type Total struct {
	Group         string
	Agree, Differ int
}

// String returns the total on one line.
func (t Total) String() string {
	return fmt.Sprintf("%-16s agree %4d  differ %4d", t.Group, t.Agree, t.Differ)
}

// Totals counts results by group, in order, followed by the total of all groups.
func Totals(results []Result) []Total {
	var out []Total
	index, all := map[string]int{}, Total{Group: "all"}
	for _, result := range results {
		i, ok := index[result.Group]
		if !ok {
			i = len(out)
			index[result.Group], out = i, append(out, Total{Group: result.Group})
		}
		for _, t := range []*Total{&out[i], &all} {
			if result.Agrees() {
				t.Agree++
			} else {
				t.Differ++
			}
		}
	}
	return append(out, all)
}
