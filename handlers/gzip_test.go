package handlers

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// unzipped is what a client reads, checksum and all.
func unzipped(t *testing.T, data []byte) string {
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

func TestGzipStream(t *testing.T) {
	for _, texts := range [][]string{{}, {""}, {"a"}, {"a", "", "bc"}, {strings.Repeat("xy", 100000), "z", strings.Repeat("xy", 70000)}} {
		b, sum := []byte(gzipHead), gzipSum{}
		for _, text := range texts {
			p, err := compressPart([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			b = sum.add(b, p)
		}
		if got, want := unzipped(t, sum.end(b)), strings.Join(texts, ""); got != want {
			t.Errorf("%d parts: %d bytes, want %d", len(texts), len(got), len(want))
		}
	}
}

// TestGzipList compares compressed answers with plain ones while objects come,
// change and go, and looks that what did not change is not compressed again.
func TestGzipList(t *testing.T) {
	h := newBenched(t)
	fill(t, h, 1000, 500)
	later := time.Now().Add(time.Hour) // ages do not change while the test runs
	h.Now = func() time.Time { return later }
	forms := []string{mediaJSON, mediaProtobuf, "application/json;as=Table;g=meta.k8s.io;v=v1", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
	compare := func(when, query string) {
		t.Helper()
		for _, accept := range forms {
			plain := do(t, h, http.MethodGet, benchedMaps+query, "", "Accept", accept)
			small := do(t, h, http.MethodGet, benchedMaps+query, "", "Accept", accept, "Accept-Encoding", "br, gzip")
			if plain.Header().Get("Content-Encoding") != "" || small.Header().Get("Content-Encoding") != "gzip" || small.Header().Get("Vary") != "Accept-Encoding" {
				t.Fatalf("%s, %s: headers %v and %v", when, accept, plain.Header(), small.Header())
			}
			if unzipped(t, small.Body.Bytes()) != plain.Body.String() {
				t.Errorf("%s: %s: not the same compressed", when, accept)
			}
		}
	}
	compare("at first", "")
	compare("a page", "?limit=700")
	before := len(h.parts.young)
	compare("again", "")
	if n := len(h.parts.young); n != before {
		t.Errorf("%d new parts of a list that did not change", n-before)
	}
	do(t, h, http.MethodPatch, benchedMaps+"/cm-000500", `{"data":{"key":"changed"}}`, "Content-Type", "application/merge-patch+json")
	do(t, h, http.MethodDelete, benchedMaps+"/cm-000000", "")
	do(t, h, http.MethodPost, benchedMaps, `{"metadata":{"name":"a-new-one"}}`)
	compare("after changes", "")
	const most = 3 * (3 + 2) // parts that a change may touch, in three forms that are kept
	if n := len(h.parts.young) - before; n > most {
		t.Errorf("%d new parts after three changes", n)
	}
}

func TestGzipThreshold(t *testing.T) {
	h := newBenched(t)
	do(t, h, http.MethodPost, benchedMaps, fmt.Sprintf(`{"metadata":{"name":"large"},"data":{"a":%q}}`, strings.Repeat("x", gzipThreshold)))
	do(t, h, http.MethodPost, benchedMaps, `{"metadata":{"name":"small"}}`)
	large := do(t, h, http.MethodGet, benchedMaps+"/large", "", "Accept-Encoding", "gzip")
	if large.Header().Get("Content-Encoding") != "gzip" || !strings.Contains(unzipped(t, large.Body.Bytes()), `"name":"large"`) {
		t.Errorf("headers of a large object: %v", large.Header())
	}
	small := do(t, h, http.MethodGet, benchedMaps+"/small", "", "Accept-Encoding", "gzip")
	if small.Header().Get("Content-Encoding") != "" || small.Header().Get("Vary") != "" {
		t.Errorf("headers of a small object: %v", small.Header())
	}
}

func TestPartCacheIsBounded(t *testing.T) {
	c := newPartCache()
	part := &gzipPart{blocks: make([]byte, partBytes/10)}
	var keys []partKey
	for i := range 50 {
		k := partKey{}
		k.items[0] = byte(i)
		keys = append(keys, k)
		c.put(k, part)
		if c.get(keys[0]) == nil {
			t.Fatalf("what is in use was dropped after %d parts", i)
		}
	}
	if n := len(c.young) + len(c.old); n > 22 {
		t.Errorf("%d parts are kept", n)
	}
	if c.get(keys[5]) != nil {
		t.Error("what was not used for long is still there")
	}
}
