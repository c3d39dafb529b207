package ssa

// mergeValues returns a with the fields of b set. No field is removed. The items of b in a list
// have the order of b.
func mergeValues(t *Type, a, b any) (any, error) {
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
		v, err := mergeValues(t, x, y)
		if err != nil {
			return nil, errAt(field(name), err)
		}
		out[name] = v
	}
	return out, nil
}

// itemMerger merges two associative lists. It advances through both simultaneously, and outputs
// items that only a has at their position in a, all others at their position in b.
type itemMerger struct {
	list *listType
	a, b []any
	// elementsA and elementsB are the elements of the items; byA and byB map them to the items, to
	// nil for duplicates in a, which are not merged.
	elementsA, elementsB []element
	byA, byB             map[element]any
	// shared are the remaining items of b that are in a too.
	shared []element
	merged map[element]bool
	out    []any
}

func mergeItems(l *listType, a, b []any) (any, error) {
	m := itemMerger{list: l, a: a, b: b, merged: map[element]bool{}}
	var err error
	if m.elementsA, m.byA, err = l.elements(a, true); err != nil {
		return nil, err
	}
	if m.elementsB, m.byB, err = l.elements(b, false); err != nil {
		return nil, err
	}
	for _, e := range m.elementsB {
		if _, ok := m.byA[e]; ok {
			m.shared = append(m.shared, e)
		}
	}
	m.out = make([]any, 0, len(a)+len(b))
	return m.run()
}

func (m *itemMerger) run() (any, error) {
	for i, j := 0, 0; i < len(m.a) || j < len(m.b); {
		if i < len(m.a) && j < len(m.b) && m.elementsA[i] == m.elementsB[j] {
			if err := m.output(m.elementsB[j]); err != nil {
				return nil, err
			}
			i, j = i+1, j+1
			continue
		}
		if i < len(m.a) {
			e := m.elementsA[i]
			if _, inB := m.byB[e]; !inB {
				m.out = append(m.out, m.a[i])
				i++
				continue
			}
			if j < len(m.b) && m.comesLater(e) {
				i++ // it is output at its position in b
				continue
			}
			if m.merged[e] {
				i++
			}
		}
		if j < len(m.b) {
			if err := m.output(m.elementsB[j]); err != nil {
				return nil, err
			}
			j++
		}
	}
	return m.out, nil
}

// comesLater reports whether another item than e is the next of the shared ones.
func (m *itemMerger) comesLater(e element) bool {
	return len(m.shared) > 0 && m.shared[0] != e
}

// output appends the item e of b, merged with the one of a.
func (m *itemMerger) output(e element) error {
	v := m.byB[e]
	if x, ok := m.byA[e]; ok {
		var err error
		if v, err = mergeValues(m.list.item, x, v); err != nil {
			return errAt(e, err)
		}
	}
	m.merged[e] = true
	if len(m.shared) > 0 && m.shared[0] == e {
		m.shared = m.shared[1:]
	}
	m.out = append(m.out, v)
	return nil
}

// elements returns the elements of items and the items by element, nil for duplicates.
func (l *listType) elements(items []any, allowDuplicates bool) ([]element, map[element]any, error) {
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
		if !allowDuplicates {
			return nil, nil, errorf("duplicate entries for key %s", e)
		}
		by[e] = nil
	}
	return names, by, nil
}
