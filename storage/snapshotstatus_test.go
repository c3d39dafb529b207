package storage

import (
	"strings"
	"testing"
)

// TestDescribeSnapshot checks that a snapshot is described as it is after creations and deletions, compressed or not,
// and that a damaged one is refused.
func TestDescribeSnapshot(t *testing.T) {
	s, c := startStore(t, Options{})
	describe := func(data []byte) SnapshotStatus {
		t.Helper()
		status, err := DescribeSnapshot(writeFile(t, data))
		if err != nil {
			t.Fatal(err)
		}
		return status
	}
	mustCreate(t, c, "a/x", "1")
	before := describe(snapshotOf(t, s))
	mustUpdate(t, c, mustCreate(t, c, "a/y", "1"), "2")
	mustDelete(t, c, mustCreate(t, c, "a/z", "1"))
	data := snapshotOf(t, s)
	after := describe(data)
	if after.Keys != before.Keys+1 || after.Revision != before.Revision+4 || after.Hash == before.Hash || after.Size < 4096 {
		t.Errorf("%+v, before %+v", after, before)
	}
	if zipped := describe(gzipBytes(t, data)); zipped != after {
		t.Errorf("compressed: %+v, want %+v", zipped, after)
	}
	data[len(data)/2] ^= 1
	if _, err := DescribeSnapshot(writeFile(t, data)); err == nil || !strings.Contains(err.Error(), "wrong checksum") {
		t.Errorf("damaged: %v", err)
	}
}
