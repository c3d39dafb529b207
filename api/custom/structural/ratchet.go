package structural

import (
	"reflect"
	"time"

	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// Ratcheting: a schema may become stricter than the stored objects. An update that does
// not change a value is not refused because of that value.

// correlatedValue is a value with its old value. A nil pointer is a value without an old
// one.
type correlatedValue struct {
	value, old any
	node       *node
	oldByKey   common.MapList           // of was, if its items have keys
	parts      map[any]*correlatedValue // cache by field name or item index
	same       *bool                    // once it is known
	cost       *comparisonTimer         // of all pairs of an object
}

// comparisonTimer measures the time of finding the unchanged values of an object.
type comparisonTimer struct {
	spent time.Duration
	busy  bool // inside of which parts are compared
}

// begin starts the timer, unless it runs, and returns the function that stops it.
func (c *comparisonTimer) begin() (end func()) {
	if c == nil || c.busy {
		return func() {}
	}
	start := time.Now()
	c.busy = true
	return func() { c.spent, c.busy = c.spent+time.Since(start), false }
}

// field returns the correlated value of a field; nil if the field is new, or if the schema
// does not describe it.
func (p *correlatedValue) field(name string) *correlatedValue {
	if p == nil || p.node == nil {
		return nil
	}
	if part, ok := p.parts[name]; ok {
		return part
	}
	value, ok := p.value.(map[string]any)
	old, ok2 := p.old.(map[string]any)
	n := p.node.field(name)
	if !ok || !ok2 || n == nil {
		return nil
	}
	now, ok := value[name]
	then, ok2 := old[name]
	if !ok || !ok2 {
		return nil
	}
	return p.part(name, now, then, n)
}

// item returns the correlated value of an item; nil if there was no item with its key.
func (p *correlatedValue) item(i int) *correlatedValue {
	if p == nil || p.node == nil || p.node.items == nil {
		return nil
	}
	if part, ok := p.parts[i]; ok {
		return part
	}
	value, ok := p.value.([]any)
	old, ok2 := p.old.([]any)
	if !ok || !ok2 || i >= len(value) || p.node.listType != "map" {
		return nil
	}
	if p.oldByKey == nil {
		p.oldByKey = common.MakeMapList(celSchema{p.node}, old)
	}
	then := p.oldByKey.Get(value[i])
	if then == nil {
		return nil
	}
	return p.part(i, value[i], then, p.node.items)
}

func (p *correlatedValue) part(key, updated, old any, n *node) *correlatedValue {
	if p.parts == nil {
		p.parts = map[any]*correlatedValue{}
	}
	part := &correlatedValue{value: updated, old: old, node: n, cost: p.cost}
	p.parts[key] = part
	return part
}

// unchanged reports whether the value equals the old value. The items of lists of type map
// may be in another order.
func (p *correlatedValue) unchanged() bool {
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

func (p *correlatedValue) compare() bool {
	switch value := p.value.(type) {
	case map[string]any:
		old, ok := p.old.(map[string]any)
		if !ok || len(value) != len(old) {
			return false
		}
		for name := range value {
			if !p.field(name).unchanged() {
				return false
			}
		}
		return true
	case []any:
		old, ok := p.old.([]any)
		if !ok || len(value) != len(old) {
			return false
		}
		if p.node == nil || p.node.listType != "map" {
			return reflect.DeepEqual(value, old)
		}
		for i := range value {
			if !p.item(i).unchanged() {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(p.value, p.old)
}

// correlation is the position of a rule evaluation: a correlated value or, for a value
// without an old one, the nearest correlated value around it. The zero value disables
// ratcheting.
type correlation struct {
	at, nearest *correlatedValue
}

func (c correlation) key(name string) correlation {
	switch {
	case c.at == nil:
		return c
	case c.nearest == nil && (name == "apiVersion" || name == "kind"):
		return correlation{} // both depend on the requested version and not on the old object
	}
	return correlation{c.at.field(name), c.at}
}

func (c correlation) index(i int) correlation {
	if c.at == nil {
		return c
	}
	return correlation{c.at.item(i), c.at}
}

func (c correlation) unchanged() bool {
	if c.at != nil {
		return c.at.unchanged()
	}
	return c.nearest.unchanged()
}

// ratchetingValidator validates a value and tolerates errors in unchanged parts.
type ratchetingValidator struct {
	pair   *correlatedValue
	schema *spec.Schema
	root   any
	path   string
	// faults are those of the fields or items so far.
	faults faultCount
	effort *effort
}

var _ validate.ValueValidator = (*ratchetingValidator)(nil)

// Validate implements the library's ValueValidator.
func (r *ratchetingValidator) Validate(any) *validate.Result {
	v := newCombinedValidator(r.schema, r.root, r.path, strfmt.Default, r.effort, func(o *validate.SchemaValidatorOptions) {
		o.NewValidatorForField, o.NewValidatorForIndex = r.field, r.index
	})
	result := v.Validate(r.pair.value)
	if result.IsValid() || !r.pair.unchanged() {
		return result
	}
	return &validate.Result{MatchCount: result.MatchCount}
}

func (r *ratchetingValidator) field(name string, s *spec.Schema, root any, path string, formats strfmt.Registry,
	_ ...validate.Option) validate.ValueValidator {
	part := r.pair.field(name)
	if r.path == "" && (name == "apiVersion" || name == "kind") {
		part = nil
	}
	return limitedValidator{newRatchetingValidator(part, s, root, path, formats, r.effort), &r.faults}
}

func (r *ratchetingValidator) index(i int, s *spec.Schema, root any, path string, formats strfmt.Registry,
	_ ...validate.Option) validate.ValueValidator {
	return limitedValidator{newRatchetingValidator(r.pair.item(i), s, root, path, formats, r.effort), &r.faults}
}

func newRatchetingValidator(part *correlatedValue, s *spec.Schema, root any, path string, formats strfmt.Registry,
	e *effort) validate.ValueValidator {
	if part == nil {
		return newLimitedValidator(s, root, path, formats, e)
	}
	return &ratchetingValidator{pair: part, schema: s, root: root, path: path, effort: e}
}

// SetPath implements the library's ValueValidator. It is not used.
func (r *ratchetingValidator) SetPath(string) {}

// Applies implements the library's ValueValidator.
func (r *ratchetingValidator) Applies(any, reflect.Kind) bool { return true }
