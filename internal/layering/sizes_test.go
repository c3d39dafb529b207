package layering

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// sourceLines returns the lines of each source file that is no test, by path.
func sourceLines(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	eachSource(t, func(path string, _ *token.FileSet, _ *ast.File) {
		text, err := os.ReadFile(filepath.Join("..", "..", path))
		if err != nil {
			t.Fatal(err)
		}
		found[path] = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	})
	return found
}

// TestStatedSizes checks the sizes in docs/reading-the-source.md, which may be wrong by a tenth.
func TestStatedSizes(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reading-the-source.md"))
	if err != nil {
		t.Fatal(err)
	}
	files, stated := sourceLines(t), 0
	check := func(number, what string, counts func(path string) bool) {
		stated++
		n := 0
		for path, text := range files {
			if counts(path) {
				n += len(text)
			}
		}
		if want, err := strconv.Atoi(strings.ReplaceAll(number, ",", "")); err != nil || max(want-n, n-want)*10 > n {
			t.Errorf("%s: the page says %s, there are %d lines", what, number, n)
		}
	}
	if total := regexp.MustCompile(`about ([0-9,]+) lines of Go without tests`).FindSubmatch(page); total != nil {
		check(string(total[1]), "all", func(string) bool { return true })
	}
	row := regexp.MustCompile("(?m)^\\| ([0-9,]+) \\| ((?:`[a-z/]+`(?:, )?)+)")
	for _, m := range row.FindAllStringSubmatch(string(page), -1) {
		check(m[1], m[2], func(path string) bool {
			return strings.Contains(m[2], "`"+strings.SplitN(path, "/", 2)[0]+"`")
		})
	}
	if stated < 10 {
		t.Errorf("found %d sizes in the page", stated)
	}
}

// TestLongLines bounds the lines of more than 140 characters, which no screen shows beside anything else.
func TestLongLines(t *testing.T) {
	const perThousand = 1
	long, total := 0, 0
	for path, text := range sourceLines(t) {
		total += len(text)
		for i, line := range text {
			if len(line) > 140 {
				long++
				t.Logf("%s:%d has %d characters", path, i+1, len(line))
			}
		}
	}
	if long*1000 > total*perThousand {
		t.Errorf("%d of %d lines have more than 140 characters, at most %d of 1,000 may", long, total, perThousand)
	}
}
