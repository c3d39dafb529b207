package server

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/storage"
)

// TestRemoveAbandonedDirs checks that the directories of killed servers are removed, and no others.
func TestRemoveAbandonedDirs(t *testing.T) {
	temp := t.TempDir()
	makeDir := func(name string, locked bool) string {
		dir := filepath.Join(temp, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		lock, err := storage.LockDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if locked {
			t.Cleanup(func() { _ = lock.Close() })
		} else if err := lock.Close(); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	abandoned := makeDir(ephemeralPrefix+"abandoned", false)
	kept := []string{
		makeDir(ephemeralPrefix+"used", true),
		makeDir("other", false),
		filepath.Join(temp, ephemeralPrefix+"unlocked"), // a server that is about to lock it
		filepath.Join(temp, ephemeralPrefix+"link"),
	}
	if err := os.Mkdir(kept[2], 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("other", kept[3]); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	removeAbandonedDirs(temp, time.Now(), log)
	if _, err := os.Stat(abandoned); err != nil {
		t.Errorf("a new directory was removed: %v", err)
	}
	removeAbandonedDirs(temp, time.Now().Add(time.Hour), log)
	if _, err := os.Stat(abandoned); !os.IsNotExist(err) {
		t.Errorf("the directory of a killed server is still there: %v", err)
	}
	for _, dir := range kept {
		if _, err := os.Stat(dir); err != nil {
			t.Errorf("removed: %v", err)
		}
	}
}
