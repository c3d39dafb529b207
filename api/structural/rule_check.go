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
)

// Limits of what rules may cost at most, by an estimate: one expression, for all
// values that it may be about, and all of a schema.
const (
	ruleLimit  = 10_000_000
	totalLimit = 100_000_000
)

// maxRequest is the size of an object, which bounds how many values there can be.
const maxRequest = 3 << 20

// ruled is a schema whose rules can be compiled.
type ruled struct {
	node  *node
	whole bool
	scope scope
	// about: there are rules about it, or about what it is in; inside: it is an
	// element of such, so that its type is what they see of it, if they do.
	// unseen: what it is in has rules and no type.
	about, inside, unseen bool
	// times is how many values it may be for; nil when there is no bound.
	times *uint64
}

// ruled begins at the root of a schema; nil when there are no rules that could be
// compiled.
func (c *checker) ruled(s *props, path *field.Path) *ruled {
	n, err := compile(s)
	if err != nil || !n.hasRules() {
		return nil
	}
	once := uint64(1)
	in, err := scopeOf(n, true)
	if err != nil {
		c.ruleErrs = append(c.ruleErrs, field.Forbidden(path, err.Error()))
		return nil
	}
	return &ruled{node: n, whole: true, times: &once, scope: in, about: len(n.rules) > 0}
}

// part is a schema inside of one, which is s.
func (r *ruled) part(s *props, n *node, in scope) *ruled {
	if n == nil {
		return nil
	}
	out := &ruled{node: n, whole: n.embedded, scope: in, about: r.about || len(n.rules) > 0}
	out.unseen = r.unseen || r.about && !r.inside && r.scope.t == nil
	if most := elements(s); r.times != nil && most != nil {
		times := multiply(*r.times, *most)
		out.times = &times
	}
	return out
}

func (r *ruled) values(s *props) *ruled {
	if r == nil {
		return nil
	}
	return r.element(s, r.node.values)
}

func (r *ruled) items(s *props) *ruled {
	if r == nil {
		return nil
	}
	return r.element(s, r.node.items)
}

// resolve makes a scope for what cannot be seen from outside.
func (r *ruled) resolve() (err error) {
	if r.scope.t == nil && !r.inside {
		r.scope, err = scopeOf(r.node, r.whole)
	}
	return err
}

func (r *ruled) element(s *props, n *node) *ruled {
	if r.about && n.hasRules() {
		_ = r.resolve() // if it fails, it does so for every rule
	}
	out := r.part(s, n, r.scope.element())
	if out != nil {
		out.inside = r.about
	}
	return out
}

func (r *ruled) field(s *props, name string) *ruled {
	if r == nil || r.node.fields[name] == nil || !r.node.fields[name].hasRules() {
		return nil
	}
	if r.about {
		_ = r.resolve()
	}
	in, _ := r.scope.field(name, r.node.fields[name])
	return r.part(s, r.node.fields[name], in)
}

// elements is how many values there may be in one of a schema; nil when there is
// no bound.
func elements(s *props) *uint64 {
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

func multiply(a, b uint64) uint64 {
	if a == 0 {
		return 0
	}
	if math.MaxUint64/a < b {
		return math.MaxUint64
	}
	return a * b
}

// ruleTexts checks what is said of rules, but for expressions.
func (c *checker) ruleTexts(s *props, path *field.Path) {
	shape := sync.OnceValue(func() *node {
		if n, err := compile(s); err == nil && Unsupported(s) == nil {
			return n
		}
		return nil // which is told of
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
		case breaks(message):
			c.invalid(at.Child("message"), r.Message, "must not contain line breaks")
		case breaks(strings.TrimSpace(r.Rule)) && message == "":
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

// breaks tells of line breaks, as the expression language has them.
func breaks(text string) bool { return strings.ContainsAny(text, "\n\r") }

func (c *checker) rulePath(n *node, path string, at *field.Path) {
	if strings.TrimSpace(path) == "" {
		c.invalid(at, path, "must be non-empty if specified")
	}
	if breaks(path) {
		c.invalid(at, path, "must not contain line breaks")
	}
	if n == nil {
		return
	}
	if _, err := pathBelow(path, n); err != nil {
		c.invalid(at, path, "must be a valid path")
	}
}

// compileRules tells what is wrong with the expressions of a schema.
func (c *checker) compileRules(s *props, path *field.Path, in place) {
	fail := func(why string) {
		c.ruleErrs = append(c.ruleErrs, field.InternalError(path, errors.New(why)))
	}
	if err := in.rules.resolve(); err != nil {
		fail(err.Error())
		return
	}
	if in.rules.unseen || in.rules.scope.t == nil && !in.rules.inside {
		fail("internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations")
		return
	}
	var times uint64
	switch {
	case in.rules.times != nil:
		times = *in.rules.times
	case in.rules.scope.t != nil:
		times = uint64(maxRequest / (in.rules.scope.t.MinSerializedSize + 1)) // and a comma
	}
	i := 0
	for r, err := range in.rules.scope.each(in.rules.node) {
		if err != nil {
			fail(err.Error())
			return
		}
		c.rule(r, path.Index(i), times, in.apart)
		i++
	}
}

// rule tells what is wrong with a rule that is for so many values.
func (c *checker) rule(r *rule, path *field.Path, times uint64, apart *field.Path) {
	add := func(err *field.Error) { c.ruleErrs = append(c.ruleErrs, err) }
	at, said := path.Child("rule"), shown(r.said)
	cost := multiply(r.cost, times)
	if cost > ruleLimit {
		add(field.Forbidden(at, tooCostly("estimated rule cost", cost, ruleLimit)))
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
		if r.messageCost > ruleLimit {
			add(field.Forbidden(at, tooCostly("estimated messageExpression cost", r.messageCost, ruleLimit)))
		}
		c.total.add(at, r.messageCost)
	}
	switch {
	case r.old && apart != nil:
		add(field.Invalid(path.Child("rule"), r.said.Rule, fmt.Sprintf("oldSelf cannot be used on the uncorrelatable portion of the schema within %v", apart)))
	case !r.old && r.said.OptionalOldSelf != nil:
		add(field.Invalid(path.Child("optionalOldSelf"), *r.said.OptionalOldSelf, "may not be set if oldSelf is not used in rule"))
	}
}

// shown is a rule in the form that kube-apiserver shows.
func shown(r *apiextensionsv1.ValidationRule) apiextensions.ValidationRule {
	return apiextensions.ValidationRule{
		Rule: r.Rule, Message: r.Message, MessageExpression: r.MessageExpression,
		Reason: (*apiextensions.FieldValueErrorReason)(r.Reason), FieldPath: r.FieldPath, OptionalOldSelf: r.OptionalOldSelf,
	}
}

// tooCostly tells by how much a limit is exceeded: for much more than it, an
// estimate is as good as none.
func tooCostly(what string, cost, limit uint64) string {
	factor := "more than 100x"
	if times := float64(cost) / float64(limit); times < 1.5 {
		factor = fmt.Sprintf("%fx", times)
	} else if times <= 100 {
		factor = fmt.Sprintf("%.1fx", times)
	}
	return fmt.Sprintf("%s exceeds budget by factor of %s (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)", what, factor)
}

// totalCost is what all rules of a schema cost, and which of them cost most.
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
	slices.SortStableFunc(t.most, func(a, b costAt) int {
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
	return append(errs, field.Forbidden(path, tooCostly("x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema", t.sum, totalLimit)))
}
