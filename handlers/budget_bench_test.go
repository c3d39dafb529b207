package handlers

import (
	"net/http"
	"testing"

	"github.com/miniapiserver/miniapiserver/handlers/representation"
)

// TestAllocationBudget checks that the number of objects that a get or a list allocates is
// small, and depends neither on the number nor on the size of the items.
func TestAllocationBudget(t *testing.T) {
	const tolerance = lostByPools + 4 // slices grow with the size of the response
	few, many, large := newBenched(t), newBenched(t), newBenched(t)
	fill(t, few, 100, 10)
	fill(t, many, 3000, 10)
	fill(t, large, 100, 20000)
	for _, c := range []struct {
		name, path string
		headers    []string
		budget     float64
	}{
		{name: "get", path: "/cm-000007", budget: 40},
		{name: "list", budget: 60},
		{name: "page", path: "?limit=50", budget: 80},
		{name: "protobuf", headers: []string{"Accept", representation.MediaProtobuf}, budget: 80},
	} {
		t.Run(c.name, func(t *testing.T) {
			allocated := func(h *Handler) float64 {
				r := newRepeater(t, h, benchedMaps+c.path, c.headers...)
				r.send(t) // fills the caches
				return fewest(20, func() { r.send(t) })
			}
			least := allocated(few)
			t.Logf("%.0f objects of 100 small items", least)
			if least > c.budget {
				t.Errorf("%.0f objects, the budget is %.0f", least, c.budget)
			}
			if n := allocated(many); n > least+tolerance {
				t.Errorf("%.0f objects of 100 items, but %.0f of 3000", least, n)
			}
			if n := allocated(large); n > least+tolerance {
				t.Errorf("%.0f objects of small items, but %.0f of large ones", least, n)
			}
		})
	}
}

// fewest returns the smallest number of objects that one of the runs of f allocates. Other
// runs also allocate the buffers that the collector took from the pools.
func fewest(runs int, f func()) float64 {
	least := testing.AllocsPerRun(1, f)
	for range runs - 1 {
		least = min(least, testing.AllocsPerRun(1, f))
	}
	return least
}

var _ http.Flusher = (*sink)(nil)
