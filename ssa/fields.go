package ssa

// fields returns the fields that v sets: leaves, list items, and keys of maps.
func (t *Type) fields(v any) (Set, error) {
	switch t.form(v) {
	case formObject:
		if x, _ := v.(map[string]any); !t.object.atomic {
			return t.object.fieldsOf(x)
		}
	case formList:
		if x, _ := v.([]any); !t.list.atomic {
			return t.list.fieldsOf(x)
		}
	}
	return nil, nil
}

// isLeaf reports whether v is owned as a single field.
func (t *Type) isLeaf(v any) bool {
	switch t.form(v) {
	case formObject:
		m, ok := v.(map[string]any)
		return t.object.atomic || v == nil || ok && len(m) == 0
	case formList:
		return t.list.atomic || v == nil
	}
	return true
}

func (o *objectType) fieldsOf(m map[string]any) (Set, error) {
	out := make(Set, 0, len(m))
	for name, v := range m {
		t, named := o.fieldType(name)
		if t == nil {
			return nil, errUndeclared(name)
		}
		n := node{element: field(name)}
		if !named || t.isLeaf(v) {
			n.mark = member
		}
		var err error
		if n.kids, err = t.fields(v); err != nil {
			return nil, errAt(n.element, err)
		}
		if n.mark != 0 || len(n.kids) > 0 {
			out = append(out, n)
		}
	}
	return out.sorted(), nil
}

func (l *listType) fieldsOf(items []any) (Set, error) {
	ops := l.items()
	ops.allFields = func(v any, _ mark) (Set, error) { return l.item.fields(v) }
	return allItems(items, ops, member)
}

// withNamed returns s with the declared fields on the paths to its members added as members.
func (t *Type) withNamed(s Set) Set {
	out := make(Set, len(s))
	for i, n := range s {
		if len(n.kids) > 0 && n.kind == kindField && t.object != nil {
			if _, ok := t.object.fields[n.text]; ok {
				n.mark = member
			}
		}
		var child *Type
		switch {
		case n.kind == kindField && t.object != nil:
			child, _ = t.object.fieldType(n.text)
		case n.kind == kindKey && t.list != nil:
			child = t.list.item
		}
		if child != nil {
			n.kids = child.withNamed(n.kids)
		}
		out[i] = n
	}
	return out
}
