package expression

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	apicel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/lazy"
)

// Budgets of cost: of all expressions of a kind in a policy for one request and
// parameter, and of match conditions.
const (
	Budget                = 10_000_000
	MatchConditionsBudget = 2_500_000
)

// Input resolves what expressions refer to but variables.
type Input interface {
	ResolveName(name string) (any, bool)
}

// Frame evaluates programs of one compiler about one request. It is not safe
// for concurrent use.
type Frame struct {
	ctx       context.Context
	input     Input
	compiled  map[string]*Program
	variables *lazy.MapValue
	left      int64 // of the budget
	spent     int64 // on variables, by the program that runs
}

// Frame makes a frame with a budget.
func (c *Compiler) Frame(ctx context.Context, input Input, budget int64) *Frame {
	return &Frame{ctx: ctx, input: input, compiled: c.variables, left: budget}
}

// Left is what is left of the budget.
func (f *Frame) Left() int64 { return f.left }

// ResolveName implements the interpreter's Activation.
func (f *Frame) ResolveName(name string) (any, bool) {
	if name == Variables {
		return f.values(), true
	}
	return f.input.ResolveName(name)
}

// Parent implements the interpreter's Activation.
func (f *Frame) Parent() interpreter.Activation { return nil }

// values are the variables, each computed when it is first looked at.
func (f *Frame) values() ref.Val {
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

func costOf(details *cel.EvalDetails) (int64, bool) {
	if details == nil || details.ActualCost() == nil {
		return 0, false
	}
	return int64(min(*details.ActualCost(), math.MaxInt64)), true
}

// Evaluate runs p. When the budget is spent the error is one of which
// OutOfBudget is true, and nothing more should be evaluated.
func (f *Frame) Evaluate(p *Program) (ref.Val, error) {
	if p.Err != nil {
		return nil, &apicel.Error{Type: apicel.ErrorTypeInvalid, Detail: fmt.Sprintf("compilation error: %v", p.Err), Cause: p.Err}
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
		return nil, &apicel.Error{Type: apicel.ErrorTypeInvalid, Detail: fmt.Sprintf("expression '%v' resulted in error: %v", p.Text, err)}
	}
	return v, nil
}

func outOfBudget(detail string) error {
	return &apicel.Error{Type: apicel.ErrorTypeInvalid, Detail: detail, Cause: apicel.ErrOutOfBudget}
}

// OutOfBudget tells whether an evaluation failed because its budget was spent.
func OutOfBudget(err error) bool { return errors.Is(err, apicel.ErrOutOfBudget) }
