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

// TestCompactionMetrics checks that a compaction is counted with its revision.
func TestCompactionMetrics(t *testing.T) {
	s, c := startStore(t, Options{CompactionInterval: -1})
	mustCreate(t, c, "a/x", "1")
	if err := s.compactOnce(t.Context()); err != nil { // finds the revision for the next one
		t.Fatal(err)
	}
	rev := s.compact.rev
	mustCreate(t, c, "a/y", "1")
	if err := s.compactOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	text := shownMetrics(t, s)
	for _, want := range []string{
		"etcd_debugging_mvcc_db_compaction_total_duration_milliseconds 1\n",
		fmt.Sprintf("etcd_debugging_mvcc_compact_revision %d\n", rev),
		"etcd_disk_backend_defrag_duration_seconds 0\n",
		"etcd_mvcc_db_total_size_in_bytes ", "etcd_mvcc_db_total_size_in_use_in_bytes ", "etcd_server_quota_backend_bytes 8.589934592e+09\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
}
