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

// webhook stands for a conversion webhook. It adds a label to each object, with its number
// in the collection, that is not stored.
type webhook struct {
	converted, maxBatch int
	label               func(n int) string
}

func (w *webhook) objects(_ context.Context, items []*storage.Item) ([]api.Object, error) {
	w.converted, w.maxBatch = w.converted+len(items), max(w.maxBatch, len(items))
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

// convertedMaps creates n ConfigMaps, in a namespace of their own, whose kind a webhook
// converts.
func convertedMaps(t *testing.T, r *Registry, namespace string, n int) Target {
	t.Helper()
	at := r.configMap(t, "")
	initial := make([]InitialObject, n)
	for i := range initial {
		m := configMap(fmt.Sprintf("c-%04d", i), "x")
		m.Namespace = namespace
		initial[i] = InitialObject{at.Resource, m}
	}
	if err := r.CreateMissing(t.Context(), initial, "test"); err != nil {
		t.Fatal(err)
	}
	res := *at.Resource
	res.Storage.ConvertsRemotely = true
	at.Resource, at.Namespace = &res, namespace
	return at
}

// TestListConverted checks that a page of converted objects needs the conversion of few
// more objects than the page has, and never of many at a time.
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
		label         func(int) string
		limit         int64
		red           int // how many there are in the first page
		converted     int // about how many objects
		maxBatch      int // with one call
		last          bool
		wantConverted int // about how many objects for all pages
		pageCount     int
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
		if len(page.Items) != test.red || hook.converted != test.converted || hook.maxBatch != test.maxBatch || (page.Next == "") != test.last {
			t.Errorf("%d: a page of %d before %q asked about %d, at most %d together", i, len(page.Items), page.Next, hook.converted, hook.maxBatch)
		}
		if test.wantConverted < 0 {
			continue
		}
		var want []string
		for n := range all {
			if test.label(n) == "red" {
				want = append(want, fmt.Sprintf("c-%04d", n))
			}
		}
		got, pages := restOf(t, r, at, o, page)
		if !slices.Equal(got, want) || pages != test.pageCount || hook.converted != test.wantConverted {
			t.Errorf("%d: %d pages of %d objects, want %d, asked about %d", i, pages, len(got), len(want), hook.converted)
		}
	}
}

// restOf reads the remaining pages, while objects are created and deleted.
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
		deleted := at
		deleted.Name = "c-0699"
		create(t, r, at, configMap(fmt.Sprintf("c-%d", 9000+pages), "late"))
		if pages == 1 {
			if _, err := r.Delete(t.Context(), deleted, DeleteOptions{}); err != nil {
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

// TestListConvertedByName checks that a selection by name converts no other objects,
// because names are the same in all versions.
func TestListConvertedByName(t *testing.T) {
	r := newRegistry(t)
	hook := &webhook{label: func(int) string { return "red" }}
	at := convertedMaps(t, r, "ns", 100)
	o := ListOptions{Limit: 10, Selection: Selection{
		Labels: labels.SelectorFromSet(labels.Set{"color": "red"}), Fields: fields.OneTermEqualSelector("metadata.name", "c-0070"), Objects: hook.objects,
	}}
	page, err := r.List(t.Context(), at, o)
	if err != nil || len(page.Items) != 1 || page.Next != "" || hook.converted != 1 {
		t.Errorf("%+v, %v, asked about %d", page, err, hook.converted)
	}
}
