package storage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// LockName is the name of the file that LockDir locks.
const LockName = "lock"

// LockDir locks a directory for this process, until the returned file is closed or the process
// ends, in whatever way.
func LockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, LockName), os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the directory: %w", err)
	}
	if err := flock(f, dir); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// lockEtcdDir locks the data directory of an etcd. It also fails if another etcd has the
// database open, because etcd itself would wait for that forever.
func lockEtcdDir(dir string) (*os.File, error) {
	f, err := LockDir(dir)
	if err != nil {
		return nil, err
	}
	if err := checkDatabaseLock(dir); err != nil {
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
		return fmt.Errorf("%s is in use by another server", dir)
	}
	if err != nil {
		return fmt.Errorf("locking %s: %w", dir, err)
	}
	return nil
}
