package structural

// pruneDefaults removes unknown fields and invalid metadata from the defaults of
// a schema. Objects are pruned before they are defaulted, so that a default must
// not contain anything that pruning would remove. Check refuses other unknown fields in
// defaults, so that only metadata of embedded resources needs pruning.
func pruneDefaults(root *node) {
	if root.containsEmbedded {
		pruneDefaultsIn(root, nil)
	}
}

// inMetadata is a position in kind, apiVersion or metadata of an embedded
// resource.
type inMetadata struct {
	// around returns the embedded resource that has v at the position.
	around func(v any) any
	// at returns the value at the position of an embedded resource.
	at func(resource any) any
}

// field is the position of a field below m; m is nil for the resource itself.
func (m *inMetadata) field(name string) *inMetadata {
	in := inMetadata{
		around: func(v any) any { return map[string]any{name: v} },
		at:     func(v any) any { fields, _ := v.(map[string]any); return fields[name] },
	}
	return m.join(in)
}

// item is the position of an item of the list at m.
func (m *inMetadata) item() *inMetadata {
	return m.join(inMetadata{
		around: func(v any) any { return []any{v} },
		at: func(v any) any {
			if items, _ := v.([]any); len(items) > 0 {
				return items[0]
			}
			return nil
		},
	})
}

func (m *inMetadata) join(in inMetadata) *inMetadata {
	if m == nil {
		return &in
	}
	return &inMetadata{
		around: func(v any) any { return m.around(in.around(v)) },
		at:     func(v any) any { return in.at(m.at(v)) },
	}
}

// pruneDefaultsIn is pruneDefaults for n and all nodes below it. m is nil outside
// of metadata.
func pruneDefaultsIn(n *node, m *inMetadata) {
	if n == nil {
		return
	}
	lenient := &coercer{lenient: true} // it never fails
	switch {
	case n.defaultValue == nil:
	case m != nil:
		resource := m.around(cloneValue(n.defaultValue)).(map[string]any)
		_ = lenient.object(nil, resource)
		n.defaultValue = m.at(resource)
	default:
		v := cloneValue(n.defaultValue)
		prune(v, n, n.embedded)
		_ = lenient.coerce(nil, v, n)
		n.defaultValue = v
	}
	below := func(name string) *inMetadata {
		if m != nil || n.embedded && isMeta(name) {
			return m.field(name)
		}
		return nil
	}
	for name, f := range n.fields {
		pruneDefaultsIn(f, below(name))
	}
	// Any name does for a field that has none in the schema.
	pruneDefaultsIn(n.values, below("*"))
	if m == nil {
		pruneDefaultsIn(n.items, nil)
	} else {
		pruneDefaultsIn(n.items, m.item())
	}
	n.summarize()
}
