package representation

import (
	"math"
	"strconv"
	"testing"
)

// TestDigits compares digits with strconv.
func TestDigits(t *testing.T) {
	for _, n := range []int64{0, 9, 10, 99, 100, 1e9 - 1, 1e18 - 1, 1e18, math.MaxInt64} {
		if got, want := digits(n), len(strconv.FormatInt(n, 10)); got != want {
			t.Errorf("%d: %d digits, want %d", n, got, want)
		}
	}
}

// FuzzVersionAt checks that versionAt never returns a position without the field.
func FuzzVersionAt(f *testing.F) {
	f.Add([]byte("\x0a\x01a\x12\x00\x1a\x00\x22\x00\x2a\x00\x32\x00"))
	f.Add([]byte("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x32\x00"))
	f.Fuzz(func(t *testing.T, meta []byte) {
		if at := versionAt(meta); at >= 0 && string(meta[at:at+2]) != emptyVersion {
			t.Errorf("%x: nothing at %d", meta, at)
		}
	})
}
