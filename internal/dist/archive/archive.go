// Package archive writes the archives of a release. The same entries give the same bytes: all have one time, and no owner.
package archive

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"
)

// Entry is a file in an archive: a text, or the content of another file.
type Entry struct {
	Name, Text, File string
	Mode             fs.FileMode
}

// Read returns the content of an entry.
func (e Entry) Read() ([]byte, error) {
	if e.File == "" {
		return []byte(e.Text), nil
	}
	return os.ReadFile(e.File)
}

// entryTime is the time of all entries, the earliest that zip has.
var entryTime = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// WriteZip writes a zip archive.
func WriteZip(to string, entries []Entry) error {
	return writeFile(to, func(f io.Writer) error {
		w := zip.NewWriter(f)
		for _, e := range entries {
			content, err := e.Read()
			if err != nil {
				return err
			}
			header := &zip.FileHeader{Name: e.Name, Method: zip.Deflate, Modified: entryTime}
			header.SetMode(e.Mode)
			out, err := w.CreateHeader(header)
			if err != nil {
				return err
			}
			if _, err := out.Write(content); err != nil {
				return err
			}
		}
		return w.Close()
	})
}

// WriteTarGz writes a compressed tar archive.
func WriteTarGz(to string, entries []Entry) error {
	return writeFile(to, func(f io.Writer) error {
		compressed, err := gzip.NewWriterLevel(f, gzip.BestCompression)
		if err != nil {
			return err
		}
		w := tar.NewWriter(compressed)
		for _, e := range entries {
			content, err := e.Read()
			if err != nil {
				return err
			}
			header := &tar.Header{Name: e.Name, Typeflag: tar.TypeReg, Mode: int64(e.Mode.Perm()), Size: int64(len(content)), ModTime: entryTime}
			if err := w.WriteHeader(header); err != nil {
				return err
			}
			if _, err := w.Write(content); err != nil {
				return err
			}
		}
		return errors.Join(w.Close(), compressed.Close())
	})
}

func writeFile(to string, write func(io.Writer) error) error {
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
