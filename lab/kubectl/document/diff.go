package document

import (
	"strings"

	"github.com/pmezard/go-difflib/difflib"
)

// Diff returns the difference of two documents in the unified format, "" if they are equal.
func Diff(from, to []Line, fromName, toName string) (string, error) {
	return difflib.GetUnifiedDiffString(difflib.UnifiedDiff{A: texts(from), B: texts(to), FromFile: fromName, ToFile: toName, Context: 3})
}

func texts(lines []Line) []string {
	all := make([]string, 0, len(lines))
	for _, l := range lines {
		all = append(all, strings.TrimSuffix(l.Text, "\n")+"\n")
	}
	return all
}
