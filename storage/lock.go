package storage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lockDir locks the data directory for this process, until the returned file is closed or
// the process ends. It also fails if another etcd has the database open, because etcd itself
// would wait for that forever.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the data directory: %w", err)
	}
	err = flock(f, dir)
	if err == nil {
		err = checkDatabaseLock(dir)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func checkDatabaseLock(dir string) error {
	f, err := os.Open(filepath.Join(dir, "member", "snap", "db"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("opening the database: %w", err)
	}
	return errors.Join(flock(f, dir), f.Close())
}

func flock(f *os.File, dir string) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("data directory %s is in use by another process", dir)
	}
	if err != nil {
		return fmt.Errorf("locking the data directory: %w", err)
	}
	return nil
}
