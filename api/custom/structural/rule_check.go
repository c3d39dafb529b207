package structural

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/internal/coldsort"
)

// Limits of the estimated cost of one expression, for all values to which it may apply,
// and of all expressions of a schema.
const (
	ruleLimit  = 10_000_000
	totalLimit = 100_000_000
)

// maxRequestBytes is the maximum size of an object, which bounds the number of values.
const maxRequestBytes = 3 << 20

// ruleContext is a schema whose rules can be compiled.
type ruleContext struct {
	node          *node
	hasObjectMeta bool
	scope         celScope
	writer        expression.Writer
	// hasRules: the schema or one around it has rules. isElement: it describes the
	// elements of a schema with rules, and its type is the element type of that schema.
	// hidden: an enclosing schema has rules but no CEL type.
	hasRules, isElement, hidden bool
	// maxValues is the maximum number of values in an object; nil if unbounded.
	maxValues *uint64
}

// rootRuleContext returns the context of the root schema; nil if there are no rules or if
// they cannot be compiled.
func (c *checker) rootRuleContext(s *props, path *field.Path) *ruleContext {
	n, err := compile(s)
	if err != nil || !n.hasRules() {
		return nil
	}
	if !c.release.has(boundsNames) {
		n.unboundNames()
	}
	once := uint64(1)
	in, err := newCELScope(n, true, c.writer)
	if err != nil {
		c.ruleErrs = append(c.ruleErrs, field.Forbidden(path, err.Error()))
		return nil
	}
	return &ruleContext{node: n, hasObjectMeta: true, maxValues: &once, scope: in, writer: c.writer, hasRules: len(n.rules) > 0}
}

// part returns the context of a direct subschema of s.
func (r *ruleContext) part(s *props, n *node, in celScope) *ruleContext {
	if n == nil {
		return nil
	}
	out := &ruleContext{node: n, hasObjectMeta: n.embedded, scope: in, writer: r.writer, hasRules: r.hasRules || len(n.rules) > 0}
	out.hidden = r.hidden || r.hasRules && !r.isElement && r.scope.t == nil
	if most := maxElements(s); r.maxValues != nil && most != nil {
		times := saturatingMultiply(*r.maxValues, *most)
		out.maxValues = &times
	}
	return out
}

func (r *ruleContext) values(s *props) *ruleContext {
	if r == nil {
		return nil
	}
	return r.element(s, r.node.values)
}

func (r *ruleContext) items(s *props) *ruleContext {
	if r == nil {
		return nil
	}
	return r.element(s, r.node.items)
}

// resolve sets the scope of a schema that the scope of its parent does not contain.
func (r *ruleContext) resolve() (err error) {
	if r.scope.t == nil && !r.isElement {
		r.scope, err = newCELScope(r.node, r.hasObjectMeta, r.writer)
	}
	return err
}

func (r *ruleContext) element(s *props, n *node) *ruleContext {
	if r.hasRules && n.hasRules() {
		_ = r.resolve() // compileRules reports the error
	}
	out := r.part(s, n, r.scope.element())
	if out != nil {
		out.isElement = r.hasRules
	}
	return out
}

func (r *ruleContext) field(s *props, name string) *ruleContext {
	if r == nil || r.node.fields[name] == nil || !r.node.fields[name].hasRules() {
		return nil
	}
	if r.hasRules {
		_ = r.resolve()
	}
	in, _ := r.scope.field(name, r.node.fields[name])
	return r.part(s, r.node.fields[name], in)
}

// maxElements returns the maximum number of elements in a value of s; nil if unbounded.
func maxElements(s *props) *uint64 {
	var bound *int64
	switch {
	case s.Type == "object" && s.AdditionalProperties != nil:
		bound = s.MaxProperties
	case s.Type == "array":
		bound = s.MaxItems
	default:
		one := int64(1)
		bound = &one
	}
	if bound == nil {
		return nil
	}
	n := uint64(max(*bound, 0))
	return &n
}

func saturatingMultiply(a, b uint64) uint64 {
	if a == 0 {
		return 0
	}
	if math.MaxUint64/a < b {
		return math.MaxUint64
	}
	return a * b
}

// ruleTexts checks the fields of rules except the expressions.
func (c *checker) ruleTexts(s *props, path *field.Path) {
	shape := sync.OnceValue(func() *node {
		if n, err := compile(s); err == nil && Unsupported(s) == nil {
			return n
		}
		return nil // other checks report the error
	})
	reasons := []apiextensionsv1.FieldValueErrorReason{apiextensionsv1.FieldValueDuplicate, apiextensionsv1.FieldValueForbidden,
		apiextensionsv1.FieldValueInvalid, apiextensionsv1.FieldValueRequired}
	for i := range s.XValidations {
		r, at := &s.XValidations[i], path.Index(i)
		message := strings.TrimSpace(r.Message)
		switch {
		case strings.TrimSpace(r.Rule) == "":
			c.require(at.Child("rule"), "rule is not specified")
		case r.Message != "" && message == "":
			c.invalid(at.Child("message"), r.Message, "must be non-empty if specified")
		case hasLineBreak(message):
			c.invalid(at.Child("message"), r.Message, "must not contain line breaks")
		case hasLineBreak(strings.TrimSpace(r.Rule)) && message == "":
			c.require(at.Child("message"), "message must be specified if rule contains line breaks")
		}
		if r.MessageExpression != "" && strings.TrimSpace(r.MessageExpression) == "" {
			c.require(at.Child("messageExpression"), "messageExpression must be non-empty if specified")
		}
		if r.Reason != nil && !slices.Contains(reasons, *r.Reason) {
			c.errs = append(c.errs, field.NotSupported(at.Child("reason"), *r.Reason, reasons))
		}
		if r.FieldPath != "" {
			c.rulePath(shape(), r.FieldPath, at.Child("fieldPath"))
		}
	}
}

// hasLineBreak reports whether a text has a line break of CEL.
func hasLineBreak(text string) bool { return strings.ContainsAny(text, "\n\r") }

func (c *checker) rulePath(n *node, path string, at *field.Path) {
	if strings.TrimSpace(path) == "" {
		c.invalid(at, path, "must be non-empty if specified")
	}
	if hasLineBreak(path) {
		c.invalid(at, path, "must not contain line breaks")
	}
	if n == nil {
		return
	}
	if _, err := pathBelow(path, n); err != nil {
		c.invalid(at, path, "must be a valid path")
	}
}

// compileRules reports the errors of the expressions of a schema.
func (c *checker) compileRules(path *field.Path, in location) {
	fail := func(why string) {
		c.ruleErrs = append(c.ruleErrs, field.InternalError(path, errors.New(why)))
	}
	if err := in.rules.resolve(); err != nil {
		fail(err.Error())
		return
	}
	if in.rules.hidden || in.rules.scope.t == nil && !in.rules.isElement {
		fail("internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations")
		return
	}
	var times uint64
	switch {
	case in.rules.maxValues != nil:
		times = *in.rules.maxValues
	case in.rules.scope.t != nil:
		times = uint64(maxRequestBytes / (in.rules.scope.t.MinSerializedSize + 1)) // 1 for the comma
	}
	i := 0
	for r, err := range in.rules.scope.compileEach(in.rules.node) {
		if err != nil {
			fail(err.Error())
			return
		}
		c.rule(r, path.Index(i), times, in.uncorrelatable)
		i++
	}
}

// rule reports the errors of a compiled rule that applies to up to times values.
func (c *checker) rule(r *rule, path *field.Path, times uint64, apart *field.Path) {
	add := func(err *field.Error) { c.ruleErrs = append(c.ruleErrs, err) }
	at, said := path.Child("rule"), internalRule(r.definition)
	cost := saturatingMultiply(r.cost, times)
	if cost > ruleLimit && !c.lenient.CostlyRules {
		add(field.Forbidden(at, costMessage("estimated rule cost", cost, ruleLimit)))
	}
	c.total.add(at, cost)
	if r.err != nil {
		add(field.Invalid(at, said, r.err.Detail))
	}
	at = path.Child("messageExpression")
	switch {
	case r.messageErr != nil:
		add(field.Invalid(at, said, r.messageErr.Detail))
	case r.message != nil:
		if r.messageCost > ruleLimit && !c.lenient.CostlyRules {
			add(field.Forbidden(at, costMessage("estimated messageExpression cost", r.messageCost, ruleLimit)))
		}
		c.total.add(at, r.messageCost)
	}
	switch {
	case r.usesOldSelf && apart != nil:
		add(field.Invalid(path.Child("rule"), r.definition.Rule,
			fmt.Sprintf("oldSelf cannot be used on the uncorrelatable portion of the schema within %v", apart)))
	case !r.usesOldSelf && r.definition.OptionalOldSelf != nil:
		add(field.Invalid(path.Child("optionalOldSelf"), *r.definition.OptionalOldSelf, "may not be set if oldSelf is not used in rule"))
	}
}

// internalRule converts a rule to the type that kube-apiserver prints in error messages.
func internalRule(r *apiextensionsv1.ValidationRule) apiextensions.ValidationRule {
	return apiextensions.ValidationRule{
		Rule: r.Rule, Message: r.Message, MessageExpression: r.MessageExpression,
		Reason: (*apiextensions.FieldValueErrorReason)(r.Reason), FieldPath: r.FieldPath, OptionalOldSelf: r.OptionalOldSelf,
	}
}

// costMessage returns the message for a cost above a limit. The factor is precise only
// for costs near the limit, like kube-apiserver's.
func costMessage(what string, cost, limit uint64) string {
	factor := "more than 100x"
	if times := float64(cost) / float64(limit); times < 1.5 {
		factor = fmt.Sprintf("%fx", times)
	} else if times <= 100 {
		factor = fmt.Sprintf("%.1fx", times)
	}
	return fmt.Sprintf("%s exceeds budget by factor of %s (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)", what, factor)
}

// totalCost is the cost of all rules of a schema, and its most expensive rules.
type totalCost struct {
	sum  uint64
	most []costAt
}

type costAt struct {
	at   *field.Path
	cost uint64
}

func (t *totalCost) add(at *field.Path, cost uint64) {
	if t.sum += cost; t.sum < cost {
		t.sum = math.MaxUint64
	}
	if cost < totalLimit/100 {
		return
	}
	t.most = append(t.most, costAt{at, cost})
	coldsort.Func(t.most, func(a, b costAt) int {
		switch {
		case a.cost > b.cost:
			return -1
		case a.cost < b.cost:
			return 1
		}
		return 0
	})
	t.most = t.most[:min(len(t.most), 4)]
}

func (t *totalCost) errors(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, m := range t.most {
		errs = append(errs, field.Forbidden(m.at, "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"))
	}
	return append(errs, field.Forbidden(path, costMessage("x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema",
		t.sum, totalLimit)))
}
