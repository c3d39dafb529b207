package crds

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ratchet is the list of known failures, one per line in testdata/waiting/PROJECT.txt. A line must
// be removed as soon as it no longer fails, and none may be added.
type ratchet struct {
	file        string
	known, seen []string
}

func newRatchet(t *testing.T, project string) *ratchet {
	t.Helper()
	r := &ratchet{file: filepath.Join("testdata", "waiting", project+".txt")}
	text, err := os.ReadFile(r.file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		r.known = append(r.known, strings.TrimSpace(line))
	}
	return r
}

// waits reports whether a failure is known.
func (r *ratchet) waits(what string) bool { return slices.Contains(r.known, what) }

// fails records a failure and reports whether it was known.
func (r *ratchet) fails(what string) bool {
	r.seen = append(r.seen, what)
	return r.waits(what)
}

// close reports known failures that no longer occur; -update removes them.
func (r *ratchet) close(t *testing.T) {
	t.Helper()
	var left []string
	for _, line := range r.known {
		switch {
		case slices.Contains(r.seen, line):
			left = append(left, line+"\n")
		case !*update:
			t.Errorf("%s: %s: this works by now (go test -update takes the line out)", r.file, line)
		}
	}
	if !*update || len(left) == len(r.known) {
		return
	}
	err := os.Remove(r.file)
	if len(left) > 0 {
		err = os.WriteFile(r.file, []byte(strings.Join(left, "")), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
