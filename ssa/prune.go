package ssa

// prune removes from merged what its applier had and has no more, unless
// another owner has it. os are the owners with what the applier has now, last
// is what it had.
func (a *applying) prune(merged map[string]any, os owners, last *owner) (map[string]any, error) {
	if last == nil || len(last.fields) == 0 {
		return merged, nil
	}
	v, err := a.m.versionOf(last)
	if err != nil || v == nil {
		return merged, err
	}
	// Nothing was given up. Where a write owns items without their keys, an item
	// goes all the same when nobody else owns its key.
	if v == a.v && a.fields.contains(last.fields) && a.m.reaches[a.w.Subresource] == nil {
		return merged, nil
	}
	if merged, err = a.m.convert(merged, a.v, v); err != nil {
		return nil, errorf("failed to convert merged object to last applied version: %w", err)
	}
	had := v.root.named(last.fields)
	rest := pruning{a: a, merged: merged, v: v}
	rest.pruned, _ = v.root.remove(merged, had).(map[string]any)
	if err := rest.keepOwned(os); err != nil {
		return nil, errorf("failed add back owned items: %w", err)
	}
	out, err := rest.keepOthers(merged, had, v)
	if err != nil {
		return nil, errorf("failed add back dangling items: %w", err)
	}
	return a.m.convert(out, v, a.v)
}

// pruning is an object before and after something was removed, both of
// version v.
type pruning struct {
	a              *applying
	v              *view
	merged, pruned map[string]any
}

// keepOwned puts back what was removed but has an owner, version by version:
// that of the removal first, since what other versions need may be missing.
func (p *pruning) keepOwned(os owners) error {
	first := p.v
	if err := p.keepOwnedAt(first, os); err != nil {
		return err
	}
	done := map[*view]bool{first: true}
	for i := range os {
		v, err := p.a.m.versionOf(&os[i])
		if err != nil {
			return err
		}
		if v == nil || done[v] {
			continue
		}
		done[v] = true
		if err := p.keepOwnedAt(v, os); err != nil {
			return err
		}
	}
	return nil
}

func (p *pruning) keepOwnedAt(v *view, os owners) error {
	var owned Set
	for i := range os {
		if os[i].apiVersion == v.version.String() {
			owned = union(owned, os[i].fields)
		}
	}
	if len(owned) == 0 {
		return nil
	}
	if err := p.turn(v); err != nil {
		return err
	}
	before, after, err := p.fields()
	if err != nil {
		return err
	}
	drop, _ := minus(before, union(after, v.root.named(owned)))
	p.pruned, _ = v.root.remove(p.merged, drop).(map[string]any)
	return nil
}

// keepOthers removes from merged what p removed and what was had, and nothing
// else.
func (p *pruning) keepOthers(merged map[string]any, had Set, v *view) (map[string]any, error) {
	if err := p.turn(v); err != nil {
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

// turn converts both objects to version v.
func (p *pruning) turn(v *view) error {
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

// fields returns the fields of both objects, named ones included.
func (p *pruning) fields() (before, after Set, err error) {
	if before, err = p.v.root.fields(p.merged); err != nil {
		return nil, nil, err
	}
	if after, err = p.v.root.fields(p.pruned); err != nil {
		return nil, nil, err
	}
	return p.v.root.named(before), p.v.root.named(after), nil
}
