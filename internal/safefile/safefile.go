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
	if err := makePrivate(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
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
	f, err := openItself(path, os.O_RDONLY, 0)
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
	_, missing := os.Lstat(path)
	f, err := openItself(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	switch {
	case errors.Is(err, syscall.ELOOP):
		return nil, fmt.Errorf("%s is a symbolic link: name the file itself", path)
	case errors.Is(err, syscall.ENXIO):
		return nil, fmt.Errorf("%s is not a regular file", path)
	case err != nil:
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && missing != nil {
		err = makePrivate(path)
	}
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
	f, err := openItself(path, os.O_RDONLY, 0)
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
	_, missing := os.Stat(path)
	if err := os.MkdirAll(path, mode); err != nil {
		return err
	}
	if missing != nil && mode&0o077 == 0 {
		if err := makePrivate(path); err != nil {
			return err
		}
	}
	return CheckFile(path)
}

// IsOwnDir reports whether path is a directory, and not a link to one, that the process's user owns.
func IsOwnDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir() && isOwn(path, info)
}
