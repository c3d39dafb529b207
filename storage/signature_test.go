package storage

import (
	"maps"
	"testing"

	"pgregory.net/rapid"
)

// TestLabelSignature checks that a signature never excludes a set of labels that the other set
// contains.
func TestLabelSignature(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-c]{0,2}`)
		part := rapid.MapOf(text, text).Draw(t, "part")
		whole := rapid.MapOf(text, text).Draw(t, "rest")
		maps.Copy(whole, part)
		i := &Item{}
		if !i.MayHaveLabels(LabelSignature(part)) {
			t.Error("excluded before the labels were computed")
		}
		i.signature.Store(LabelSignature(whole) | signatureComputed)
		if !i.MayHaveLabels(LabelSignature(part)) {
			t.Errorf("%v is part of %v", part, whole)
		}
	})
	i := &Item{}
	i.signature.Store(LabelSignature(map[string]string{"app": "web"}) | signatureComputed)
	if i.MayHaveLabels(LabelSignature(map[string]string{"app": "other", "tier": "back"})) {
		t.Error("no item is ever excluded")
	}
}

// TestDigest checks that a list with Labels returns the same items as a list that filters
// every item.
func TestDigest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newCollectionState(0)
		of := &itemConfig{}
		for n := range rapid.IntRange(0, 30).Draw(t, "items") {
			i := &Item{config: of, key: string(rune('a'+n%3)) + "/" + string(rune('a'+n))}
			labels := map[string]string{"x": rapid.SampledFrom([]string{"1", "2"}).Draw(t, "x")}
			i.meta.Store(&itemMeta{labels: PairsOf(labels)})
			i.signature.Store(LabelSignature(labels) | signatureComputed)
			s.set(i)
		}
		o := ListOptions{
			Prefix: rapid.SampledFrom([]string{"", "a/", "b/", "z/"}).Draw(t, "prefix"),
			Limit:  rapid.Int64Range(0, 4).Draw(t, "limit"),
			Filter: func(i *Item) bool { return i.meta.Load().labels.Get("x") == "1" },
		}
		for {
			want := s.list(of, &o)
			by := o
			by.Labels = LabelSignature(map[string]string{"x": "1"})
			got := s.list(of, &by)
			if len(got.Items) != len(want.Items) || got.Next != want.Next || got.Remaining != want.Remaining {
				t.Fatalf("got %d items and %q, want %d and %q", len(got.Items), got.Next, len(want.Items), want.Next)
			}
			for n := range want.Items {
				if got.Items[n] != want.Items[n] {
					t.Fatalf("item %d is %s, want %s", n, got.Items[n].key, want.Items[n].key)
				}
			}
			if o.After = want.Next; o.After == "" {
				return
			}
		}
	})
}
