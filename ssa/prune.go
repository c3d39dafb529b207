package ssa

import "maps"

// prune removes from merged the fields that the applier owned before and no longer applies, unless
// another owner has them. os are the owners with self, the applier's new entry; last is the
// applier's previous entry, or nil.
func (a *applyOperation) prune(merged map[string]any, os owners, self, last *owner) (map[string]any, error) {
	if last == nil || len(last.fields) == 0 {
		return merged, nil
	}
	v := last.view
	if !isConvertible(a.v, v) {
		return merged, nil
	}
	// A conversion to the version of another owner may fail, which must be reported.
	if v == a.v && os.allIn(v) && (identical(self.fields, last.fields) || a.fields.contains(last.fields)) && v.root.retains(merged, last.fields) {
		return merged, nil // the applier still applies all fields
	}
	var err error
	if merged, err = a.m.convert(merged, a.v, v); err != nil {
		return nil, errorf("failed to convert merged object to last applied version: %w", err)
	}
	had := v.root.withNamed(last.fields)
	rest := pruning{a: a, merged: merged, v: v}
	rest.pruned, _ = v.root.remove(merged, had).(map[string]any)
	if err := rest.restoreOwned(os); err != nil {
		return nil, errorf("failed add back owned items: %w", err)
	}
	out, err := rest.keepOthers(merged, had, v)
	if err != nil {
		return nil, errorf("failed add back dangling items: %w", err)
	}
	return a.m.convert(out, v, a.v)
}

// allIn reports whether all owners have their fields in one version.
func (os owners) allIn(v *view) bool {
	for i := range os {
		if os[i].view != v {
			return false
		}
	}
	return true
}

// retains reports whether v has all of s even after removing fields that nobody owns. A value that
// was owned as a leaf may have gained fields by now and would be removed with them. A list item is
// removed, with its owned fields, if nobody owns the item or its key.
func (t *Type) retains(v any, s Set) bool {
	switch x := v.(type) {
	case map[string]any:
		if t.object == nil || t.object.atomic {
			return len(s) == 0
		}
		for _, n := range s {
			ft, named := t.object.fieldType(n.text)
			y, ok := x[n.text]
			if !ok || ft == nil || !ft.retainsNode(y, n, named) {
				return false
			}
		}
		return true
	case []any:
		if t.list == nil || t.list.atomic {
			return len(s) == 0
		}
		found := 0
		for _, item := range x {
			e, err := t.list.element(item)
			if err != nil {
				return false
			}
			if n, ok := s.find(e); ok {
				if found++; !t.list.item.retainsNode(item, n, false) || !t.list.retainsKey(item, n.kids) {
					return false
				}
			}
		}
		return found == len(s)
	}
	return len(s) == 0
}

func (t *Type) retainsNode(v any, n node, named bool) bool {
	if len(n.kids) == 0 {
		return t.isLeaf(v)
	}
	return (named || n.mark != 0) && t.retains(v, n.kids)
}

// retainsKey reports whether s has the key fields of item.
func (l *listType) retainsKey(item any, s Set) bool {
	fields, _ := item.(map[string]any)
	for _, k := range l.keys {
		if _, ok := fields[k.name]; !ok {
			continue
		}
		if n, ok := s.find(field(k.name)); !ok || n.mark == 0 {
			return false
		}
	}
	return true
}

// pruning holds an object before and after a removal, in version v.
type pruning struct {
	a              *applyOperation
	v              *view
	merged, pruned map[string]any
}

// restoreOwned restores removed fields that have an owner, version by version. It starts with the
// version of the removal, since fields that conversions require may be missing.
func (p *pruning) restoreOwned(os owners) error {
	first := p.v
	if err := p.restoreOwnedAt(first, os); err != nil {
		return err
	}
	done := map[*view]bool{first: true}
	p.a.w.order(os)
	for i := range os {
		v := os[i].view
		if done[v] || !isConvertible(first, v) {
			continue
		}
		done[v] = true
		if err := p.restoreOwnedAt(v, os); err != nil {
			return err
		}
	}
	return nil
}

func (p *pruning) restoreOwnedAt(v *view, os owners) error {
	var sets []Set
	if v == p.a.v {
		sets = append(sets, p.a.fields) // more than the applier's entry has, so that the metadata stays
	}
	for i := range os {
		if os[i].view == v {
			sets = append(sets, os[i].fields)
		}
	}
	owned := unionAll(sets)
	if len(owned) == 0 {
		return nil
	}
	if err := p.convertTo(v); err != nil {
		return err
	}
	before, after, err := p.fields()
	if err != nil {
		return err
	}
	drop, _ := minus(before, union(after, v.root.withNamed(owned)))
	p.pruned, _ = v.root.remove(p.merged, drop).(map[string]any)
	return nil
}

// keepOthers removes from merged only fields that p removed and that the applier owned.
func (p *pruning) keepOthers(merged map[string]any, had Set, v *view) (map[string]any, error) {
	if err := p.convertTo(v); err != nil {
		return nil, err
	}
	p.merged = merged
	before, after, err := p.fields()
	if err != nil {
		return nil, err
	}
	drop, _ := minus(before, after)
	out, _ := v.root.remove(merged, intersect(drop, had, member)).(map[string]any)
	return out, nil
}

// convertTo converts both objects to version v.
func (p *pruning) convertTo(v *view) error {
	var err error
	if p.merged, err = p.a.m.convert(p.merged, p.v, v); err != nil {
		return errorf("failed to convert merged object at version %v: %w", v.version, err)
	}
	if p.pruned, err = p.a.m.convert(p.pruned, p.v, v); err != nil {
		return errorf("failed to convert pruned object at version %v: %w", v.version, err)
	}
	p.v = v
	return nil
}

// fields returns the fields of both objects with declared fields added.
func (p *pruning) fields() (before, after Set, err error) {
	if before, err = p.v.root.fields(p.merged); err != nil {
		return nil, nil, err
	}
	identified, _ := p.v.root.identified(p.pruned)
	if after, err = p.v.root.fields(identified); err != nil {
		return nil, nil, err
	}
	return p.v.root.withNamed(before), p.v.root.withNamed(after), nil
}

// identified returns v without the list items that have lost their key fields, and reports whether
// there were any. A removal can leave such items; they count as removed.
func (t *Type) identified(v any) (any, bool) {
	switch t.form(v) {
	case formObject:
		if x, _ := v.(map[string]any); !t.object.atomic {
			return t.object.identified(x)
		}
	case formList:
		if x, _ := v.([]any); !t.list.atomic {
			return t.list.identified(x)
		}
	}
	return v, false
}

func (o *objectType) identified(m map[string]any) (any, bool) {
	var out map[string]any
	for name, v := range m {
		t, _ := o.fieldType(name)
		if t == nil {
			continue
		}
		if v, changed := t.identified(v); changed {
			if out == nil {
				out = maps.Clone(m)
			}
			out[name] = v
		}
	}
	if out == nil {
		return m, false
	}
	return out, true
}

func (l *listType) identified(items []any) (any, bool) {
	out, changed := make([]any, 0, len(items)), false
	for _, item := range items {
		if _, err := l.element(item); err != nil {
			changed = true
			continue
		}
		item, differs := l.item.identified(item)
		out, changed = append(out, item), changed || differs
	}
	if !changed {
		return items, false
	}
	return out, true
}
