package storage

import "strings"

// watcherFanout indexes the watchers of a collection by key, namespace and field value, so
// that a change is delivered only to watchers that may select it.
type watcherFanout struct {
	all      watcherGroup
	byPrefix map[string]*watcherGroup
	byKey    map[string]*watcherGroup
	byField  map[string]*watcherGroup // by field, NUL, value
}

// watcherGroup is an unordered set of watchers. Each watcher stores its index in members, so
// that removal takes constant time.
type watcherGroup struct{ members []*Watcher }

func (g *watcherGroup) add(w *Watcher) {
	w.group, w.groupIndex = g, len(g.members)
	g.members = append(g.members, w)
}

func (g *watcherGroup) remove(w *Watcher) {
	last := len(g.members) - 1
	moved := g.members[last]
	g.members[w.groupIndex], g.members[last] = moved, nil
	moved.groupIndex = w.groupIndex
	g.members = g.members[:last]
	w.group = nil
}

// deliver queues the change for every member and removes members that have ended. It
// iterates backwards because remove moves the last member.
func (g *watcherGroup) deliver(f *watcherFanout, t *transition) {
	if g == nil {
		return
	}
	for n := len(g.members) - 1; n >= 0; n-- {
		if w := g.members[n]; !w.push(t) {
			f.remove(w)
		}
	}
}

func (f *watcherFanout) add(w *Watcher) {
	m, key := f.groupFor(w)
	if m == nil {
		f.all.add(w)
		return
	}
	if *m == nil {
		*m = map[string]*watcherGroup{}
	}
	g := (*m)[key]
	if g == nil {
		g = &watcherGroup{}
		(*m)[key] = g
	}
	g.add(w)
}

// remove removes w, if it is a member.
func (f *watcherFanout) remove(w *Watcher) {
	if w.group == nil {
		return
	}
	g := w.group
	g.remove(w)
	if m, key := f.groupFor(w); m != nil && len(g.members) == 0 {
		delete(*m, key)
	}
}

// groupFor returns the group of w by its narrowest selection: the map that holds the group and
// its key there, or nil for f.all.
func (f *watcherFanout) groupFor(w *Watcher) (*map[string]*watcherGroup, string) {
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

// deliver queues a change for all watchers that may select it.
func (f *watcherFanout) deliver(t *transition) {
	key := t.item.key
	if len(f.all.members) > 0 {
		f.all.deliver(f, t)
	}
	if len(f.byKey) > 0 {
		f.byKey[key].deliver(f, t)
	}
	if len(f.byPrefix) > 0 {
		f.byPrefix[key[:strings.IndexByte(key, '/')+1]].deliver(f, t)
	}
	if len(f.byField) == 0 {
		return
	}
	for _, field := range t.item.config.Index {
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
func (f *watcherFanout) end(err error) {
	groups := []*watcherGroup{&f.all}
	for _, m := range []map[string]*watcherGroup{f.byPrefix, f.byKey, f.byField} {
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
	*f = watcherFanout{}
}
