package ssa

// merge returns a with what b asks for: fields of b win, and none is removed. A
// list has the order of b where b has a say in it.
func merge(t *Type, a, b any) (any, error) {
	switch t.form(b) {
	case formObject:
		x, _ := a.(map[string]any)
		y, _ := b.(map[string]any)
		if t.object.atomic || len(x) == 0 && len(y) == 0 {
			return b, nil
		}
		return mergeFields(t.object, x, y)
	case formList:
		x, _ := a.([]any)
		y, _ := b.([]any)
		if t.list.atomic || len(x) == 0 && len(y) == 0 {
			return b, nil
		}
		return mergeItems(t.list, x, y)
	}
	return b, nil
}

func mergeFields(o *objectType, a, b map[string]any) (any, error) {
	out := make(map[string]any, len(a)+len(b))
	for name, x := range a {
		out[name] = x
	}
	for name, y := range b {
		x, ok := a[name]
		if !ok {
			out[name] = y
			continue
		}
		t, _ := o.fieldType(name)
		if t == nil {
			return nil, errUndeclared(name)
		}
		v, err := merge(t, x, y)
		if err != nil {
			return nil, errAt(field(name), err)
		}
		out[name] = v
	}
	return out, nil
}

// itemMerger merges two associative lists. It goes through both at once, and
// takes items of a alone where they stand, and all others where b has them.
type itemMerger struct {
	list *listType
	a, b []any
	// nameA and nameB are the elements of the items, byA and byB where the items
	// are; of several in a with the same element, none is to be merged with.
	nameA, nameB []element
	byA, byB     map[element]any
	// shared are the items of b that are in a, too, and still to come.
	shared []element
	taken  map[element]bool
	out    []any
}

func mergeItems(l *listType, a, b []any) (any, error) {
	m := itemMerger{list: l, a: a, b: b, taken: map[element]bool{}}
	var err error
	if m.nameA, m.byA, err = l.names(a, true); err != nil {
		return nil, err
	}
	if m.nameB, m.byB, err = l.names(b, false); err != nil {
		return nil, err
	}
	for _, e := range m.nameB {
		if _, ok := m.byA[e]; ok {
			m.shared = append(m.shared, e)
		}
	}
	m.out = make([]any, 0, len(a)+len(b))
	return m.run()
}

func (m *itemMerger) run() (any, error) {
	for i, j := 0, 0; i < len(m.a) || j < len(m.b); {
		if i < len(m.a) && j < len(m.b) && m.nameA[i] == m.nameB[j] {
			if err := m.take(m.nameB[j]); err != nil {
				return nil, err
			}
			i, j = i+1, j+1
			continue
		}
		if i < len(m.a) {
			e := m.nameA[i]
			if _, inB := m.byB[e]; !inB {
				m.out = append(m.out, m.a[i])
				i++
				continue
			}
			if j < len(m.b) && m.waits(e) {
				i++ // It comes later, where b has it.
				continue
			}
			if m.taken[e] {
				i++
			}
		}
		if j < len(m.b) {
			if err := m.take(m.nameB[j]); err != nil {
				return nil, err
			}
			j++
		}
	}
	return m.out, nil
}

// waits tells whether another item than e is the next of those that both have.
func (m *itemMerger) waits(e element) bool {
	return len(m.shared) > 0 && m.shared[0] != e
}

// take puts the item e of b into the list, merged with that of a.
func (m *itemMerger) take(e element) error {
	v := m.byB[e]
	if x, ok := m.byA[e]; ok {
		var err error
		if v, err = merge(m.list.item, x, v); err != nil {
			return errAt(e, err)
		}
	}
	m.taken[e] = true
	if len(m.shared) > 0 && m.shared[0] == e {
		m.shared = m.shared[1:]
	}
	m.out = append(m.out, v)
	return nil
}

// names returns the elements of items, and the items by them: null for those
// that share one.
func (l *listType) names(items []any, twice bool) ([]element, map[element]any, error) {
	names := make([]element, len(items))
	by := make(map[element]any, len(items))
	for i, item := range items {
		e, err := l.element(item)
		if err != nil {
			return nil, nil, errorf("element %d: %w", i, err)
		}
		names[i] = e
		if _, ok := by[e]; !ok {
			by[e] = item
			continue
		}
		if !twice {
			return nil, nil, errorf("duplicate entries for key %s", e)
		}
		by[e] = nil
	}
	return names, by, nil
}
