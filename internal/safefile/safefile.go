// Package safefile creates the files and directories that contain secrets: backups, databases, keys,
// kubeconfig files and the audit log. Others who may write in the directory of such a file cannot
// read it, choose where its content goes, or replace it unnoticed.
//
// A new file is written under a name of its own, which nobody has used before, and gets its
// final name when it is complete. A link with the final name is replaced, and its target is never
// written. Directories and existing files are used only if nobody else may change them.
package safefile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// File is a file that is not finished. Only its owner can read it.
type File struct {
	*os.File
	path string
}

// Create creates an unfinished file, in the directory of path, which Commit names path. If the caller does
// not call Commit, it must call Discard.
func Create(path string) (*File, error) {
	return CreateTemp(path, "."+filepath.Base(path)+"-*.part")
}

// CreateTemp is Create with a pattern for the unfinished name, as of os.CreateTemp.
func CreateTemp(path, pattern string) (*File, error) {
	f, err := os.CreateTemp(filepath.Dir(path), pattern) // O_EXCL, 0600
	if err != nil {
		return nil, err
	}
	return &File{f, path}, nil
}

// Commit gives the file its mode and its name. If durable, the file and its name survive a crash of the
// machine. A file that has the name already is replaced.
func (f *File) Commit(mode os.FileMode, durable bool) error {
	err := f.finish(mode, durable)
	if err != nil {
		f.Discard()
		return err
	}
	if durable {
		return syncDir(filepath.Dir(f.path))
	}
	return nil
}

func (f *File) finish(mode os.FileMode, durable bool) error {
	written, err := f.Stat()
	if err == nil && written.Mode().Perm() != mode {
		err = f.Chmod(mode)
	}
	if err == nil && durable {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), f.path); err != nil {
		return err
	}
	// Others who may write in the directory can replace the unfinished file. Another process of this user
	// may have written its own file already.
	named, err := os.Lstat(f.path)
	if err != nil || os.SameFile(named, written) {
		return err
	}
	if err := checkRegular(f.path, named); err != nil {
		return fmt.Errorf("%s is not the file that was written, since others change its directory: %w", f.path, err)
	}
	return nil
}

// Discard removes the file, unless it is committed.
func (f *File) Discard() {
	_ = f.Close()           // closed already after Commit
	_ = os.Remove(f.Name()) // not there after Commit
}

// Write replaces the file at path. It only sets the mode of a regular file that already has the content.
func Write(path string, data []byte, mode os.FileMode, durable bool) error {
	if sameContent(path, data, mode) {
		return nil
	}
	f, err := Create(path)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Commit(mode, durable)
}

// sameContent reports whether path is a regular file, of this user, with a content and a mode, which it
// sets if it is another.
func sameContent(path string, data []byte, mode os.FileMode) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() != int64(len(data)) || checkOwner(path, info) != nil {
		return false
	}
	have := make([]byte, len(data))
	if _, err := f.ReadAt(have, 0); err != nil || string(have) != string(data) {
		return false
	}
	return info.Mode().Perm() == mode || f.Chmod(mode) == nil
}

// OpenAppend opens a regular file for appending, or creates one for its owner alone. It refuses links,
// pipes and devices, and files that another user owns or may write.
func OpenAppend(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	switch {
	case errors.Is(err, syscall.ELOOP):
		return nil, fmt.Errorf("%s is a symbolic link: name the file itself", path)
	case errors.Is(err, syscall.ENXIO):
		return nil, fmt.Errorf("%s is not a regular file", path)
	case err != nil:
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = checkRegular(path, info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Open opens a regular file for reading. It refuses links, pipes and devices.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s is not a regular file", path), err, f.Close())
	}
	return f, nil
}

func checkRegular(path string, info os.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	return checkOwner(path, info)
}

// CheckFile returns an error if path is a file that another user owns or may write. It
// follows links.
func CheckFile(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return checkOwner(path, info)
}

// MakeDir creates a directory, and the missing ones above it, unless it exists. It returns an error if
// another user owns the directory or may write in it.
func MakeDir(path string, mode os.FileMode) error {
	if err := os.MkdirAll(path, mode); err != nil {
		return err
	}
	return CheckFile(path)
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
