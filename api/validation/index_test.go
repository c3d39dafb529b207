package validation

import (
	"fmt"
	"testing"
)

// TestIndex checks that an index of short and of long lists finds the first element of a key.
func TestIndex(t *testing.T) {
	type element struct{ name, value string }
	for _, n := range []int{0, 1, maxSearched, maxSearched + 1, 500} {
		var list []element
		for i := range n {
			list = append(list, element{fmt.Sprint(i / 2), fmt.Sprint(i)})
		}
		x := IndexOf(list, func(e *element) string { return e.name })
		for i := range n {
			if got := x.First(fmt.Sprint(i / 2)); got != &list[i/2*2] {
				t.Fatalf("%d elements: the first of %d is %v", n, i/2, got)
			}
		}
		if x.Has("other") || x.Has("") {
			t.Errorf("%d elements: has what is not there", n)
		}
	}
}
