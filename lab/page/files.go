package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
)

//go:embed static
var static embed.FS

// file is a file of the page.
type file struct {
	contentType, tag string
	plain, gzip      []byte
}

// loadFiles returns the files by their paths.
func loadFiles() (map[string]*file, error) {
	files := map[string]*file{}
	err := fs.WalkDir(static, "static", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		plain, err := static.ReadFile(name)
		if err != nil {
			return err
		}
		f := &file{plain: plain, contentType: contentType(name)}
		sum := sha256.Sum256(plain)
		f.tag = `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
		if f.gzip, err = compress(plain); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		files[strings.TrimPrefix(name, "static")] = f
		return nil
	})
	files["/"] = files["/index.html"]
	return files, err
}

// contentType returns the type of a file. The names are those of this package, so that the tables of the machine that
// package mime reads are not needed.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".css":
		return "text/css; charset=utf-8"
	}
	return "text/plain; charset=utf-8"
}

func compress(plain []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(plain); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// serveFile serves a file of the page, which needs no token.
func (h *Handler) serveFile(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		(&refusal{http.StatusMethodNotAllowed, "files are read"}).write(w)
		return
	}
	f := h.files[r.URL.Path]
	if f == nil {
		(&refusal{http.StatusNotFound, "the page has no such file"}).write(w)
		return
	}
	header := w.Header()
	header.Set("Content-Type", f.contentType)
	header.Set("Cache-Control", "no-cache") // the tag decides; a new release has new files
	header.Set("ETag", f.tag)
	header.Set("Vary", "Accept-Encoding")
	if r.Header.Get("If-None-Match") == f.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := f.plain
	if acceptsGzip(r.Header.Get("Accept-Encoding")) {
		header.Set("Content-Encoding", "gzip")
		body = f.gzip
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(body) // the client has gone
	}
}

// acceptsGzip reports whether a client accepts gzip.
func acceptsGzip(accept string) bool {
	for part := range strings.SplitSeq(accept, ",") {
		name, parameters, err := mime.ParseMediaType(strings.TrimSpace(part))
		if err == nil && name == "gzip" {
			q, err := strconv.ParseFloat(parameters["q"], 64)
			return parameters["q"] == "" || err == nil && q > 0
		}
	}
	return false
}
