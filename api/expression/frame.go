package expression

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	"google.golang.org/protobuf/types/known/structpb"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	apicel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/lazy"

	"github.com/miniapiserver/miniapiserver/internal/celbounds"
)

// Cost budgets for one request: of the expressions of one type in a policy, for each
// parameter, and of match conditions.
const (
	Budget                = 10_000_000
	MatchConditionsBudget = 2_500_000
)

// Input resolves the names in expressions other than variables.
type Input interface {
	ResolveName(name string) (any, bool)
}

// Frame evaluates programs of one compiler for one request. It is not safe
// for concurrent use.
type Frame struct {
	ctx       context.Context
	input     Input
	compiled  map[string]*Program
	variables *lazy.MapValue
	meter     *celbounds.Meter
	left      int64 // remaining budget
	spent     int64 // cost of the variables that the running program computed
}

// Frame returns a frame with a budget.
func (c *Compiler) Frame(ctx context.Context, input Input, budget int64) *Frame {
	return &Frame{ctx: ctx, input: input, compiled: c.variables, meter: celbounds.NewMeter(ctx), left: budget}
}

// RemainingBudget returns the unused part of the budget.
func (f *Frame) RemainingBudget() int64 { return f.left }

// ResolveName implements the interpreter's Activation.
func (f *Frame) ResolveName(name string) (any, bool) {
	switch name {
	case Variables:
		return f.variablesValue(), true
	case celbounds.MeterName:
		return f.meter, true
	}
	return f.input.ResolveName(name)
}

// Parent implements the interpreter's Activation.
func (f *Frame) Parent() interpreter.Activation { return nil }

// variablesValue returns the variables, each of which is computed at its first use.
func (f *Frame) variablesValue() ref.Val {
	if f.variables == nil {
		f.variables = lazy.NewMapValue(types.NewObjectType(variablesType))
		for name, p := range f.compiled {
			f.variables.Append(name, func(*lazy.MapValue) ref.Val { return f.variable(name, p) })
		}
	}
	return f.variables
}

func (f *Frame) variable(name string, p *Program) ref.Val {
	if p.Err != nil {
		return types.NewErr("composited variable %q fails to compile: %v", name, p.Err)
	}
	switch {
	case f.ctx.Err() != nil:
		return types.NewErr("composited variable %q fails to evaluate: operation interrupted", name)
	case f.spent > f.left: // which ends the evaluation; Evaluate reports it
		return types.NewErr("composited variable %q fails to evaluate: operation cancelled: actual cost limit exceeded", name)
	}
	v, details, err := p.run.ContextEval(f.ctx, f)
	cost, known := costOf(details)
	if !known {
		return types.NewErr("unable to calculate cost of variable %q", name)
	}
	f.spent += cost
	if err != nil {
		return types.NewErr("composited variable %q fails to evaluate: %v", name, err)
	}
	return v
}

// Values returns the variables as text, for the explanation of a result: JSON where a value has it. Variables that cannot be
// computed within the remaining budget have their error.
func (f *Frame) Values() map[string]string {
	if len(f.compiled) == 0 {
		return nil
	}
	out := make(map[string]string, len(f.compiled))
	all, _ := f.variablesValue().(*lazy.MapValue)
	for name := range f.compiled {
		out[name] = valueText(all.Get(types.String(name)))
	}
	return out
}

// maxValueText is the maximum length of a value in Values, in bytes.
const maxValueText = 512

// valueText returns a value as text.
func valueText(v ref.Val) string {
	text := fmt.Sprint(v.Value())
	if err, ok := v.(*types.Err); ok {
		text = err.Error()
	} else if native, err := v.ConvertToNative(reflect.TypeFor[*structpb.Value]()); err == nil {
		if data, err := native.(*structpb.Value).MarshalJSON(); err == nil {
			text = string(data)
		}
	}
	if len(text) > maxValueText {
		text = strings.ToValidUTF8(text[:maxValueText], "") + "..."
	}
	return text
}

func costOf(details *cel.EvalDetails) (int64, bool) {
	if details == nil || details.ActualCost() == nil {
		return 0, false
	}
	return int64(min(*details.ActualCost(), math.MaxInt64)), true
}

// Evaluate runs p. If the budget is exhausted, OutOfBudget is true of the error, and the
// caller must not evaluate more programs.
func (f *Frame) Evaluate(p *Program) (ref.Val, error) {
	if p.Err != nil {
		return nil, &apicel.Error{Type: apicel.ErrorTypeInvalid, Detail: fmt.Sprintf("compilation error: %v", p.Err), Cause: p.Err}
	}
	if err := f.ctx.Err(); err != nil {
		return nil, &apicel.Error{Type: apicel.ErrorTypeInvalid,
			Detail: fmt.Sprintf("expression '%v' resulted in error: operation interrupted", p.Text), Cause: err}
	}
	f.spent = 0
	v, details, err := p.run.ContextEval(f.ctx, f)
	cost, known := costOf(details)
	if !known {
		return nil, outOfBudget(fmt.Sprintf("runtime cost could not be calculated for expression: %v, no further expression will be run", p.Text))
	}
	for _, c := range [2]int64{f.spent, cost} {
		if c > f.left {
			return nil, outOfBudget("validation failed due to running out of cost budget, no further validation rules will be run")
		}
		f.left -= c
	}
	if err != nil {
		return nil, &apicel.Error{Type: apicel.ErrorTypeInvalid, Detail: fmt.Sprintf("expression '%v' resulted in error: %v", p.Text, err),
			Cause: failure{p.Text, err}}
	}
	return v, nil
}

// failure is the error of an expression.
type failure struct {
	text string
	error
}

// FailedIn returns the expression whose evaluation failed with err; empty if err is another error. If err is an aggregate, it is
// that of the first one.
func FailedIn(err error) string {
	var all utilerrors.Aggregate
	if errors.As(err, &all) && len(all.Errors()) > 0 {
		err = all.Errors()[0]
	}
	var f failure
	if errors.As(err, &f) {
		return f.text
	}
	return ""
}

func outOfBudget(detail string) error {
	return &apicel.Error{Type: apicel.ErrorTypeInvalid, Detail: detail, Cause: apicel.ErrOutOfBudget}
}

// OutOfBudget reports whether an evaluation failed because its budget was exhausted.
func OutOfBudget(err error) bool { return errors.Is(err, apicel.ErrOutOfBudget) }
