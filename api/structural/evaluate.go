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
)

// Budget bounds the cost of all rules for one object.
const Budget = 10_000_000

// maxMessage bounds what an expression may come to as a message.
const maxMessage = 5 * 1024

// evaluation runs the rules of a schema about one object.
type evaluation struct {
	ctx  context.Context
	left int64 // of the budget; negative when no more rules are to be run
	errs field.ErrorList
	// tolerate is told of faults that were there before; nil where none are let be.
	tolerate func(error)
	// metadataOnly reports whether the write changes nothing but metadata: rules that do
	// not compile then keep nobody from removing a finalizer.
	metadataOnly func() bool
}

// passes reports whether a write can do without rules that do not compile.
func (e *evaluation) passes() bool { return e.metadataOnly != nil && e.metadataOnly() }

// validate runs all rules about a value and what is in it; was is nil where there
// is nothing to compare with.
func (e *evaluation) validate(r *rules, path *field.Path, is, was any, c change) {
	if r == nil || is == nil || e.left < 0 {
		return
	}
	e.own(r, path, is, was, c)
	switch is := is.(type) {
	case []any:
		if r.items == nil {
			return
		}
		find := func(any) any { return nil }
		if before, ok := was.([]any); ok {
			find = common.MakeMapList(view{r.node}, before).Get
		}
		for i := range is {
			e.validate(r.items, path.Index(i), is[i], find(is[i]), c.index(i))
		}
	case map[string]any:
		before, _ := was.(map[string]any)
		if r.values != nil {
			for _, name := range slices.Sorted(maps.Keys(is)) {
				e.validate(r.values, path.Key(name), is[name], before[name], c.key(name))
			}
			return
		}
		for _, name := range r.names {
			if v, ok := is[name]; ok {
				e.validate(r.fields[name], path.Child(name), v, before[name], c.key(name))
			}
		}
	}
}

func (e *evaluation) fail(err *field.Error) { e.errs = append(e.errs, err) }

// stop fails, and lets no more rules run.
func (e *evaluation) stop(err *field.Error) {
	e.fail(err)
	e.left = -1
}

const exhausted = "running out of cost budget, no further validation rules will be run"

// own runs the rules about the value itself.
func (e *evaluation) own(r *rules, path *field.Path, is, was any, c change) {
	kind := r.node.kind
	if r.err != nil {
		if e.passes() {
			return
		}
		e.fail(field.Invalid(path, kind, fmt.Sprintf("rule compiler initialization error: %v", r.err)))
		return
	}
	if len(r.own) == 0 {
		return
	}
	if e.left <= 0 {
		e.stop(field.Invalid(path, kind, "validation failed due to "+exhausted))
		return
	}
	in := inputOf(r, is, was)
	for i := range r.own {
		if e.left < 0 {
			return
		}
		rule := &r.own[i]
		switch {
		case rule.err != nil && e.passes():
		case rule.err != nil:
			e.fail(field.Invalid(path, kind, fmt.Sprintf("rule compile error: %v", rule.err)))
		case rule.program == nil: // it is empty
		case rule.old && was == nil && !rule.optional(): // it is about changes
		default:
			e.run(rule, r.node, path, is, in.of(rule), c)
		}
	}
}

// run runs one rule.
func (e *evaluation) run(r *rule, n *node, path *field.Path, is any, in input, c change) {
	v, details, err := r.program.ContextEval(e.ctx, in)
	cost, known := costOf(details)
	switch {
	case !known:
		e.stop(field.InternalError(path, fmt.Errorf("runtime cost could not be calculated for validation rule: %v, no further validation rules will be run", r.name())))
		return
	case cost > e.left:
		e.stop(field.Invalid(path, n.kind, "validation failed due to "+exhausted))
		return
	}
	e.left -= cost
	switch {
	case err == nil && v == types.True:
		return
	case err == nil:
	case strings.HasPrefix(err.Error(), "no such overload"):
		e.fail(field.Invalid(path, n.kind, fmt.Sprintf("'%v': call arguments did not match a supported operator, function or macro signature for rule: %v", err, r.name())))
		return
	case overLimit(err):
		e.stop(field.Invalid(path, n.kind, fmt.Sprintf("'%v': no further validation rules will be run due to call cost exceeds limit for rule: %v", err, r.name())))
		return
	default:
		e.fail(field.Invalid(path, n.kind, fmt.Sprintf("%v evaluating rule: %v", err, r.name())))
		return
	}
	if r.path != "" {
		path = path.Child(r.path)
	}
	e.broken(r, n, path, is, in, c)
}

// broken tells of a rule that a value does not keep to.
func (e *evaluation) broken(r *rule, n *node, path *field.Path, is any, in input, c change) {
	text, fault, stop := e.message(r, in)
	if stop {
		e.add(r, c, field.Invalid(path, n.kind, fault))
		e.left = -1
		return
	}
	if text == "" {
		text = strings.TrimSpace(r.said.Message)
	}
	if text == "" {
		text = "failed rule: " + r.name()
	}
	if n.kind == "object" || n.kind == "array" {
		is = field.OmitValueType{}
	}
	e.add(r, c, faultOf(r.said.Reason, path, is, text))
}

// add fails, unless it is about what was there before and is not to be compared.
func (e *evaluation) add(r *rule, c change, err *field.Error) {
	if !r.old && e.tolerate != nil && c.unchanged() {
		e.tolerate(err)
		return
	}
	e.fail(err)
}

// message evaluates the expression for the message of a rule. One that comes to
// nothing that could be shown is passed over; stop tells that it cost too much.
func (e *evaluation) message(r *rule, in input) (text, fault string, stop bool) {
	if r.message == nil {
		return "", "", false
	}
	v, details, err := r.message.ContextEval(e.ctx, in)
	cost, known := costOf(details)
	switch {
	case !known:
		return "", fmt.Sprintf("runtime cost could not be calculated for messageExpression: %q", r.said.MessageExpression), true
	case cost > e.left:
		return "", "messageExpression evaluation failed due to " + exhausted, true
	case err != nil && overLimit(err):
		return "", fmt.Sprintf("no further validation rules will be run due to call cost exceeds limit for messageExpression: %q", r.said.MessageExpression), true
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

// name is how a rule is called in messages.
func (r *rule) name() string {
	if r.said.Message != "" {
		return strings.TrimSpace(r.said.Message)
	}
	return strings.TrimSpace(r.said.Rule)
}

// faultOf is a fault of the kind that a rule asks for.
func faultOf(reason *apiextensionsv1.FieldValueErrorReason, path *field.Path, value any, text string) *field.Error {
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

// input resolves what the rules about one value refer to.
type input struct {
	is, was ref.Val // was is nil where there is nothing
	// maybe is what was before, for rules for which there may be nothing.
	maybe ref.Val
}

func inputOf(r *rules, is, was any) input {
	seen := viewOf(r.node)
	if r.whole {
		seen = seen.WithTypeAndObjectMeta()
	}
	in := input{is: common.UnstructuredToVal(is, seen), maybe: types.OptionalNone}
	if was != nil && slices.ContainsFunc(r.own, func(r rule) bool { return r.old }) {
		in.was = common.UnstructuredToVal(was, seen)
		in.maybe = types.OptionalOf(in.was)
	}
	return in
}

// of is the input for a rule.
func (in input) of(r *rule) input {
	if r.optional() {
		in.was = in.maybe
	}
	return in
}

// ResolveName implements the interpreter's Activation.
func (in input) ResolveName(name string) (any, bool) {
	switch name {
	case self:
		return in.is, true
	case oldSelf:
		return in.was, in.was != nil
	}
	return nil, false
}

// Parent implements the interpreter's Activation.
func (in input) Parent() interpreter.Activation { return nil }
