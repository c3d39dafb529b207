package ssa

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// reconcile adapts owners to the current schema: fields within a value that has become atomic are
// replaced by the value. convert converts the object before the write to the version of an owner;
// reconcile calls it once for each version but v, that of the request.
func (m *Manager) reconcile(os owners, v *view, convert func(*view) error) (owners, error) {
	kept, known := os[:0], make([]*view, 0, 4)
	for _, o := range os {
		gv, err := schema.ParseGroupVersion(o.apiVersion)
		if err == nil {
			o.view, err = m.view(gv)
		}
		switch {
		case err != nil:
			return nil, err
		case o.view == nil:
			if err := m.errUnknownVersion(gv); err != nil {
				return nil, err
			}
			continue
		case o.view != v && !slices.Contains(known, o.view) && isConvertible(v, o.view):
			if err := convert(o.view); err != nil {
				return nil, err
			}
			known = append(known, o.view)
		}
		if o.decoded == nil || o.decoded.agrees.Load() != o.view {
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

// errUnknownVersion returns the error of a write of an object with an owner in a version that the kind
// lacks. For a built-in kind it is nil: the owner is dropped.
func (m *Manager) errUnknownVersion(gv schema.GroupVersion) error {
	if !m.resource.IsCustom() {
		return nil
	}
	return errInvalidVersion(gv.String())
}

// errInvalidVersion returns the error of a conversion of a custom object to a version that its
// definition lacks.
func errInvalidVersion(apiVersion string) error {
	return errorf("request to convert CR to an invalid group/version: %s", apiVersion)
}

// isConvertible reports whether objects are converted between two versions of a kind: those of the
// core group are not converted to those of other groups.
func isConvertible(v, other *view) bool {
	return (v.version.Group == "") == (other.version.Group == "")
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
