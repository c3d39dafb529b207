package handlers

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/request"
)

// uncompressed returns what a client reads, and verifies its checksum.
func uncompressed(t *testing.T, data []byte) string {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestGzipList checks that compressed lists equal plain ones while objects change.
func TestGzipList(t *testing.T) {
	later := time.Now().Add(time.Hour) // ages do not change while the test runs
	h := newBenched(t, func(c *Config) { c.Now = func() time.Time { return later } })
	fill(t, h, 1000, 500)
	forms := []string{representation.MediaJSON, representation.MediaProtobuf, "application/json;as=Table;g=meta.k8s.io;v=v1", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
	compare := func(when, query string) {
		t.Helper()
		for _, accept := range forms {
			plain := do(t, h, http.MethodGet, benchedMaps+query, "", "Accept", accept)
			small := do(t, h, http.MethodGet, benchedMaps+query, "", "Accept", accept, "Accept-Encoding", "br, gzip")
			if plain.Header().Get("Content-Encoding") != "" || small.Header().Get("Content-Encoding") != "gzip" || small.Header().Get("Vary") != "Accept-Encoding" {
				t.Fatalf("%s, %s: headers %v and %v", when, accept, plain.Header(), small.Header())
			}
			if uncompressed(t, small.Body.Bytes()) != plain.Body.String() {
				t.Errorf("%s: %s: not the same compressed", when, accept)
			}
		}
	}
	compare("at first", "")
	compare("a page", "?limit=700")
	compare("again", "")
	do(t, h, http.MethodPatch, benchedMaps+"/cm-000500", `{"data":{"key":"changed"}}`, "Content-Type", "application/merge-patch+json")
	do(t, h, http.MethodDelete, benchedMaps+"/cm-000000", "")
	do(t, h, http.MethodPost, benchedMaps, `{"metadata":{"name":"a-new-one"}}`)
	compare("after changes", "")
}

// TestGzipThreshold checks that only large objects are compressed.
func TestGzipThreshold(t *testing.T) {
	h := newBenched(t)
	do(t, h, http.MethodPost, benchedMaps, fmt.Sprintf(`{"metadata":{"name":"large"},"data":{"a":%q}}`, strings.Repeat("x", 128<<10)))
	do(t, h, http.MethodPost, benchedMaps, `{"metadata":{"name":"small"}}`)
	large := do(t, h, http.MethodGet, benchedMaps+"/large", "", "Accept-Encoding", "gzip")
	if large.Header().Get("Content-Encoding") != "gzip" || !strings.Contains(uncompressed(t, large.Body.Bytes()), `"name":"large"`) {
		t.Errorf("headers of a large object: %v", large.Header())
	}
	small := do(t, h, http.MethodGet, benchedMaps+"/small", "", "Accept-Encoding", "gzip")
	if small.Header().Get("Content-Encoding") != "" || small.Header().Get("Vary") != "" {
		t.Errorf("headers of a small object: %v", small.Header())
	}
}

// TestGzipWatchList checks that a watch that begins with a list is compressed, that each flush can be
// read at once, and that other watches and other clients get plain events.
func TestGzipWatchList(t *testing.T) {
	h := newHandler(t, func(c *Config) { c.Gates[features.WatchListCompression] = true })
	addMaps(t, h, "a", "b")
	s := serveOver(t, h, false)
	begin := func(query, accepted string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+mapsPath+"?watch=1&"+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Group", request.GroupMasters)
		r.Header.Set("Accept-Encoding", accepted) // set explicitly, the client does not decompress
		w, err := s.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { w.Body.Close() })
		return w
	}
	const watchList = "sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
	w := begin(watchList, "gzip")
	if w.Header.Get("Content-Encoding") != "gzip" || w.Header.Get("Vary") != "Accept-Encoding" {
		t.Fatalf("headers %v", w.Header)
	}
	z, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	events := json.NewDecoder(z)
	for _, want := range []string{"a", "b", "", "c", "d"} {
		if e := next(t, events); e.Object.Metadata.Name != want {
			t.Fatalf("got %+v, want %q", e, want)
		}
		if want == "" {
			addMaps(t, h, "c")
		} else if want == "c" {
			addMaps(t, h, "d")
		}
	}
	h.Gates[features.WatchListCompression] = false
	off := begin(watchList, "gzip")
	h.Gates[features.WatchListCompression] = true
	for name, w := range map[string]*http.Response{"off": off, "other client": begin(watchList, "identity"), "other watch": begin("resourceVersion=0", "gzip"), "no bookmarks": begin("sendInitialEvents=true&resourceVersionMatch=NotOlderThan", "gzip")} {
		if w.Header.Get("Content-Encoding") != "" || w.StatusCode == http.StatusOK && next(t, json.NewDecoder(w.Body)).Object.Metadata.Name != "a" {
			t.Errorf("%s: %d, headers %v", name, w.StatusCode, w.Header)
		}
	}
}
