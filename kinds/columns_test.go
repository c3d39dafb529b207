package kinds

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// TestAges checks the age of objects from the future and of objects without a time.
func TestAges(t *testing.T) {
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	for want, created := range map[string]metav1.Time{
		"60m": metav1.NewTime(now.Add(-time.Hour)), "<invalid>": metav1.NewTime(now.Add(time.Hour)), "<unknown>": {},
	} {
		obj := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "a", CreationTimestamp: created}}
		cells := core.ServiceAccount(features.Default()).Row(obj).Cells()
		got := fmt.Sprint(cells[1])
		if e, ok := cells[1].(table.Elapsed); ok {
			got = e.Text(now)
		}
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
