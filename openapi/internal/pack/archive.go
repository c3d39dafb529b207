package pack

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
)

// writeArchive writes files, by name, to a zip archive. It does not rewrite an archive with
// the same content, because another release of Go may compress it differently.
func writeArchive(file string, content map[string]*bytes.Buffer) error {
	if archiveHas(file, content) {
		return nil
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	w.RegisterCompressor(zip.Deflate, func(to io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(to, flate.BestCompression)
	})
	for _, name := range slices.Sorted(maps.Keys(content)) {
		// No modification time, so the archive depends only on its content.
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if _, err := f.Write(content[name].Bytes()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(file, out.Bytes(), 0o644)
}

// archiveHas reports whether the archive exists and has this content.
func archiveHas(file string, content map[string]*bytes.Buffer) bool {
	r, err := zip.OpenReader(file)
	if err != nil {
		return false
	}
	defer r.Close()
	if len(r.File) != len(content) {
		return false
	}
	for _, f := range r.File {
		want := content[f.Name]
		if want == nil {
			return false
		}
		opened, err := f.Open()
		if err != nil {
			return false
		}
		got, err := io.ReadAll(opened)
		opened.Close()
		if err != nil || !bytes.Equal(got, want.Bytes()) {
			return false
		}
	}
	return true
}
