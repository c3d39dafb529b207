package custom

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
	"github.com/miniapiserver/miniapiserver/api/table"
)

// columnsOf returns the table with a column of type string for each path.
func columnsOf(paths ...string) api.Table[api.Object] {
	var definitions []apiextensionsv1.CustomResourceColumnDefinition
	for _, path := range paths {
		definitions = append(definitions, apiextensionsv1.CustomResourceColumnDefinition{Name: "C", Type: "string", JSONPath: path})
	}
	return printerColumns(definitions)
}

func cellsOf(t api.Table[api.Object], obj api.Object) []any {
	row := table.NewRow()
	t.Row(row, obj)
	return row.Cells()
}

func objectWith(spec any) api.Object {
	return untyped.FromContent(map[string]any{"apiVersion": "example.com/v1", "kind": "K", "metadata": map[string]any{"name": "n"}, "spec": spec})
}

// TestOnDemand checks which columns are computed for each Table only.
func TestOnDemand(t *testing.T) {
	for path, want := range map[string]bool{
		".spec.a": false, `.status.conditions[?(@.type=="Ready")].status`: false, ".spec.list[*].name": false, ".spec.list[0]": false,
		"..x": true, ".spec['a','b']": true, "range .spec.list": true,
	} {
		if got := columnsOf(path).OnDemand; got != want {
			t.Errorf("%s: %t, want %t", path, got, want)
		}
	}
	if !columnsOf(slices.Repeat([]string{".spec.a"}, maxColumnsOnWrite+1)...).OnDemand {
		t.Error("many columns are computed on write")
	}
}

// TestRowLimits checks that the cells beyond the limits are empty. Without the limits it takes
// hours, or all memory.
func TestRowLimits(t *testing.T) {
	var list []any
	for i := range 5_000 {
		list = append(list, map[string]any{"x": fmt.Sprint(i)})
	}
	deep := any([]any{"y"})
	for range 200 {
		deep = []any{deep}
	}
	for name, tt := range map[string]struct {
		spec  any
		paths []string
		want  string // the cells that are not empty
	}{
		"few":         {list, []string{"..x", ".spec[1].x", "..y"}, "0 1 "},
		"recursions":  {list, slices.Repeat([]string{"..x"}, 2000), strings.Repeat("0 ", 72)},
		"many levels": {map[string]any{"x": "y", "deep": deep}, []string{".spec.x", ".spec.deep" + strings.Repeat("..[*]", 12)}, "y "},
		"unions":      {deep, []string{".metadata.name", ".spec" + strings.Repeat("[0,0]", 60)}, "n "},
		"long texts":  {map[string]any{"x": strings.Repeat("x", maxRowText/2), "y": "z"}, append(slices.Repeat([]string{".spec.x"}, 2000), ".spec.y"), strings.Repeat(strings.Repeat("x", maxRowText/2)+" ", 2)},
	} {
		t.Run(name, func(t *testing.T) {
			row := cellsOf(columnsOf(tt.paths...), objectWith(tt.spec))
			if len(row) != len(tt.paths)+1 {
				t.Fatalf("%d cells, want %d", len(row), len(tt.paths)+1)
			}
			var got strings.Builder
			for _, cell := range row[1:] {
				if cell != nil {
					fmt.Fprintf(&got, "%v ", cell)
				}
			}
			if got.String() != tt.want {
				t.Errorf("%.200q of length %d, want %.200q of length %d", got.String(), got.Len(), tt.want, len(tt.want))
			}
		})
	}
}

// TestRangeColumn checks that a path with a range has the same result each time.
func TestRangeColumn(t *testing.T) {
	columns := columnsOf("range .spec}{.x}{end", "end")
	first := fmt.Sprint(cellsOf(columns, objectWith([]any{map[string]any{"x": "a"}})))
	for range 3 {
		if again := fmt.Sprint(cellsOf(columns, objectWith([]any{map[string]any{"x": "a"}}))); again != first {
			t.Errorf("%s, and %s before", again, first)
		}
	}
}
