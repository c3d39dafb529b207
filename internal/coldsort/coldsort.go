// Package coldsort sorts slices that are short or rarely sorted, in a program that stays small.
//
// The compiler makes a copy of the sort functions of package slices for each type of elements, about
// 20 KB in the binary. Func shares one copy, which is several times slower. Code that sorts for each
// request uses package slices.
package coldsort

import "sort"

// Func sorts s in ascending order of compare and keeps the order of equal elements, as
// slices.SortStableFunc does.
func Func[T any](s []T, compare func(a, b T) int) {
	sort.SliceStable(s, func(i, j int) bool { return compare(s[i], s[j]) < 0 })
}
