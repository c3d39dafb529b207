package packages

import (
	"archive/zip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// entry is a file in an archive: a text, or the content of another file.
type entry struct {
	name, text, file string
	mode             fs.FileMode
}

// read returns the content of an entry.
func (e entry) read() ([]byte, error) {
	if e.file == "" {
		return []byte(e.text), nil
	}
	return os.ReadFile(e.file)
}

// archiveTime is the time of all entries, the earliest that the format has.
var archiveTime = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// writeZip writes an archive.
func writeZip(to string, entries []entry) error {
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	w := zip.NewWriter(f)
	for _, e := range entries {
		err = errors.Join(err, addToZip(w, e))
	}
	return errors.Join(err, w.Close(), f.Close())
}

func addToZip(w *zip.Writer, e entry) error {
	content, err := e.read()
	if err != nil {
		return err
	}
	header := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: archiveTime}
	header.SetMode(e.mode)
	out, err := w.CreateHeader(header)
	if err == nil {
		_, err = out.Write(content)
	}
	return err
}

// filesBelow returns the files of a directory that have one of some suffixes as entries, with names below a prefix.
func filesBelow(dir, prefix string, suffixes ...string) ([]entry, error) {
	var entries []entry
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !slices.Contains(suffixes, filepath.Ext(path)) {
			return err
		}
		relative, err := filepath.Rel(dir, path)
		entries = append(entries, entry{name: prefix + filepath.ToSlash(relative), file: path, mode: 0o644})
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
