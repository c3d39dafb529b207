package kinds

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/core"
)

// TestColumns compares with testdata/columns.txt: the columns of
// kube-apiserver 1.36, one line for each resource.
func TestColumns(t *testing.T) {
	f, err := os.Open("testdata/columns.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want := map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, columns, _ := strings.Cut(lines.Text(), ": ")
		want[name] = columns
	}
	checked := 0
	for _, r := range All() {
		got := columnLine(r.Columns())
		for _, v := range r.Versions {
			columns, ok := want[v.GroupVersion.String()+" "+r.Name]
			if !ok {
				continue
			}
			checked++
			if got != columns {
				t.Errorf("%s %s:\n got %s\nwant %s", v.GroupVersion, r.Name, got, columns)
			}
		}
	}
	if checked != len(want) {
		t.Errorf("checked %d of %d resources", checked, len(want))
	}
}

func columnLine(columns []metav1.TableColumnDefinition) string {
	texts := make([]string, len(columns))
	for i, c := range columns {
		var notes []string
		if c.Type != "string" {
			notes = append(notes, c.Type)
		}
		if c.Format != "" {
			notes = append(notes, "format "+c.Format)
		}
		if c.Priority != 0 {
			notes = append(notes, fmt.Sprintf("priority %d", c.Priority))
		}
		texts[i] = c.Name
		if notes != nil {
			texts[i] += " (" + strings.Join(notes, ", ") + ")"
		}
	}
	return strings.Join(texts, "; ")
}

// TestColumnsAreDescribed checks that the descriptions of columns are those of existing
// fields. Some columns have no description in kube-apiserver either.
func TestColumnsAreDescribed(t *testing.T) {
	bare := []string{"runtimeclasses Handler", "leasecandidates BinaryVersion", "leasecandidates EmulationVersion"}
	for _, r := range All() {
		for _, c := range r.Columns() {
			if (c.Description == "") != slices.Contains(bare, r.Name+" "+c.Name) {
				t.Errorf("%s: column %q is described by %q", r.Name, c.Name, c.Description)
			}
		}
	}
}

// TestCellsOfNothing checks the rows of empty objects, as in the bookmarks of a watch.
func TestCellsOfNothing(t *testing.T) {
	for _, r := range All() {
		cells, want := r.Row(r.New()).Cells(), len(r.Columns())
		if r.Name == "ipaddresses" {
			want++ // the row has an age without a column
		}
		if len(cells) != want {
			t.Errorf("%s: %d cells for %d columns", r.Name, len(cells), want)
		}
		for i, c := range cells {
			switch c.(type) {
			case string, int64, bool, table.Elapsed:
			default:
				t.Errorf("%s: cell %d is a %T", r.Name, i, c)
			}
		}
	}
}

// showTime is the time at which the tests render tables.
var showTime = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// cellsTest has an object as YAML and its cells, separated by bars.
type cellsTest struct{ name, object, want string }

func testCells(t *testing.T, r *api.Resource, tests []cellsTest) {
	t.Helper()
	for _, c := range tests {
		obj := r.New()
		if err := yaml.UnmarshalStrict([]byte(c.object), obj); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := cellLine(r.Row(obj).Cells()); got != c.want {
			t.Errorf("%s %s:\n got %s\nwant %s", r.Name, c.name, got, c.want)
		}
	}
}

func cellLine(cells []any) string {
	texts := make([]string, len(cells))
	for i, c := range cells {
		if e, ok := c.(table.Elapsed); ok {
			texts[i] = e.Text(showTime)
		} else {
			texts[i] = fmt.Sprint(c)
		}
	}
	return strings.Join(texts, "|")
}

func TestPlainTable(t *testing.T) {
	testCells(t, core.LimitRange(), []cellsTest{
		{"plain", "metadata: {name: a, creationTimestamp: 2026-05-04T11:00:00Z}", "a|2026-05-04T11:00:00Z"},
	})
	testCells(t, core.ServiceAccount(features.Default()), []cellsTest{
		{"name and age", "metadata: {name: a, creationTimestamp: 2026-05-04T11:00:00Z}", "a|60m"},
		{"future", "metadata: {name: a, creationTimestamp: 2026-05-04T13:00:00Z}", "a|<invalid>"},
		{"no age", "metadata: {name: a}", "a|<unknown>"},
	})
}
