package representation

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
)

// unzipped returns the uncompressed data, and verifies its checksum.
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

// TestGzipStream checks that compressed parts can be concatenated.
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

// TestPartCacheIsBounded checks that the cache drops parts that are not used, and only those.
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
			t.Fatalf("a used part was dropped after %d parts", i)
		}
	}
	if n := len(c.young) + len(c.old); n > 22 {
		t.Errorf("%d parts are kept", n)
	}
	if c.get(keys[5]) != nil {
		t.Error("an unused part was not dropped")
	}
}

// TestAcceptsGzip checks that only the bare name of the coding counts.
func TestAcceptsGzip(t *testing.T) {
	for accept, want := range map[string]bool{
		"gzip": true, "deflate, gzip": true, " gzip ": true, "gzip,": true, "identity;q=1, gzip": true,
		"": false, "GZIP": false, "gzip;q=1.0": false, "*": false, "br, gzip;q=0.5": false, "x-gzip": false,
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Accept-Encoding", accept)
		if got := AcceptsGzip(r); got != want {
			t.Errorf("%q: %t", accept, got)
		}
	}
}
