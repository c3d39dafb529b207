package storage

import (
	"os"

	"golang.org/x/sys/windows"
)

const (
	// errLocked is the error of tryLock if another process has locked the file.
	errLocked = windows.ERROR_LOCK_VIOLATION

	// noFollow is the flag with which a link is not opened. Windows has none; creating a link takes the rights of an
	// administrator there.
	noFollow = 0
)

// tryLock locks a file as etcd does, until it is closed or the process ends: its last possible byte, so that others can
// read it.
func tryLock(f *os.File) error {
	const last = 1<<32 - 1
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0,
		&windows.Overlapped{Offset: last, OffsetHigh: last})
}
