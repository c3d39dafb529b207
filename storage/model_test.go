package storage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// storeModel is the expected content of a collection at every revision.
type storeModel struct {
	c    *Collection
	log  []modelVersion
	stop []*Item // versions that are no longer current, to test conflicts with
}

type modelVersion struct {
	rev   int64
	key   string // the key that this version changed
	state map[string]*Item
}

func (m *storeModel) now() modelVersion { return m.log[len(m.log)-1] }

// at returns the expected state at rev.
func (m *storeModel) at(rev int64) modelVersion {
	n := len(m.log) - 1
	for m.log[n].rev > rev {
		n--
	}
	return m.log[n]
}

func (m *storeModel) set(key string, i *Item, rev int64) {
	state := maps.Clone(m.now().state)
	if i == nil {
		delete(state, key)
	} else {
		state[key] = i
	}
	if old := m.now().state[key]; old != nil {
		m.stop = append(m.stop, old)
	}
	m.log = append(m.log, modelVersion{rev, key, state})
}

// TestModel runs random operations on a collection and compares the results with a map of
// every past state.
func TestModel(t *testing.T) {
	s, _ := startStore(t, Options{FutureWait: 5 * time.Second})
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		runs++
		cfg := configMaps()
		cfg.Prefix = fmt.Sprint("run", runs)
		c, err := s.Collection(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.mu.Lock() // with a large window or almost none
		c.window.limit = rapid.SampledFrom([]int64{1, 1 << 20}).Draw(t, "window")
		c.mu.Unlock()
		m := &storeModel{c: c, log: []modelVersion{{rev: c.current.Load().rev, state: map[string]*Item{}}}}
		t.Repeat(map[string]func(*rapid.T){
			"create": m.create, "update": m.update, "delete": m.delete,
			"get": m.get, "list": m.list, "pages": m.pages, "watch": m.watch,
		})
	})
}

func drawKey(t *rapid.T) string {
	return rapid.SampledFrom([]string{"a/x", "a/y", "a-b/x", "b/x", "cluster"}).Draw(t, "key")
}

func drawValue(t *rapid.T) string { return rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "value") }

func itemText(i *Item) string {
	v := string(i.Value())
	return fmt.Sprint(i.Key(), "@", i.Revision(), v[strings.Index(v, "data"):])
}

func (m *storeModel) create(t *rapid.T) {
	key, v := drawKey(t), drawValue(t)
	i, err := m.c.Create(context.Background(), key, configMap(key, v, "v", v))
	if m.now().state[key] != nil {
		if !errors.Is(err, ErrExists) {
			t.Fatalf("create of an existing key: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	m.set(key, i, i.Revision())
}

// pick returns a version to change: a current one or an old one.
func (m *storeModel) pick(t *rapid.T) *Item {
	all := slices.Clone(m.stop)
	for _, key := range slices.Sorted(maps.Keys(m.now().state)) {
		all = append(all, m.now().state[key], m.now().state[key], m.now().state[key])
	}
	if len(all) == 0 {
		t.Skip("nothing to change")
	}
	return rapid.SampledFrom(all).Draw(t, "old")
}

func (m *storeModel) checkGuard(t *rapid.T, old *Item, err error) (done bool) {
	current := m.now().state[old.key]
	var conflict *ConflictError
	switch {
	case current == nil && !errors.Is(err, ErrNotFound),
		current != nil && current.rev != old.rev && (!errors.As(err, &conflict) || conflict.Current.rev != current.rev),
		current != nil && current.rev == old.rev && err != nil:
		t.Fatalf("change of %s: %v", itemText(old), err)
	}
	return err == nil
}

func (m *storeModel) update(t *rapid.T) {
	old, v := m.pick(t), drawValue(t)
	i, err := m.c.Update(context.Background(), old, configMap(old.key, v, "v", v))
	if m.checkGuard(t, old, err) && i != old {
		m.set(old.key, i, i.rev)
	}
}

func (m *storeModel) delete(t *rapid.T) {
	old := m.pick(t)
	i, err := m.c.Delete(context.Background(), old)
	if m.checkGuard(t, old, err) {
		m.set(old.key, nil, i.rev)
	}
}

func (m *storeModel) drawRead(t *rapid.T) Read {
	first, last := m.log[0].rev, m.now().rev
	r := Read{Match: rapid.SampledFrom([]Match{Consistent, NotOlderThan, Exact}).Draw(t, "match")}
	if r.Match != Consistent {
		r.Revision = rapid.Int64Range(first, last).Draw(t, "revision")
	}
	return r
}

// want returns the expected state of a read with r that returned rev.
func (m *storeModel) want(t *rapid.T, r Read, rev int64) map[string]*Item {
	switch {
	case r.Match == Exact && rev != r.Revision, r.Match == NotOlderThan && rev < r.Revision,
		r.Match == Consistent && rev < m.now().rev:
		t.Fatalf("%v gave revision %d", r, rev)
	}
	return m.at(rev).state
}

func (m *storeModel) get(t *rapid.T) {
	key, r := drawKey(t), m.drawRead(t)
	if r.Match == NotOlderThan {
		r.Revision = m.now().rev // because Get does not return its revision
	}
	i, err := m.c.Get(context.Background(), key, r)
	want := m.now().state[key]
	if r.Match == Exact {
		want = m.at(r.Revision).state[key]
	}
	if want == nil && !errors.Is(err, ErrNotFound) || want != nil && (err != nil || itemText(i) != itemText(want)) {
		t.Fatalf("got %v, %v", i, err)
	}
}

// checkSelection compares the listed items with the items of state that o selects.
func checkSelection(t *rapid.T, state map[string]*Item, o ListOptions, got []*Item) {
	var want []string
	for _, key := range slices.Sorted(maps.Keys(state)) {
		if i := state[key]; strings.HasPrefix(key, o.Prefix) && (o.Filter == nil || o.Filter(i)) {
			want = append(want, itemText(i))
		}
	}
	var have []string
	for _, i := range got {
		have = append(have, itemText(i))
	}
	if !slices.Equal(have, want) {
		t.Fatalf("listed %v, want %v", have, want)
	}
}

func (m *storeModel) drawList(t *rapid.T) ListOptions {
	o := ListOptions{Read: m.drawRead(t), Prefix: rapid.SampledFrom([]string{"", "a/", "b/"}).Draw(t, "prefix")}
	if rapid.Bool().Draw(t, "filtered") {
		o.Filter = selectsTwo
	}
	return o
}

func selectsTwo(i *Item) bool { return i.Labels().Get("v") == "2" }

func (m *storeModel) list(t *rapid.T) {
	o := m.drawList(t)
	l, err := m.c.List(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	checkSelection(t, m.want(t, o.Read, l.Revision), o, l.Items)
}

func (m *storeModel) pages(t *rapid.T) {
	o := m.drawList(t)
	o.Limit = rapid.Int64Range(1, 3).Draw(t, "limit")
	l, err := m.c.List(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	state, items, rev := m.want(t, o.Read, l.Revision), l.Items, l.Revision
	for l.Next != "" {
		if rapid.Bool().Draw(t, "change in between") {
			m.create(t)
		}
		left := l.Remaining
		o.Read, o.After = Read{Match: Exact, Revision: rev}, l.Next
		if l, err = m.c.List(context.Background(), o); err != nil {
			t.Fatal(err)
		}
		if o.Filter == nil && left != int64(len(l.Items))+l.Remaining {
			t.Fatalf("%d remained, then came %d and %d remained", left, len(l.Items), l.Remaining)
		}
		items = append(items, l.Items...)
	}
	checkSelection(t, state, o, items)
}

func (m *storeModel) watch(t *rapid.T) {
	rev := rapid.Int64Range(max(1, m.log[0].rev), m.now().rev).Draw(t, "from")
	o := WatchOptions{Revision: rev, Prefix: rapid.SampledFrom([]string{"", "a/", "b/"}).Draw(t, "prefix")}
	if rapid.Bool().Draw(t, "filtered") {
		o.Filter = selectsTwo
	}
	filtered := o.Filter != nil
	selects := func(i *Item) bool {
		return i != nil && strings.HasPrefix(i.key, o.Prefix) && (!filtered || selectsTwo(i))
	}
	var want []string
	for n, v := range m.log {
		if v.rev <= rev || n == 0 {
			continue
		}
		before, after := m.log[n-1].state[v.key], v.state[v.key]
		switch {
		case selects(before) && selects(after):
			want = append(want, "~"+itemText(after))
		case selects(after):
			want = append(want, "+"+itemText(after))
		case selects(before):
			want = append(want, "-"+itemText(before.atRevision(v.rev)))
		}
	}
	if o.Filter != nil && rapid.Bool().Draw(t, "prepared") {
		told := map[*Item]bool{}
		o.Prepare = func(items []*Item) error {
			for _, i := range items {
				told[i] = true
			}
			return nil
		}
		o.Filter = func(i *Item) bool {
			if !told[i] {
				t.Errorf("%s was not prepared", i.key)
			}
			return selectsTwo(i)
		}
	}
	w, err := m.c.Watch(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var have []string
	for len(have) < len(want) {
		events, err := w.Next(ctx)
		if err != nil {
			t.Fatalf("saw %v, want %v: %v", have, want, err)
		}
		for _, e := range events {
			have = append(have, "+~-"[e.Type:e.Type+1]+itemText(e.Item))
		}
	}
	if !slices.Equal(have, want) {
		t.Fatalf("saw %v, want %v", have, want)
	}
}
