package storage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// LockName is the name of the file that LockDir locks.
const LockName = "lock"

// LockDir locks a directory for this process, until the returned file is closed or the process
// ends, in whatever way.
func LockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, LockName), os.O_CREATE|os.O_RDWR|noFollow, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the directory: %w", err)
	}
	if err := lockFile(f, dir); err != nil {
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
	return errors.Join(lockFile(f, dir), f.Close())
}

// lockFile locks an open file, which is in dir, for this process.
func lockFile(f *os.File, dir string) error {
	err := tryLock(f)
	if errors.Is(err, errLocked) {
		return fmt.Errorf("%s is in use by another server", dir)
	}
	if err != nil {
		return fmt.Errorf("locking %s: %w", dir, err)
	}
	return nil
}
