package ssa

// reconcile brings what owners own into line with the schema of today: what was
// owned field by field and has become atomic is owned as a whole. Owners that
// use a version which is not known are dropped.
func (m *Manager) reconcile(os owners) (owners, error) {
	kept := os[:0]
	for _, o := range os {
		v, err := m.versionOf(&o)
		if err != nil {
			return nil, err
		}
		if v == nil {
			continue
		}
		if fields := v.root.reconcile(o.fields); !same(fields, o.fields) {
			o.set(fields)
		}
		kept = append(kept, o)
	}
	return kept, nil
}

// reconcile returns s, the fields below a value of Type t, with nothing below
// what is atomic. It returns s itself when there is nothing to do.
func (t *Type) reconcile(s Set) Set {
	if t.object != nil && t.object.open {
		return s
	}
	var out Set
	changed := false
	for i, n := range s {
		kept := n
		if child := t.child(n.element); child != nil && len(n.kids) > 0 {
			if child.whole() {
				kept.mark, kept.kids = member, nil
			} else {
				kept.kids = child.reconcile(n.kids)
			}
		}
		if !changed && (kept.mark != n.mark || !same(kept.kids, n.kids)) {
			changed = true
			out = append(make(Set, 0, len(s)), s[:i]...)
		}
		if changed {
			out = append(out, kept)
		}
	}
	if !changed {
		return s
	}
	return out
}

// whole tells whether values of t are owned as a whole in the form that counts.
func (t *Type) whole() bool {
	switch {
	case t.object != nil:
		return t.object.atomic && !t.object.open
	case t.scalar:
		return false
	}
	return t.list != nil && t.list.atomic
}

// child is the Type of what e leads to; nil when the schema has no such thing.
func (t *Type) child(e element) *Type {
	switch {
	case t.object != nil:
		name := ""
		if e.kind == kindField {
			name = e.text
		}
		ft, _ := t.object.fieldType(name)
		return ft
	case t.scalar:
		return nil
	case t.list != nil:
		return t.list.item
	}
	return nil
}
