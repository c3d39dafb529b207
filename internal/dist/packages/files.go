package packages

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/miniapiserver/miniapiserver/internal/dist/archive"
)

// filesBelow returns the files of a directory that have one of some suffixes as entries, with names below a prefix.
func filesBelow(dir, prefix string, suffixes ...string) ([]archive.Entry, error) {
	var entries []archive.Entry
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !slices.Contains(suffixes, filepath.Ext(path)) {
			return err
		}
		relative, err := filepath.Rel(dir, path)
		entries = append(entries, archive.Entry{Name: prefix + filepath.ToSlash(relative), File: path, Mode: 0o644})
		return err
	})
	return entries, err
}

// license returns the path of the license.
func (b *builder) license() string { return filepath.Join(b.source, "..", "LICENSE") }

// copyFile copies a file with its permissions, and makes the directory of the copy.
func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
