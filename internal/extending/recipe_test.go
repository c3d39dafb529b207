package extending

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// codeBlock is a code block of the guide, with the comment before it that names the file
// in which its code stands.
var codeBlock = regexp.MustCompile("(?s)(?:<!-- (\\S+) -->\n)?```[a-z]+\n(.*?)```")

// TestRecipesAreCode checks that the files named in the code blocks of the guides contain
// the code of the blocks. A line "..." stands for omitted lines.
func TestRecipesAreCode(t *testing.T) {
	for guide, atLeast := range map[string]int{"extending.md": 5, "testing.md": 5} {
		t.Run(guide, func(t *testing.T) { compareBlocks(t, guide, atLeast) })
	}
}

// compareBlocks compares the code blocks of a guide with the files that they name. The
// guide must have at least a number of blocks.
func compareBlocks(t *testing.T, name string, atLeast int) {
	root := filepath.Join("..", "..")
	guide, err := os.ReadFile(filepath.Join(root, "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	blocks := codeBlock.FindAllStringSubmatch(string(guide), -1)
	if len(blocks) < atLeast {
		t.Fatalf("%d code blocks, want at least %d", len(blocks), atLeast)
	}
	for _, block := range blocks {
		if block[1] == "" {
			t.Errorf("no comment names the file of this block:\n%s", block[2])
			continue
		}
		source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(block[1])))
		if err != nil {
			t.Error(err)
			continue
		}
		rest := unindented(string(source))
		for part := range strings.SplitSeq(unindented(block[2]), "\n...\n") {
			_, after, ok := strings.Cut(rest, strings.Trim(part, "\n"))
			if !ok {
				t.Errorf("%s does not contain, or not in this order:\n%s", block[1], part)
			}
			rest = after
		}
	}
}

// unindented removes the indentation of all lines: a block may show lines from within a
// function.
func unindented(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimLeft(lines[i], "\t ")
	}
	return strings.Join(lines, "\n")
}
