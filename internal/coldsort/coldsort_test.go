package coldsort_test

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/miniapiserver/miniapiserver/internal/coldsort"
)

// TestFunc compares the order with that of slices.SortStableFunc.
func TestFunc(t *testing.T) {
	type pair struct{ key, index int }
	rapid.Check(t, func(t *rapid.T) {
		var got []pair
		for i, key := range rapid.SliceOf(rapid.IntRange(0, 9)).Draw(t, "keys") {
			got = append(got, pair{key, i})
		}
		want := slices.Clone(got)
		byKey := func(a, b pair) int { return cmp.Compare(a.key, b.key) }
		slices.SortStableFunc(want, byKey)
		if coldsort.Func(got, byKey); !slices.Equal(got, want) {
			t.Fatalf("sorted to %v, want %v", got, want)
		}
	})
}
