package authn

import (
	"crypto/sha256"
	"fmt"
	"testing"
)

// TestVerifiedCache checks that values of other generations are not found, and that their number is bounded.
func TestVerifiedCache(t *testing.T) {
	var c verifiedCache[string]
	a, b := sha256.Sum256([]byte("a")), sha256.Sum256([]byte("b"))
	expect := func(sum [sha256.Size]byte, generation int, want string) {
		t.Helper()
		if got, ok := c.get(sum, generation); got != want || ok != (want != "") {
			t.Errorf("generation %d: got %q, %t; want %q", generation, got, ok, want)
		}
	}
	expect(a, 0, "")
	c.put(a, "first", 1)
	expect(a, 1, "first")
	expect(a, 2, "")
	expect(b, 1, "")
	c.put(b, "second", 2)
	expect(b, 2, "second")
	expect(a, 2, "")
	expect(b, 2, "second")
	for i := range 2 * maxVerified {
		c.put(sha256.Sum256(fmt.Append(nil, i)), "x", 2)
	}
	if n := c.cache().Len(); n != maxVerified {
		t.Errorf("%d values are cached", n)
	}
}

func BenchmarkVerifiedCache(b *testing.B) {
	sums := make([][sha256.Size]byte, 1000)
	var c verifiedCache[*signedToken]
	for i := range sums {
		sums[i] = sha256.Sum256(fmt.Append(nil, i))
		c.put(sums[i], &signedToken{}, 1)
	}
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for i := 0; p.Next(); i++ {
			if _, ok := c.get(sums[i%len(sums)], 1); !ok {
				b.Error("not found")
			}
		}
	})
}
