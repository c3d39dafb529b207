package storage

import (
	"fmt"
	"strings"
	"testing"
)

// TestRunsOn writes several times the quota and compacts in between, which must free the
// space of old versions.
func TestRunsOn(t *testing.T) {
	const quota, size, rounds, each = 8 << 20, 32 << 10, 30, 30
	s, c := startStore(t, Options{QuotaBytes: quota})
	last := mustCreate(t, c, "a/x", "")
	for n := range rounds {
		for m := range each {
			last = mustUpdate(t, c, last, fmt.Sprint(n, m, strings.Repeat("x", size)))
		}
		if err := s.compactOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	status, err := s.Client().Status(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if written := rounds * each * size; written < 3*quota || status.DbSize > quota/2 {
		t.Errorf("%d bytes written, the database has %d, the quota is %d", written, status.DbSize, quota)
	}
	if i, err := c.Get(t.Context(), "a/x", Read{Match: Exact, Revision: last.Revision()}); err != nil || i.Revision() != last.Revision() {
		t.Errorf("%v %v", i, err)
	}
}
