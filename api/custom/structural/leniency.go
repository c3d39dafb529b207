package structural

// Leniency has the rules that a schema need not satisfy, because they are newer than stored definitions
// may be.
type Leniency struct {
	// UnprunedDefaults: defaults may have unknown fields.
	UnprunedDefaults bool
	// LooseSets: the items of sets need not be atomic.
	LooseSets bool
	// LooseKeys: the items of sets and maps may be null, and the items of maps may have null keys, or none.
	LooseKeys bool
	// CostlyRules: the cost of a single validation rule has no limit.
	CostlyRules bool
}

// StoredViolations returns l with the rules that a stored schema violates, except those of CostlyRules, which are
// checked unless the schema is unchanged.
func (l Leniency) StoredViolations(s *props) Leniency {
	breaks := func(rules func(c *checker, s *props)) bool {
		return anySubschema(s, func(s *props) bool {
			c := &checker{}
			rules(c, s)
			return len(c.errs) > 0
		})
	}
	l.LooseSets = l.LooseSets || breaks(func(c *checker, s *props) { c.setItems(s, nil) })
	l.LooseKeys = l.LooseKeys || breaks(func(c *checker, s *props) { c.listKeys(s, nil) })
	l.UnprunedDefaults = l.UnprunedDefaults || HasDefaults(s) && IsStructural(s) && anySubschema(s, hasUnprunedDefault)
	return l
}

func hasUnprunedDefault(s *props) bool {
	if s.Default == nil {
		return false
	}
	n, err := compile(s)
	return err == nil && n.defaultValue != nil && !isPruned(n)
}
