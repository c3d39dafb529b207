//go:build unix

package storage

import (
	"os"
	"syscall"
)

const (
	// errLocked is the error of tryLock if another process has locked the file.
	errLocked = syscall.EWOULDBLOCK

	// noFollow is the flag with which a link is not opened.
	noFollow = syscall.O_NOFOLLOW
)

// tryLock locks a file as etcd does, until it is closed or the process ends.
func tryLock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
