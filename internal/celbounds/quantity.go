// Package celbounds limits the cost of CEL functions whose own implementation does not.
package celbounds

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apimachinery/pkg/api/resource"
	apicel "k8s.io/apiserver/pkg/cel"

	"github.com/miniapiserver/miniapiserver/internal/bounds"
)

// Quantities returns the option by which programs refuse quantities that take too long to
// parse. Neither a cost limit nor a context interrupts the parser.
func Quantities() cel.ProgramOption {
	return cel.CustomDecoratorV2(func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		call, ok := i.(interpreter.InterpretableCall)
		if ok && len(call.Args()) == 1 && (call.Function() == "quantity" || call.Function() == "isQuantity") {
			return quantityCall{call}, nil
		}
		return i, nil
	})
}

// quantityCall is a call of quantity or isQuantity.
type quantityCall struct{ interpreter.InterpretableCall }

// Eval implements interpreter.Interpretable. A program calls Exec.
func (c quantityCall) Eval(activation interpreter.Activation) ref.Val {
	return c.parse(c.Args()[0].Eval(activation), func() ref.Val { return c.InterpretableCall.Eval(activation) })
}

// Exec implements interpreter.InterpretableV2.
func (c quantityCall) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	return c.parse(c.Args()[0].Exec(frame), func() ref.Val { return c.InterpretableCall.Exec(frame) })
}

// parse parses the argument. The function wrongType returns the error of an argument that is no string.
func (c quantityCall) parse(arg ref.Val, wrongType func() ref.Val) ref.Val {
	if types.IsUnknownOrError(arg) {
		return arg
	}
	text, ok := arg.(types.String)
	if !ok {
		return wrongType()
	}
	var q resource.Quantity
	err := bounds.Quantity(string(text))
	if err == nil {
		q, err = resource.ParseQuantity(string(text))
	}
	switch {
	case c.Function() == "isQuantity":
		return types.Bool(err == nil)
	case err != nil:
		return types.WrapErr(err)
	}
	return apicel.Quantity{Quantity: &q}
}
