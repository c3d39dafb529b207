package compressed

import (
	"bytes"
	"compress/gzip"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// texts returns texts of various sizes, including those around the maximum of a deflate
// block.
func texts(t testing.TB, c *Compressor, r *rand.Rand, n int) ([]*Text, []byte) {
	t.Helper()
	var out []*Text
	var plain []byte
	for range n {
		size := []int{0, 1, 100, 1000, 65535, 65536, 200_000}[r.IntN(7)]
		text := bytes.Repeat([]byte("ab"), size)[:size]
		if r.IntN(2) == 0 {
			for i := range text {
				text[i] = byte(r.Uint32())
			}
		}
		one, err := c.Compress(text)
		if err != nil {
			t.Fatal(err)
		}
		out, plain = append(out, one), append(plain, text...)
	}
	return out, plain
}

// TestJoin checks that a file is valid gzip of its texts, that a text can be in several
// files, and that both formats can be read from any offset.
func TestJoin(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	c := &Compressor{}
	for n := range 12 {
		parts, plain := texts(t, c, r, n)
		for range 2 {
			f := Join(parts...)
			packed, err := io.ReadAll(f.Gzip())
			if err != nil {
				t.Fatal(err)
			}
			rest := bytes.NewReader(packed)
			unzip, err := gzip.NewReader(rest)
			if err != nil {
				t.Fatal(err)
			}
			unzip.Multistream(false) // there is one member, which the reader must not look beyond
			got, err := io.ReadAll(unzip)
			if err != nil || !bytes.Equal(got, plain) || rest.Len() != 0 {
				t.Fatalf("%d texts: %d bytes, want %d; %d are left; err %v", n, len(got), len(plain), rest.Len(), err)
			}
			if err := iotest.TestReader(f.Gzip(), packed); err != nil {
				t.Error(err)
			}
			if len(plain) < 10_000 { // it reads from every place
				if err := iotest.TestReader(f.Plain(), plain); err != nil {
					t.Error(err)
				}
			} else if got, err := io.ReadAll(f.Plain()); err != nil || !bytes.Equal(got, plain) {
				t.Errorf("plain: %d bytes, want %d; err %v", len(got), len(plain), err)
			}
			more, text := texts(t, c, r, 2)
			parts, plain = append(more, parts...), append(text, plain...)
		}
	}
}

// TestHash checks that only files of the same texts have the same hash.
func TestHash(t *testing.T) {
	c := &Compressor{}
	made := func(text string) *Text {
		out, err := c.Compress([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	a, b := made("a"), made("b")
	seen := map[[64]byte]bool{}
	for _, f := range []*File{Join(), Join(a), Join(b), Join(a, b), Join(b, a), Join(a, a)} {
		if seen[f.Hash()] {
			t.Error("two files have one hash")
		}
		seen[f.Hash()] = true
	}
	if !seen[Join(made("a"), made("b")).Hash()] {
		t.Error("the same texts have another hash")
	}
}

// TestServed checks that Go's HTTP client, which client-go uses, decompresses a file
// transparently, and can request a range of it.
func TestServed(t *testing.T) {
	parts, plain := texts(t, &Compressor{}, rand.New(rand.NewPCG(3, 4)), 20)
	f := Join(parts...)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		if r.Header.Get("Accept-Encoding") != "gzip" {
			http.ServeContent(w, r, "", time.Time{}, f.Plain())
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		http.ServeContent(w, r, "", time.Time{}, f.Gzip())
	}))
	defer server.Close()
	for part, want := range map[string][]byte{"": plain, "bytes=70000-140000": plain[70000:140001]} {
		r, err := http.NewRequest(http.MethodGet, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		if part != "" {
			r.Header.Set("Range", part) // with which nothing is compressed
		}
		answer, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || !bytes.Equal(got, want) || answer.Uncompressed != (part == "") {
			t.Errorf("%q: %d bytes, want %d; unpacked: %v; err %v", part, len(got), len(want), answer.Uncompressed, err)
		}
	}
}

func BenchmarkPlain(b *testing.B) {
	c := &Compressor{}
	var all []*Text
	for range 1000 {
		text, err := c.Compress(bytes.Repeat([]byte("some text "), 1000))
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, text)
	}
	f := Join(all...)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := io.Copy(io.Discard, f.Plain()); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzSum(f *testing.F) {
	f.Add("a", "b")
	f.Add("", strings.Repeat("ab", 100))
	f.Fuzz(func(t *testing.T, a, b string) {
		sum := multiply(crc32.ChecksumIEEE([]byte(a)), shift(len(b))) ^ crc32.ChecksumIEEE([]byte(b))
		if want := crc32.ChecksumIEEE([]byte(a + b)); sum != want {
			t.Errorf("%x, want %x", sum, want)
		}
	})
}
