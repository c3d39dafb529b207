package kubectl

import (
	"bufio"
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestAPIResources compares the rows of kubectl api-resources with the output for kube-apiserver
// 1.37 in testdata/api-resources.golden.
func TestAPIResources(t *testing.T) {
	out := newKubectl(t).output("api-resources", "--output=wide", "--sort-by=name", "--no-headers")
	recorded, err := os.ReadFile(filepath.Join("testdata", "api-resources.golden"))
	if err != nil {
		t.Fatal(err)
	}
	compareRows(t, rows(recorded), rows([]byte(out)))
}

// rows returns the lines of a table with single spaces between fields.
func rows(table []byte) map[string]bool {
	set := map[string]bool{}
	for lines := bufio.NewScanner(bytes.NewReader(table)); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) > 0 && fields[0] != "NAME" {
			set[strings.Join(fields, " ")] = true
		}
	}
	return set
}

func compareRows(t *testing.T, want, got map[string]bool) {
	t.Helper()
	for _, row := range slices.Sorted(maps.Keys(want)) {
		if !got[row] {
			t.Errorf("not there: %s", row)
		}
	}
	for _, row := range slices.Sorted(maps.Keys(got)) {
		if !want[row] {
			t.Errorf("not in kube-apiserver: %s", row)
		}
	}
}
