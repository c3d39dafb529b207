package manifest

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/miniapiserver/miniapiserver/internal/configfile"
)

// file is a file of a directory that is not empty.
type file struct {
	path string
	data []byte
}

// extensions are the endings of the names of files that are read, in lower case.
var extensions = []string{".yaml", ".yml", ".json"}

// readFiles returns the files of a directory in the order of their names, and a hash of their
// contents, which is empty if there are no files.
func readFiles(dir string) ([]file, string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, "", fmt.Errorf("failed to read manifest directory %q: %w", dir, err)
	}
	var files []file
	h := sha256.New()
	for _, e := range entries {
		if e.IsDir() || !slices.Contains(extensions, strings.ToLower(filepath.Ext(e.Name()))) {
			continue
		}
		f := file{path: filepath.Join(dir, e.Name())}
		if f.data, err = configfile.Read(f.path); err != nil {
			return nil, "", fmt.Errorf("failed to read file %q: %w", f.path, err)
		}
		if len(f.data) > 0 {
			files = append(files, f)
			h.Write(f.data)
			h.Write([]byte{0})
		}
	}
	if len(files) == 0 {
		return nil, "", nil
	}
	return files, fmt.Sprintf("sha256:%x", h.Sum(nil)), nil
}

// documents returns the YAML documents of a file.
func (f *file) documents() ([][]byte, error) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(f.data)))
	var docs [][]byte
	for {
		doc, err := reader.Read()
		switch {
		case errors.Is(err, io.EOF):
			return docs, nil
		case err != nil:
			return nil, fmt.Errorf("failed to split YAML documents in file %q: %w", f.path, err)
		}
		if doc = bytes.TrimSpace(doc); len(doc) > 0 {
			docs = append(docs, doc)
		}
	}
}
