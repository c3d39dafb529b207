package server

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/safefile"
	"github.com/miniapiserver/miniapiserver/storage"
)

// ephemeralPrefix begins the names of data directories that a server makes for itself in the
// directory for temporary files and removes when it stops.
const ephemeralPrefix = "miniapiserver-"

// makeEphemeralDir makes and locks a data directory for a server that keeps nothing. It first
// removes the directories of servers that were killed.
func makeEphemeralDir(log *slog.Logger) (dir string, lock *os.File, err error) {
	removeAbandonedDirs(os.TempDir(), time.Now(), log)
	if dir, err = os.MkdirTemp("", ephemeralPrefix); err == nil {
		lock, err = storage.LockDir(dir)
	}
	if err != nil {
		return "", nil, fmt.Errorf("--ephemeral: the directory for temporary files, which TMPDIR names, cannot be used: %w", err)
	}
	return dir, lock, nil
}

// removeAbandonedDirs removes the ephemeral data directories in temp whose servers have ended. A
// server locks its directory, so one without an owner can be locked. A new directory may not
// be locked yet and is left alone, as is one of another user.
func removeAbandonedDirs(temp string, now time.Time, log *slog.Logger) {
	const minAge = time.Minute
	dirs, _ := filepath.Glob(filepath.Join(temp, ephemeralPrefix+"*"))
	for _, dir := range dirs {
		info, err := os.Lstat(filepath.Join(dir, storage.LockName))
		if err != nil || !safefile.IsOwnDir(dir) || now.Sub(info.ModTime()) < minAge {
			continue
		}
		lock, err := storage.LockDir(dir)
		if err != nil {
			continue
		}
		log.Info("removing the data of a server that was killed", "dir", dir)
		_ = lock.Close() // nothing was written; Windows does not remove an open file
		if err := os.RemoveAll(dir); err != nil {
			log.Warn("cannot remove the data of a server that was killed", "dir", dir, "error", err)
		}
	}
}
