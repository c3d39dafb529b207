package ssa

import "k8s.io/apimachinery/pkg/runtime/schema"

// reconcile adapts owners to the current schema: fields within a value that has become atomic are
// replaced by the value. It drops owners of unknown versions.
func (m *Manager) reconcile(os owners) (owners, error) {
	kept := os[:0]
	for _, o := range os {
		gv, err := schema.ParseGroupVersion(o.apiVersion)
		if err == nil {
			o.view, err = m.view(gv)
		}
		switch {
		case err != nil:
			return nil, err
		case o.view == nil:
			continue
		case o.decoded == nil || o.decoded.agrees.Load() != o.view:
			if fields := o.view.root.reconcile(o.fields); !identical(fields, o.fields) {
				o.setFields(fields)
			} else if o.decoded != nil {
				o.decoded.agrees.Store(o.view)
			}
		}
		kept = append(kept, o)
	}
	return kept, nil
}

// reconcile returns s, the fields within a value of Type t, without the fields within atomic
// values. It returns s itself if nothing changes.
func (t *Type) reconcile(s Set) Set {
	if t.object != nil && t.object.open {
		return s
	}
	var out Set
	changed := false
	for i, n := range s {
		kept := n
		if child := t.child(n.element); child != nil && len(n.kids) > 0 {
			if child.isAtomic() {
				kept.mark, kept.kids = member, nil
			} else {
				kept.kids = child.reconcile(n.kids)
			}
		}
		if !changed && (kept.mark != n.mark || !identical(kept.kids, n.kids)) {
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

// isAtomic reports whether values of t are atomic in their primary form.
func (t *Type) isAtomic() bool {
	switch {
	case t.object != nil:
		return t.object.atomic && !t.object.open
	case t.scalar:
		return false
	}
	return t.list != nil && t.list.atomic
}

// child returns the Type that e leads to, or nil if the schema has none.
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
