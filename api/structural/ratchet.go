package structural

import (
	"reflect"
	"time"

	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// Ratcheting: a schema may become stricter than the objects that are there. An
// update that leaves a value as it was is not refused because of that value.

// pair is a value and what it was before. Nil stands for a value that there is
// nothing to compare with.
type pair struct {
	is, was any
	node    *node
	before  common.MapList // of was, if its items have keys
	parts   map[any]*pair  // by name or index, those that were looked at
	same    *bool          // once it is known
	cost    *comparison    // of all pairs of an object
}

// comparison is what it takes to tell what of an object is unchanged.
type comparison struct {
	spent time.Duration
	busy  bool // inside of which parts are compared
}

// begin starts the clock, unless it is running, and returns what stops it.
func (c *comparison) begin() (end func()) {
	if c == nil || c.busy {
		return func() {}
	}
	start := time.Now()
	c.busy = true
	return func() { c.spent, c.busy = c.spent+time.Since(start), false }
}

// field is the pair of a field; nil if it was not there before, or if the schema
// says nothing of it.
func (p *pair) field(name string) *pair {
	if p == nil || p.node == nil {
		return nil
	}
	if part, ok := p.parts[name]; ok {
		return part
	}
	is, ok := p.is.(map[string]any)
	was, ok2 := p.was.(map[string]any)
	n := p.node.field(name)
	if !ok || !ok2 || n == nil {
		return nil
	}
	now, ok := is[name]
	then, ok2 := was[name]
	if !ok || !ok2 {
		return nil
	}
	return p.part(name, now, then, n)
}

// item is the pair of an item; nil if no item of its key was there before.
func (p *pair) item(i int) *pair {
	if p == nil || p.node == nil || p.node.items == nil {
		return nil
	}
	if part, ok := p.parts[i]; ok {
		return part
	}
	is, ok := p.is.([]any)
	was, ok2 := p.was.([]any)
	if !ok || !ok2 || i >= len(is) || p.node.listType != "map" {
		return nil
	}
	if p.before == nil {
		p.before = common.MakeMapList(view{p.node}, was)
	}
	then := p.before.Get(is[i])
	if then == nil {
		return nil
	}
	return p.part(i, is[i], then, p.node.items)
}

func (p *pair) part(key, is, was any, n *node) *pair {
	if p.parts == nil {
		p.parts = map[any]*pair{}
	}
	part := &pair{is: is, was: was, node: n, cost: p.cost}
	p.parts[key] = part
	return part
}

// unchanged tells whether the value is what it was. Items that have keys may have
// changed places.
func (p *pair) unchanged() bool {
	if p == nil {
		return false
	}
	if p.same == nil {
		defer p.cost.begin()()
		same := p.compare()
		p.same = &same
	}
	return *p.same
}

func (p *pair) compare() bool {
	switch is := p.is.(type) {
	case map[string]any:
		was, ok := p.was.(map[string]any)
		if !ok || len(is) != len(was) {
			return false
		}
		for name := range is {
			if !p.field(name).unchanged() {
				return false
			}
		}
		return true
	case []any:
		was, ok := p.was.([]any)
		if !ok || len(is) != len(was) {
			return false
		}
		if p.node == nil || p.node.listType != "map" {
			return reflect.DeepEqual(is, was)
		}
		for i := range is {
			if !p.item(i).unchanged() {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(p.is, p.was)
}

// change is where an evaluation of rules is: at a pair or, where there is none,
// somewhere in the nearest one. The zero value is where nothing is compared.
type change struct {
	at, nearest *pair
}

func (c change) key(name string) change {
	switch {
	case c.at == nil:
		return c
	case c.nearest == nil && (name == "apiVersion" || name == "kind"):
		return change{} // both are of the version that is asked for, whatever they were
	}
	return change{c.at.field(name), c.at}
}

func (c change) index(i int) change {
	if c.at == nil {
		return c
	}
	return change{c.at.item(i), c.at}
}

func (c change) unchanged() bool {
	if c.at != nil {
		return c.at.unchanged()
	}
	return c.nearest.unchanged()
}

// ratchet validates a value, and lets be what is wrong with parts of it that are
// unchanged.
type ratchet struct {
	pair   *pair
	schema *spec.Schema
	root   any
	path   string
}

var _ validate.ValueValidator = (*ratchet)(nil)

// Validate implements the library's ValueValidator.
func (r *ratchet) Validate(any) *validate.Result {
	v := validate.NewSchemaValidator(r.schema, r.root, r.path, strfmt.Default, func(o *validate.SchemaValidatorOptions) {
		o.NewValidatorForField, o.NewValidatorForIndex = r.field, r.index
	})
	result := v.Validate(r.pair.is)
	if result.IsValid() || !r.pair.unchanged() {
		return result
	}
	tolerated := &validate.Result{}
	tolerated.MergeAsWarnings(result)
	return tolerated
}

func (r *ratchet) field(name string, s *spec.Schema, root any, path string, formats strfmt.Registry, opts ...validate.Option) validate.ValueValidator {
	part := r.pair.field(name)
	if r.path == "" && (name == "apiVersion" || name == "kind") {
		part = nil
	}
	return below(part, s, root, path, formats, opts)
}

func (r *ratchet) index(i int, s *spec.Schema, root any, path string, formats strfmt.Registry, opts ...validate.Option) validate.ValueValidator {
	return below(r.pair.item(i), s, root, path, formats, opts)
}

func below(part *pair, s *spec.Schema, root any, path string, formats strfmt.Registry, opts []validate.Option) validate.ValueValidator {
	if part == nil {
		return validate.NewSchemaValidator(s, root, path, formats, opts...)
	}
	return &ratchet{part, s, root, path}
}

// SetPath implements the library's ValueValidator. It is not used.
func (r *ratchet) SetPath(string) {}

// Applies implements the library's ValueValidator.
func (r *ratchet) Applies(any, reflect.Kind) bool { return true }
