package registry

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/storage"
)

// webhook stands for another server that converts: each object gets a label that
// is nowhere stored, of its number in the collection.
type webhook struct {
	asked, most int
	label       func(n int) string
}

func (w *webhook) objects(_ context.Context, items []*storage.Item) ([]api.Object, error) {
	w.asked, w.most = w.asked+len(items), max(w.most, len(items))
	out := make([]api.Object, len(items))
	for i, item := range items {
		obj, err := item.Object()
		if err != nil {
			return nil, err
		}
		out[i] = obj.DeepCopyObject().(api.Object)
		var n int
		if _, err := fmt.Sscanf(item.Name(), "c-%d", &n); err != nil {
			return nil, err
		}
		out[i].SetLabels(map[string]string{"color": w.label(n)})
	}
	return out, nil
}

// convertedMaps is a collection of n config maps, in a namespace of its own, that a
// webhook converts.
func convertedMaps(t *testing.T, r *Registry, namespace string, n int) Target {
	t.Helper()
	at := r.configMap(t, "")
	made := make([]InitialObject, n)
	for i := range made {
		m := configMap(fmt.Sprintf("c-%04d", i), "x")
		m.Namespace = namespace
		made[i] = InitialObject{at.Resource, m}
	}
	if err := r.CreateMissing(t.Context(), made, "test"); err != nil {
		t.Fatal(err)
	}
	res := *at.Resource
	res.Storage.ConvertsRemotely = true
	at.Resource, at.Namespace = &res, namespace
	return at
}

// TestListConverted: a page of what a webhook selects by costs questions about few
// more objects than are looked at until it is full, never about many at a time.
func TestListConverted(t *testing.T) {
	r := newRegistry(t)
	const all = 700
	every := func(n int) func(int) string {
		return func(i int) string {
			if i%n == n-1 {
				return "red"
			}
			return "blue"
		}
	}
	for i, test := range []struct {
		label     func(int) string
		limit     int64
		red       int // how many there are in the first page
		asked     int // about how many objects
		most      int // with one call
		last      bool
		whole     int // about how many objects for all pages
		pageCount int
	}{
		{every(1), 1, 1, 50, 50, false, -1, -1},
		{every(1), 60, 60, 60, 60, false, all, 12},
		{every(1), all, all, all, MaxConversionBatch, true, all, 1},
		{every(2), 60, 60, 180, 120, false, all, 6},
		{every(300), 1, 1, 350, 200, false, all, 2},
		{every(all), 1, 1, all, 350, true, all, 1},
		{every(2 * all), 5, 0, all, 350, true, all, 1},
		{every(2), 0, all / 2, all, MaxConversionBatch, true, all, 1},
	} {
		hook := &webhook{label: test.label}
		at := convertedMaps(t, r, fmt.Sprintf("n%d", i), all)
		o := ListOptions{Limit: test.limit, Selection: Selection{Labels: labels.SelectorFromSet(labels.Set{"color": "red"}), Objects: hook.objects}}
		page, err := r.List(t.Context(), at, o)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Items) != test.red || hook.asked != test.asked || hook.most != test.most || (page.Next == "") != test.last {
			t.Errorf("%d: a page of %d before %q asked about %d, at most %d together", i, len(page.Items), page.Next, hook.asked, hook.most)
		}
		if test.whole < 0 {
			continue
		}
		var want []string
		for n := range all {
			if test.label(n) == "red" {
				want = append(want, fmt.Sprintf("c-%04d", n))
			}
		}
		got, pages := restOf(t, r, at, o, page)
		if !slices.Equal(got, want) || pages != test.pageCount || hook.asked != test.whole {
			t.Errorf("%d: %d pages of %d objects, want %d, asked about %d", i, pages, len(got), len(want), hook.asked)
		}
	}
}

// restOf follows a page to the end, while objects come and go.
func restOf(t *testing.T, r *Registry, at Target, o ListOptions, page *storage.List) (names []string, pages int) {
	t.Helper()
	revision := page.Revision
	for pages = 1; ; pages++ {
		for _, item := range page.Items {
			names = append(names, item.Name())
		}
		switch {
		case page.Revision != revision:
			t.Fatalf("a page of %d is of revision %d, the first of %d", len(page.Items), page.Revision, revision)
		case page.Next == "":
			return names, pages
		case page.Remaining != -1:
			t.Errorf("remaining: %d", page.Remaining)
		}
		gone := at
		gone.Name = "c-0699"
		create(t, r, at, configMap(fmt.Sprintf("c-%d", 9000+pages), "late"))
		if pages == 1 {
			if _, err := r.Delete(t.Context(), gone, DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		o.Read, o.After = storage.Read{Match: storage.Exact, Revision: revision}, page.Next
		var err error
		if page, err = r.List(t.Context(), at, o); err != nil {
			t.Fatal(err)
		}
	}
}

// TestListConvertedByName: names stay what they are, so that nobody is asked about
// others.
func TestListConvertedByName(t *testing.T) {
	r := newRegistry(t)
	hook := &webhook{label: func(int) string { return "red" }}
	at := convertedMaps(t, r, "ns", 100)
	o := ListOptions{Limit: 10, Selection: Selection{
		Labels: labels.SelectorFromSet(labels.Set{"color": "red"}), Fields: fields.OneTermEqualSelector("metadata.name", "c-0070"), Objects: hook.objects,
	}}
	page, err := r.List(t.Context(), at, o)
	if err != nil || len(page.Items) != 1 || page.Next != "" || hook.asked != 1 {
		t.Errorf("%+v, %v, asked about %d", page, err, hook.asked)
	}
}
