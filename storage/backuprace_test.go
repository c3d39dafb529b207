package storage

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestConcurrentSnapshotsToOneFile saves several snapshots to one file at once, while links and files of
// others have the names that an unfinished snapshot might have. Each save that succeeds leaves a file
// that restores, and nothing else is written.
func TestConcurrentSnapshotsToOneFile(t *testing.T) {
	const rounds, savers = 12, 3
	dir := t.TempDir()
	_, c := startStore(t, Options{Dir: dir})
	mustCreate(t, c, "a/x", "1")
	for round := range rounds {
		backups := t.TempDir()
		file, victim := filepath.Join(backups, "backup.db"), filepath.Join(t.TempDir(), "victim")
		if err := os.WriteFile(victim, []byte("dear data"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"", ".part", ".unverified", ".unverified.part"} {
			if err := os.Symlink(victim, file+name); err != nil {
				t.Fatal(err)
			}
		}
		var wg sync.WaitGroup
		for i := range savers {
			wg.Go(func() {
				if _, err := SaveSnapshot(t.Context(), Options{Dir: dir}, file); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
				// The file is sound at any time after a save.
				if err := RestoreSnapshot(file, filepath.Join(backups, fmt.Sprint("restored", i)), nil); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		wg.Wait()
		info, err := os.Lstat(file)
		if err != nil || info.Mode() != 0o600 {
			t.Errorf("round %d: mode %v, %v", round, info.Mode(), err)
		}
		if text, err := os.ReadFile(victim); err != nil || string(text) != "dear data" {
			t.Errorf("round %d: the target of a link is %.20q, %v", round, text, err)
		}
	}
}

// TestRestoreIntoPreparedDirectory checks that a restore writes to no file that was there before, and uses no
// directory that others may write.
func TestRestoreIntoPreparedDirectory(t *testing.T) {
	dir := t.TempDir()
	_, c := startStore(t, Options{Dir: dir})
	mustCreate(t, c, "a/x", "1")
	file := filepath.Join(t.TempDir(), "backup.db")
	if _, err := SaveSnapshot(t.Context(), Options{Dir: dir}, file); err != nil {
		t.Fatal(err)
	}
	prepared := t.TempDir()
	snap := filepath.Join(prepared, "member", "snap")
	if err := os.MkdirAll(snap, 0o755); err != nil {
		t.Fatal(err)
	}
	planted := filepath.Join(snap, "tmp-restore.db")
	if err := os.WriteFile(planted, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(snap, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := RestoreSnapshot(file, prepared, nil); err == nil {
		t.Error("restored into a directory that others may write")
	}
	if err := os.Chmod(snap, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := RestoreSnapshot(file, prepared, nil); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(filepath.Join(snap, "db"))
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("the database has mode %v, %v", info.Mode(), err)
	}
	if text, err := os.ReadFile(planted); err != nil || len(text) > 0 {
		t.Errorf("a file that was there has %d bytes, %v", len(text), err)
	}
}
