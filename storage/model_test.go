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

// model is what a collection should be: every state that it ever had.
type model struct {
	c    *Collection
	log  []version
	stop []*Item // of each key, versions that are no longer current
}

type version struct {
	rev   int64
	key   string // what was changed
	state map[string]*Item
}

func (m *model) now() version { return m.log[len(m.log)-1] }

// at is the state as of rev.
func (m *model) at(rev int64) version {
	n := len(m.log) - 1
	for m.log[n].rev > rev {
		n--
	}
	return m.log[n]
}

func (m *model) set(key string, i *Item, rev int64) {
	state := maps.Clone(m.now().state)
	if i == nil {
		delete(state, key)
	} else {
		state[key] = i
	}
	if old := m.now().state[key]; old != nil {
		m.stop = append(m.stop, old)
	}
	m.log = append(m.log, version{rev, key, state})
}

// TestModel does at random what can be done with a collection and compares it
// with a map that remembers all its states.
func TestModel(t *testing.T) {
	s, _ := start(t, Options{FutureWait: 5 * time.Second})
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
		c.mu.Lock() // with a large window or hardly any
		c.window.limit = rapid.SampledFrom([]int64{1, 1 << 20}).Draw(t, "window")
		c.mu.Unlock()
		m := &model{c: c, log: []version{{rev: c.current.Load().rev, state: map[string]*Item{}}}}
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

func text(i *Item) string {
	v := string(i.Value())
	return fmt.Sprint(i.Key(), "@", i.Revision(), v[strings.Index(v, "data"):])
}

func (m *model) create(t *rapid.T) {
	key, v := drawKey(t), drawValue(t)
	i, err := m.c.Create(context.Background(), key, configMap(key, v, "v", v), 0)
	if m.now().state[key] != nil {
		if !errors.Is(err, ErrExists) {
			t.Fatalf("create of what is there: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	m.set(key, i, i.Revision())
}

// pick takes a version to change: a current one or an old one.
func (m *model) pick(t *rapid.T) *Item {
	all := slices.Clone(m.stop)
	for _, key := range slices.Sorted(maps.Keys(m.now().state)) {
		all = append(all, m.now().state[key], m.now().state[key], m.now().state[key])
	}
	if len(all) == 0 {
		t.Skip("nothing to change")
	}
	return rapid.SampledFrom(all).Draw(t, "old")
}

func (m *model) checkGuard(t *rapid.T, old *Item, err error) (done bool) {
	current := m.now().state[old.key]
	var conflict *ConflictError
	switch {
	case current == nil && !errors.Is(err, ErrNotFound),
		current != nil && current.rev != old.rev && (!errors.As(err, &conflict) || conflict.Current.rev != current.rev),
		current != nil && current.rev == old.rev && err != nil:
		t.Fatalf("change of %s: %v", text(old), err)
	}
	return err == nil
}

func (m *model) update(t *rapid.T) {
	old, v := m.pick(t), drawValue(t)
	i, err := m.c.Update(context.Background(), old, configMap(old.key, v, "v", v), 0)
	if m.checkGuard(t, old, err) && i != old {
		m.set(old.key, i, i.rev)
	}
}

func (m *model) delete(t *rapid.T) {
	old := m.pick(t)
	i, err := m.c.Delete(context.Background(), old)
	if m.checkGuard(t, old, err) {
		m.set(old.key, nil, i.rev)
	}
}

func (m *model) drawRead(t *rapid.T) Read {
	first, last := m.log[0].rev, m.now().rev
	r := Read{Match: rapid.SampledFrom([]Match{Consistent, NotOlderThan, Exact}).Draw(t, "match")}
	if r.Match != Consistent {
		r.Revision = rapid.Int64Range(first, last).Draw(t, "revision")
	}
	return r
}

// want is the state that a read with r that returned rev should be of.
func (m *model) want(t *rapid.T, r Read, rev int64) map[string]*Item {
	switch {
	case r.Match == Exact && rev != r.Revision, r.Match == NotOlderThan && rev < r.Revision,
		r.Match == Consistent && rev < m.now().rev:
		t.Fatalf("%v gave revision %d", r, rev)
	}
	return m.at(rev).state
}

func (m *model) get(t *rapid.T) {
	key, r := drawKey(t), m.drawRead(t)
	if r.Match == NotOlderThan {
		r.Revision = m.now().rev // for a get does not say at which revision it is
	}
	i, err := m.c.Get(context.Background(), key, r)
	want := m.now().state[key]
	if r.Match == Exact {
		want = m.at(r.Revision).state[key]
	}
	if want == nil && !errors.Is(err, ErrNotFound) || want != nil && (err != nil || text(i) != text(want)) {
		t.Fatalf("got %v, %v", i, err)
	}
}

// check compares items with those of state that o selects.
func check(t *rapid.T, state map[string]*Item, o ListOptions, got []*Item) {
	var want []string
	for _, key := range slices.Sorted(maps.Keys(state)) {
		if i := state[key]; strings.HasPrefix(key, o.Prefix) && (o.Filter == nil || o.Filter(i)) {
			want = append(want, text(i))
		}
	}
	var have []string
	for _, i := range got {
		have = append(have, text(i))
	}
	if !slices.Equal(have, want) {
		t.Fatalf("listed %v, want %v", have, want)
	}
}

func (m *model) drawList(t *rapid.T) ListOptions {
	o := ListOptions{Read: m.drawRead(t), Prefix: rapid.SampledFrom([]string{"", "a/", "b/"}).Draw(t, "prefix")}
	if rapid.Bool().Draw(t, "filtered") {
		o.Filter = two
	}
	return o
}

func two(i *Item) bool { return i.Labels()["v"] == "2" }

func (m *model) list(t *rapid.T) {
	o := m.drawList(t)
	l, err := m.c.List(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	check(t, m.want(t, o.Read, l.Revision), o, l.Items)
}

func (m *model) pages(t *rapid.T) {
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
		o.Read, o.After = Read{Exact, rev}, l.Next
		if l, err = m.c.List(context.Background(), o); err != nil {
			t.Fatal(err)
		}
		if o.Filter == nil && left != int64(len(l.Items))+l.Remaining {
			t.Fatalf("%d remained, then came %d and %d remained", left, len(l.Items), l.Remaining)
		}
		items = append(items, l.Items...)
	}
	check(t, state, o, items)
}

func (m *model) watch(t *rapid.T) {
	rev := rapid.Int64Range(max(1, m.log[0].rev), m.now().rev).Draw(t, "from")
	o := WatchOptions{Revision: rev, Prefix: rapid.SampledFrom([]string{"", "a/", "b/"}).Draw(t, "prefix")}
	if rapid.Bool().Draw(t, "filtered") {
		o.Filter = two
	}
	filtered := o.Filter != nil
	selects := func(i *Item) bool {
		return i != nil && strings.HasPrefix(i.key, o.Prefix) && (!filtered || two(i))
	}
	var want []string
	for n, v := range m.log {
		if v.rev <= rev || n == 0 {
			continue
		}
		before, after := m.log[n-1].state[v.key], v.state[v.key]
		switch {
		case selects(before) && selects(after):
			want = append(want, "~"+text(after))
		case selects(after):
			want = append(want, "+"+text(after))
		case selects(before):
			want = append(want, "-"+text(before.at(v.rev)))
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
			return two(i)
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
			have = append(have, "+~-"[e.Type:e.Type+1]+text(e.Item))
		}
	}
	if !slices.Equal(have, want) {
		t.Fatalf("saw %v, want %v", have, want)
	}
}
