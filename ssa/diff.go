package ssa

// form is the kind of a value: scalar, object or list.
type form uint8

const (
	formNone form = iota
	formScalar
	formObject
	formList
)

// form returns the form in which t treats v. Null and values that the schema does not allow have
// the first form that the schema allows.
func (t *Type) form(v any) form {
	switch v.(type) {
	case nil:
	case map[string]any:
		if t.object != nil {
			return formObject
		}
	case []any:
		if t.list != nil {
			return formList
		}
	default:
		if t.scalar {
			return formScalar
		}
	}
	switch {
	case t.object != nil:
		return formObject
	case t.scalar:
		return formScalar
	case t.list != nil:
		return formList
	}
	return formNone
}

// diff compares two values that exist. It returns whether the value itself changed, and the
// difference of the fields within it.
func diff(t *Type, a, b any) (mark, Set, error) {
	fa, fb := t.form(a), t.form(b)
	m, kids, err := differAs(t, fa, a, b)
	if err != nil || fa == fb {
		return m, kids, err
	}
	m2, kids2, err := differAs(t, fb, a, b)
	return m | m2, union(kids, kids2), err
}

func differAs(t *Type, f form, a, b any) (mark, Set, error) {
	switch f {
	case formObject:
		x, _ := a.(map[string]any)
		y, _ := b.(map[string]any)
		if t.object.atomic || len(x) == 0 && len(y) == 0 {
			return compareAtomic(a, b), nil, nil
		}
		kids, err := differFields(t.object, x, y)
		return 0, kids, err
	case formList:
		x, _ := a.([]any)
		y, _ := b.([]any)
		if t.list.atomic || len(x) == 0 && len(y) == 0 {
			return compareAtomic(a, b), nil, nil
		}
		kids, err := differItems(x, y, t.list.items())
		return 0, kids, err
	case formScalar:
		return compareAtomic(a, b), nil, nil
	}
	return 0, nil, errorf("schema error: invalid atom")
}

func compareAtomic(a, b any) mark {
	if equalJSON(a, b) {
		return 0
	}
	return member
}

func differFields(o *objectType, a, b map[string]any) (out Set, err error) {
	for name, x := range a {
		y, inB := b[name]
		if out, err = o.differField(out, name, x, y, inB); err != nil {
			return nil, err
		}
	}
	for name, y := range b {
		if _, ok := a[name]; ok {
			continue
		}
		if out, err = o.addField(out, name, y, member); err != nil {
			return nil, err
		}
	}
	return out.sorted(), nil
}

// differField appends the difference of a field that the first of two objects has.
func (o *objectType) differField(out Set, name string, x, y any, inB bool) (Set, error) {
	if !inB {
		return o.addField(out, name, x, removed)
	}
	t, _ := o.fieldType(name)
	if t == nil {
		return nil, errUndeclared(name)
	}
	m, kids, err := diff(t, x, y)
	if err != nil {
		return nil, errAt(field(name), err)
	}
	if m != 0 || len(kids) > 0 {
		out = append(out, node{field(name), m, kids})
	}
	return out, nil
}

// addField appends a field that only one of two objects has, marked m.
func (o *objectType) addField(out Set, name string, v any, m mark) (Set, error) {
	t, _ := o.fieldType(name)
	if t == nil {
		return nil, errUndeclared(name)
	}
	kids, err := allFields(t, v, m)
	if err != nil {
		return nil, errAt(field(name), err)
	}
	return append(out, node{field(name), m, kids}), nil
}

// allFields returns all fields within an added or removed value, marked m.
func allFields(t *Type, v any, m mark) (Set, error) {
	switch x := v.(type) {
	case map[string]any:
		if t.object == nil || t.object.atomic {
			return nil, nil
		}
		out := make(Set, 0, len(x))
		for name, y := range x {
			ft, _ := t.object.fieldType(name)
			if ft == nil {
				return nil, errUndeclared(name)
			}
			kids, err := allFields(ft, y, m)
			if err != nil {
				return nil, errAt(field(name), err)
			}
			out = append(out, node{field(name), m, kids})
		}
		return out.sorted(), nil
	case []any:
		if t.list == nil || t.list.atomic {
			return nil, nil
		}
		return allItems(x, t.list.items(), m)
	}
	return nil, nil
}

// items returns the operations on items of a list of decoded JSON.
func (l *listType) items() itemOps[any] {
	return itemOps[any]{
		element:   l.element,
		diff:      func(a, b any) (mark, Set, error) { return diff(l.item, a, b) },
		allFields: func(v any, m mark) (Set, error) { return allFields(l.item, v, m) },
		equal:     equalJSON,
	}
}

// element returns the path element of an item.
func (l *listType) element(item any) (element, error) {
	if len(l.keys) == 0 {
		switch item.(type) {
		case map[string]any:
			return element{}, errorf("associative list without keys has an element that's a map type")
		case []any:
			return element{}, errorf("not supported: associative list with lists as elements")
		case nil:
			return element{}, errorf("associative list without keys has an element that's an explicit null")
		}
		text, err := appendScalar(nil, item)
		return element{kindValue, string(text)}, err
	}
	o, ok := item.(map[string]any)
	switch {
	case item == nil:
		return element{}, errorf("associative list with keys may not have a null element")
	case !ok:
		return element{}, errorf("associative list with keys may not have non-map elements")
	}
	b := make([]byte, 0, 64)
	for _, k := range l.keys {
		v, ok := o[k.name]
		if !ok {
			if v = k.other; v == nil {
				continue
			}
		}
		b = appendKeyName(b, k.name)
		var err error
		if b, err = appendScalar(b, v); err != nil {
			return element{}, err
		}
	}
	return l.keyElement(b)
}

// keyElement completes the text of a key element.
func (l *listType) keyElement(b []byte) (element, error) {
	if len(b) == 0 {
		names := make([]string, len(l.keys))
		for i, k := range l.keys {
			names[i] = k.name
		}
		return element{}, errorf("associative list with keys has an element that omits all key fields %q (and doesn't have default values for any key fields)", names)
	}
	return element{kindKey, string(append(b, '}'))}, nil
}

func appendKeyName(b []byte, name string) []byte {
	sep := byte(',')
	if len(b) == 0 {
		sep = '{'
	}
	return append(appendEscaped(append(b, sep, '"'), name), '"', ':')
}

func errUndeclared(name string) error {
	return errorf(".%s: field not declared in schema", name)
}

func errAt(e element, err error) error {
	return errorf("%s%w", e, err)
}
