//go:build unix

package safefile

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// openItself opens a file and not the target of a link. It does not wait for the other end of a pipe.
func openItself(path string, flags int, mode os.FileMode) (*os.File, error) {
	return os.OpenFile(path, flags|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, mode)
}

// makePrivate does nothing, because the mode with which a file is created already keeps others out.
func makePrivate(string) error { return nil }

// isOwn reports whether the process's user owns a file.
func isOwn(_ string, info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}

// checkOwner returns an error unless this user or root owns a file or a directory, and nobody else may
// write it.
func checkOwner(path string, info os.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	othersWrite := os.FileMode(0o022)
	if isPrivateGroup(stat.Gid) {
		othersWrite = 0o002
	}
	if user := os.Geteuid(); int(stat.Uid) != user && stat.Uid != 0 {
		return fmt.Errorf("%s belongs to user %d (mode %04o), and this process runs as user %d: use one of your own, or change its owner",
			path, stat.Uid, info.Mode().Perm(), user)
	}
	if info.Mode().Perm()&othersWrite != 0 {
		return fmt.Errorf("%s has mode %04o (owner %d), so that other users may write it: use another one, or chmod go-w",
			path, info.Mode().Perm(), stat.Uid)
	}
	return nil
}

// isPrivateGroup reports whether a group has this user as its only member by the convention that it has
// the user's number. With such groups a umask often lets new directories be writable by the group.
func isPrivateGroup(group uint32) bool {
	user := os.Geteuid()
	return user != 0 && int(group) == user && os.Getegid() == user
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
