package layering

import (
	"bytes"
	"cmp"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// leastTestsOfKinds is the number of lines of test for a line of source that kinds has at least. Raise it when the
// log of TestLedger shows more, so that a new kind comes with its table of rules.
const leastTestsOfKinds = 1.0

// lines are the lines of source and of test in a folder.
type lines struct{ source, test int }

func (l lines) ratio() float64 { return float64(l.test) / float64(max(l.source, 1)) }

// TestLedger logs the lines of each folder at the top and of each folder of kinds, and checks that kinds keeps
// its tests.
func TestLedger(t *testing.T) {
	ledger := map[string]lines{}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		switch {
		case entry.IsDir() && path != root && (name == "testdata" || strings.HasPrefix(name, ".") || isModule(path)):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, folder := range ledgerFolders(filepath.ToSlash(relative)) {
			l := ledger[folder]
			if n := bytes.Count(data, []byte("\n")); strings.HasSuffix(name, "_test.go") {
				l.test += n
			} else {
				l.source += n
			}
			ledger[folder] = l
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range slices.SortedFunc(maps.Keys(ledger), cmp.Compare) {
		l := ledger[folder]
		t.Logf("%-32s %6d lines of source %6d of test %6.2f", folder, l.source, l.test, l.ratio())
	}
	if got := ledger["kinds"]; got.source == 0 || got.ratio() < leastTestsOfKinds {
		t.Errorf("kinds has %.3f lines of test for a line of source, want %v", got.ratio(), leastTestsOfKinds)
	}
}

// ledgerFolders returns the folders in whose lines a folder counts: the first of its path, the first two in kinds,
// and the whole tree.
func ledgerFolders(folder string) []string {
	parts := strings.Split(folder, "/")
	folders := []string{"(all)", parts[0]}
	if parts[0] == "kinds" && len(parts) > 1 {
		folders = append(folders, strings.Join(parts[:2], "/"))
	}
	return folders
}
