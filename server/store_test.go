package server

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/storage"
)

// TestSnapshotsKept checks that snapshots are saved under their times, and that only the newest are kept.
func TestSnapshotsKept(t *testing.T) {
	dir := t.TempDir()
	srv, _ := startWithClient(t, Options{Dir: dir, Etcd: Etcd{SnapshotInterval: time.Hour, SnapshotKeep: 2}})
	other := filepath.Join(dir, "snapshots", "mine.db")
	for i := range 4 {
		if err := (&builder{Server: srv}).saveSnapshot(t.Context(), time.Date(2026, 1, 2, 3, i, 0, 0, time.UTC)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(other, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "snapshots", "*"))
	if err != nil || len(files) != 3 || filepath.Base(files[0]) != "20260102T030200Z.db" || filepath.Base(files[1]) != "20260102T030300Z.db" || files[2] != other {
		t.Errorf("%q, %v", files, err)
	}
	if s, err := storage.DescribeSnapshot(files[0]); err != nil || s.Keys == 0 || s.Revision == 0 || s.Size == 0 {
		t.Errorf("%+v, %v", s, err)
	}
}
