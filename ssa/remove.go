package ssa

// remove returns v without the members of s. An object or list without remaining content becomes
// null, whether or not its schema allows null: validation of custom objects then rejects it, like
// kube-apiserver 1.36.3 does.
func (t *Type) remove(v any, s Set) any {
	switch t.form(v) {
	case formObject:
		m, _ := v.(map[string]any)
		if len(m) == 0 || t.object.atomic {
			return nil
		}
		out := make(map[string]any, len(m))
		for name, x := range m {
			n, ok := s.find(field(name))
			if !ok {
				out[name] = x
			} else if n.mark == 0 {
				ft, _ := t.object.fieldType(name)
				out[name] = ft.removeBelow(x, n.kids)
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case formList:
		items, _ := v.([]any)
		if len(items) == 0 || t.list.atomic {
			return nil
		}
		out := make([]any, 0, len(items))
		for _, x := range items {
			e, _ := t.list.element(x) // the caller has checked it
			n, ok := s.find(e)
			if !ok {
				out = append(out, x)
			} else if n.mark == 0 {
				out = append(out, t.list.item.removeBelow(x, n.kids))
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	}
	return v
}

func (t *Type) removeBelow(v any, s Set) any {
	if t == nil || len(s) == 0 {
		return v
	}
	return t.remove(v, s)
}
