package structural

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/cel/common"

	"github.com/miniapiserver/miniapiserver/internal/celbounds"
	"github.com/miniapiserver/miniapiserver/request"
)

// maxRuleCost is the maximum cost of all rules of one object.
const maxRuleCost = 10_000_000

// maxMessage is the maximum length of the result of a messageExpression.
const maxMessage = 5 * 1024

// evaluation runs the rules of a schema for one object.
type evaluation struct {
	ctx  context.Context
	left int64 // remaining budget; negative if no more rules may run
	errs field.ErrorList
	// meter limits what the rules of one object make and compare; nil until the first rule.
	meter *celbounds.Meter
	// tolerate is called with errors of unchanged values; nil disables ratcheting.
	tolerate func(error)
	// metadataOnly reports whether the write changes nothing but metadata. Rules that do
	// not compile are skipped then, so that finalizers can be removed.
	metadataOnly func() bool
	// release decides what errors say.
	release Release
}

// toleratesBrokenRules reports whether rules that do not compile are skipped.
func (e *evaluation) toleratesBrokenRules() bool { return e.metadataOnly != nil && e.metadataOnly() }

// validate runs the rules of a value and of the values inside it; old is the old value or
// nil.
func (e *evaluation) validate(r *rules, path *field.Path, value, old any, c correlation) {
	if r == nil || value == nil || e.left < 0 {
		return
	}
	e.runOwn(r, path, value, old, c)
	switch value := value.(type) {
	case []any:
		if r.items == nil {
			return
		}
		find := func(any) any { return nil }
		if before, ok := old.([]any); ok {
			find = common.MakeMapList(celSchema{r.node}, before).Get
		}
		for i := range value {
			e.validate(r.items, path.Index(i), value[i], find(value[i]), c.index(i))
		}
	case map[string]any:
		before, _ := old.(map[string]any)
		if r.values != nil {
			for _, name := range slices.Sorted(maps.Keys(value)) {
				e.validate(r.values, path.Key(name), value[name], before[name], c.key(name))
			}
			return
		}
		for _, name := range r.names {
			if v, ok := value[name]; ok {
				e.validate(r.fields[name], path.Child(name), v, before[name], c.key(name))
			}
		}
	}
}

func (e *evaluation) fail(err *field.Error) { e.errs = append(e.errs, err) }

// stop adds an error and prevents further rules from running.
func (e *evaluation) stop(err *field.Error) {
	e.fail(err)
	e.left = -1
}

const budgetExhausted = "running out of cost budget, no further validation rules will be run"

// runOwn runs the rules of the value itself.
func (e *evaluation) runOwn(r *rules, path *field.Path, value, old any, c correlation) {
	kind := r.node.kind
	if r.err != nil {
		if e.toleratesBrokenRules() {
			return
		}
		e.fail(field.Invalid(path, kind, fmt.Sprintf("rule compiler initialization error: %v", r.err)))
		return
	}
	if len(r.own) == 0 {
		return
	}
	if e.left <= 0 {
		e.stop(field.Invalid(path, kind, "validation failed due to "+budgetExhausted))
		return
	}
	if e.ctx.Err() != nil {
		e.stop(field.InternalError(path, fmt.Errorf("the request ended while validation rules were checked: %w", e.ctx.Err())))
		return
	}
	if e.meter == nil {
		e.meter = celbounds.NewMeter(e.ctx)
	}
	in := newActivation(r, value, old)
	in.meter = e.meter
	for i := range r.own {
		if e.left < 0 {
			return
		}
		rule := &r.own[i]
		switch {
		case rule.err != nil && e.toleratesBrokenRules():
		case rule.err != nil:
			e.fail(field.Invalid(path, kind, fmt.Sprintf("rule compile error: %v", rule.err)))
		case rule.program == nil: // the rule is empty
		case rule.usesOldSelf && old == nil && !rule.hasOptionalOldSelf(): // transition rules need an old value
		default:
			e.run(rule, r.node, path, value, in.forRule(rule), c)
		}
	}
}

// run evaluates one rule.
func (e *evaluation) run(r *rule, n *node, path *field.Path, value any, in activation, c correlation) {
	v, details, err := r.program.ContextEval(e.ctx, in)
	cost, known := costOf(details)
	switch {
	case !known:
		e.stop(field.InternalError(path, fmt.Errorf("runtime cost could not be calculated for validation rule: %v, no further validation rules will be run", r.name())))
		return
	case cost > e.left:
		e.stop(field.Invalid(path, n.kind, "validation failed due to "+budgetExhausted))
		return
	}
	e.left -= cost
	switch {
	case err == nil && v == types.True:
		return
	case err == nil:
	case strings.HasPrefix(err.Error(), "no such overload"):
		e.failRule(r, field.Invalid(path, n.kind, fmt.Sprintf("'%v': call arguments did not match a supported operator, function or macro signature for rule: %v", err, r.name())))
		return
	case overLimit(err):
		e.stop(field.Invalid(path, n.kind, fmt.Sprintf("'%v': no further validation rules will be run due to call cost exceeds limit for rule: %v", err, r.name())))
		return
	default:
		e.failRule(r, field.Invalid(path, n.kind, fmt.Sprintf("%v evaluating rule: %v", err, r.name())))
		return
	}
	if r.path != "" {
		path = path.Child(r.path)
	}
	e.addViolation(r, n, path, value, in, c)
}

// addViolation adds the error for a value that violates a rule.
func (e *evaluation) addViolation(r *rule, n *node, path *field.Path, value any, in activation, c correlation) {
	text, fault, stop := e.message(r, in)
	if stop {
		e.addUnlessTolerated(r, c, field.Invalid(path, n.kind, fault))
		e.left = -1
		return
	}
	switch {
	case text != "":
	case r.definition.Message != "":
		text = strings.TrimSpace(r.definition.Message) // which may be blank
	default:
		text = "failed rule: " + r.name()
	}
	switch {
	case !e.release.has(showsValues):
		value = n.kind
	case n.kind == "object" || n.kind == "array":
		value = field.OmitValueType{}
	}
	e.addUnlessTolerated(r, c, ruleError(r.definition.Reason, path, value, text))
}

// addUnlessTolerated adds an error, unless ratcheting tolerates it: the value is unchanged
// and the rule is no transition rule.
func (e *evaluation) addUnlessTolerated(r *rule, c correlation, err *field.Error) {
	if !r.usesOldSelf && e.tolerate != nil && c.unchanged() {
		e.tolerate(err)
		return
	}
	e.failRule(r, err)
}

// failRule adds an error of a rule, and records the rule for the account of the request: the error has a message in its place.
func (e *evaluation) failRule(r *rule, err *field.Error) {
	request.From(e.ctx).Account.Refuse(request.Refusal{By: request.RefusedByValidation, Expression: strings.TrimSpace(r.definition.Rule)})
	e.fail(err)
}

// message evaluates the messageExpression of a rule. An unusable result gives an empty
// text; stop reports that the evaluation exceeded the budget, with fault as the error.
func (e *evaluation) message(r *rule, in activation) (text, fault string, stop bool) {
	if r.message == nil {
		return "", "", false
	}
	v, details, err := r.message.ContextEval(e.ctx, in)
	cost, known := costOf(details)
	switch {
	case !known:
		return "", fmt.Sprintf("runtime cost could not be calculated for messageExpression: %q", r.definition.MessageExpression), true
	case cost > e.left:
		return "", "messageExpression evaluation failed due to " + budgetExhausted, true
	case err != nil && overLimit(err):
		return "", fmt.Sprintf("no further validation rules will be run due to call cost exceeds limit for messageExpression: %q", r.definition.MessageExpression), true
	}
	e.left -= cost
	if err != nil {
		return "", "", false
	}
	text, _ = v.Value().(string)
	text = strings.TrimSpace(text)
	if len(text) > maxMessage || strings.Contains(text, "\n") {
		return "", "", false
	}
	return text, "", false
}

func overLimit(err error) bool {
	return strings.HasPrefix(err.Error(), "operation cancelled: actual cost limit exceeded")
}

func costOf(details *cel.EvalDetails) (int64, bool) {
	if details == nil || details.ActualCost() == nil {
		return 0, false
	}
	return int64(min(*details.ActualCost(), math.MaxInt64)), true
}

// name returns the message of a rule or, by default, its expression.
func (r *rule) name() string {
	if r.definition.Message != "" {
		return strings.TrimSpace(r.definition.Message)
	}
	return strings.TrimSpace(r.definition.Rule)
}

// ruleError returns an error with the reason of a rule.
func ruleError(reason *apiextensionsv1.FieldValueErrorReason, path *field.Path, value any, text string) *field.Error {
	switch {
	case reason == nil:
	case *reason == apiextensionsv1.FieldValueForbidden:
		return field.Forbidden(path, text)
	case *reason == apiextensionsv1.FieldValueRequired:
		return field.Required(path, text)
	case *reason == apiextensionsv1.FieldValueDuplicate:
		return field.Duplicate(path, value)
	}
	return field.Invalid(path, value, text)
}

// activation resolves the variables of the rules of one value.
type activation struct {
	self, oldSelf ref.Val // oldSelf is nil if there is no old value
	// optionalOldSelf is the old value for rules with optionalOldSelf.
	optionalOldSelf ref.Val
	meter           *celbounds.Meter
}

func newActivation(r *rules, value, old any) activation {
	seen := newCELSchema(r.node)
	if r.hasObjectMeta {
		seen = seen.WithTypeAndObjectMeta()
	}
	in := activation{self: common.UnstructuredToVal(value, seen), optionalOldSelf: types.OptionalNone}
	if old != nil && slices.ContainsFunc(r.own, func(r rule) bool { return r.usesOldSelf }) {
		in.oldSelf = common.UnstructuredToVal(old, seen)
		in.optionalOldSelf = types.OptionalOf(in.oldSelf)
	}
	return in
}

// forRule returns the activation of a rule.
func (in activation) forRule(r *rule) activation {
	if r.hasOptionalOldSelf() {
		in.oldSelf = in.optionalOldSelf
	}
	return in
}

// ResolveName implements the interpreter's Activation.
func (in activation) ResolveName(name string) (any, bool) {
	switch name {
	case self:
		return in.self, true
	case oldSelf:
		return in.oldSelf, in.oldSelf != nil
	case celbounds.MeterName:
		return in.meter, in.meter != nil
	}
	return nil, false
}

// Parent implements the interpreter's Activation.
func (in activation) Parent() interpreter.Activation { return nil }
