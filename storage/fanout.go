package storage

import "strings"

// fanout finds the watchers that a change may concern, without asking those
// of other namespaces, keys and field values.
type fanout struct {
	all      group
	byPrefix map[string]*group
	byKey    map[string]*group
	byField  map[string]*group // by field, NUL, value
}

// group is a set of watchers; each knows its place in it.
type group struct{ members []*Watcher }

func (g *group) add(w *Watcher) {
	w.group, w.place = g, len(g.members)
	g.members = append(g.members, w)
}

func (g *group) remove(w *Watcher) {
	last := len(g.members) - 1
	moved := g.members[last]
	g.members[w.place], g.members[last] = moved, nil
	moved.place = w.place
	g.members = g.members[:last]
	w.group = nil
}

// deliver queues the change; a watcher that is ended by it, or was before, is
// removed. It goes backwards since removal moves the last one.
func (g *group) deliver(f *fanout, t *transition) {
	if g == nil {
		return
	}
	for n := len(g.members) - 1; n >= 0; n-- {
		if w := g.members[n]; !w.push(t) {
			f.remove(w)
		}
	}
}

func (f *fanout) add(w *Watcher) {
	m, key := f.index(w)
	if m == nil {
		f.all.add(w)
		return
	}
	if *m == nil {
		*m = map[string]*group{}
	}
	g := (*m)[key]
	if g == nil {
		g = &group{}
		(*m)[key] = g
	}
	g.add(w)
}

// remove takes w out, if it is in.
func (f *fanout) remove(w *Watcher) {
	if w.group == nil {
		return
	}
	g := w.group
	g.remove(w)
	if m, key := f.index(w); m != nil && len(g.members) == 0 {
		delete(*m, key)
	}
}

// index says where w belongs: the narrowest of what it selects by.
func (f *fanout) index(w *Watcher) (*map[string]*group, string) {
	switch o := &w.opts; {
	case o.Key != "":
		return &f.byKey, o.Key
	case w.indexed:
		return &f.byField, o.Field + "\x00" + o.Value
	case o.Prefix != "":
		return &f.byPrefix, o.Prefix
	}
	return nil, ""
}

// deliver queues a change for all watchers that it may concern.
func (f *fanout) deliver(t *transition) {
	key := t.item.key
	f.all.deliver(f, t)
	if len(f.byKey) > 0 {
		f.byKey[key].deliver(f, t)
	}
	if len(f.byPrefix) > 0 {
		f.byPrefix[key[:strings.IndexByte(key, '/')+1]].deliver(f, t)
	}
	if len(f.byField) == 0 {
		return
	}
	for _, field := range t.item.of.Index {
		now := field + "\x00" + t.item.Fields()[field]
		f.byField[now].deliver(f, t)
		if t.prev != nil {
			if before := field + "\x00" + t.prev.Fields()[field]; before != now {
				f.byField[before].deliver(f, t)
			}
		}
	}
}

// end ends all watchers with err.
func (f *fanout) end(err error) {
	groups := []*group{&f.all}
	for _, m := range []map[string]*group{f.byPrefix, f.byKey, f.byField} {
		for _, g := range m {
			groups = append(groups, g)
		}
	}
	for _, g := range groups {
		for _, w := range g.members {
			w.group = nil
			w.conclude(err)
		}
	}
	*f = fanout{}
}
