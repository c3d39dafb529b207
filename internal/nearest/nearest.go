// Package nearest suggests the valid name that a mistyped name most likely stands for.
package nearest

import "math"

// Name returns the known name that differs least from a name, or "" if all differ by more than a third of the
// longer name, or than half of it if that is two bytes at most. The first of several equally near names is returned.
func Name(name string, known []string) string {
	best, least := "", math.MaxInt
	for _, candidate := range known {
		d := distance(name, candidate)
		longer := max(len(name), len(candidate))
		if d < least && (3*d <= longer || d <= 2 && 2*d <= longer) {
			best, least = candidate, d
		}
	}
	return best
}

// distance returns the number of bytes to insert, delete or replace to make a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
