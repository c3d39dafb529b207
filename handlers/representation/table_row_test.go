package representation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/miniapiserver/miniapiserver/api/table"
)

// TestCachedCells checks that cached cells that are completed at some time equal cells that are
// made at that time.
func TestCachedCells(t *testing.T) {
	base := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	instant := rapid.Custom(func(t *rapid.T) time.Time {
		if rapid.IntRange(0, 9).Draw(t, "unknown") == 0 {
			return time.Time{}
		}
		return base.Add(time.Duration(rapid.Int64Range(-1e18, 1e18).Draw(t, "nanoseconds")))
	})
	cell := rapid.OneOf(
		rapid.Custom(func(t *rapid.T) any { return rapid.String().Draw(t, "text") }),
		rapid.Custom(func(t *rapid.T) any { return rapid.Int64().Draw(t, "number") }),
		rapid.Custom(func(t *rapid.T) any { return rapid.Bool().Draw(t, "truth") }),
		rapid.Just[any](nil),
		rapid.Custom(func(t *rapid.T) any {
			return table.Elapsed{Before: rapid.String().Draw(t, "before"), Since: instant.Draw(t, "since"), After: rapid.String().Draw(t, "after")}
		}),
	)
	rapid.Check(t, func(t *rapid.T) {
		cells := rapid.SliceOfN(cell, 0, 8).Draw(t, "cells")
		var conditions []metav1.TableRowCondition
		if rapid.Bool().Draw(t, "done") {
			conditions = []metav1.TableRowCondition{{Type: metav1.RowCompleted, Status: metav1.ConditionTrue}}
		}
		now := base.Add(time.Duration(rapid.Int64Range(0, 1e18).Draw(t, "now")))
		cached, err := encodeCells(cells, conditions)
		if err != nil {
			t.Fatal(err)
		}
		plain := metav1.TableRow{Cells: []any{}, Conditions: conditions}
		for _, c := range cells {
			if e, ok := c.(table.Elapsed); ok {
				c = e.Text(now)
			}
			plain.Cells = append(plain.Cells, c)
		}
		got := append(appendCells([]byte(`{"cells":`), cached, now), `,"object":null}`...)
		want, err := json.Marshal(plain)
		if err != nil {
			t.Fatal(err)
		}
		if g, w := unescaped(t, got), unescaped(t, want); g != w {
			t.Errorf("got  %s\nwant %s", g, w)
		}
	})
}

// unescaped returns JSON in a form in which equal values are equal text.
func unescaped(t *rapid.T, data []byte) string {
	var v any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return fmt.Sprintf("%#v", v)
}
