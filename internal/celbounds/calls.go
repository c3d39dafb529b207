package celbounds

import (
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// Options returns the options with which every program of an environment is made: Quantities, and the limits of
// a Meter.
func Options(env *cel.Env) []cel.ProgramOption {
	p := &planner{env: env, bindings: map[string][]*functions.Overload{}}
	return []cel.ProgramOption{Quantities(), cel.CustomDecoratorV2(p.decorate)}
}

// check counts what a call with certain arguments is about to cost.
type check func(m *Meter, function string, args []ref.Val)

// checks returns the check of a function, and false for functions whose result is small, and whose cost follows
// from the length of their arguments.
func checks(function string) (check, bool) {
	switch function {
	case operators.Add:
		return checkAdd, true
	case operators.Equals, operators.NotEquals, operators.In, operators.OldIn, "in", "indexOf", "lastIndexOf",
		"sort", "@sortByAssociatedKeys", "min", "max", "sum", "isSorted":
		return checkValues, true
	case "sets.contains", "sets.equivalent", "sets.intersects", "includes":
		return checkPairs, true
	case "distinct":
		return func(m *Meter, f string, args []ref.Val) { checkPairs(m, f, []ref.Val{args[0], args[0]}) }, true
	case "flatten", "slice", "reverse":
		return checkElements, true
	case "lists.range":
		return checkRange, true
	case "format":
		return checkFormat, true
	case "join":
		return checkJoin, true
	case "replace":
		return checkReplace, true
	case "split", "findAll":
		return checkSplit, true
	case "string", "bytes", "lowerAscii", "upperAscii", "trim", "substring", "strings.quote", "jsonpatch.escapeKey",
		"find", "base64.encode", "base64.decode":
		return func(*Meter, string, []ref.Val) {}, true // only the result counts, which is about as long
	}
	return nil, false
}

// planner replaces the calls of one program.
type planner struct {
	env      *cel.Env
	bindings map[string][]*functions.Overload
}

func (p *planner) decorate(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	call, ok := i.(interpreter.InterpretableCall)
	if !ok {
		return i, nil
	}
	check, ok := checks(call.Function())
	if !ok {
		return i, nil
	}
	run := p.implementation(call)
	if run == nil {
		return i, nil
	}
	return &boundedCall{InterpretableCall: call, args: call.Args(), check: check, run: run}, nil
}

// implementation returns the function that a call calls; nil if the environment does not have it.
func (p *planner) implementation(call interpreter.InterpretableCall) func(args []ref.Val) ref.Val {
	name := call.Function()
	switch name {
	case operators.Equals:
		return func(args []ref.Val) ref.Val { return types.Equal(args[0], args[1]) }
	case operators.NotEquals:
		return func(args []ref.Val) ref.Val { return types.Bool(types.Equal(args[0], args[1]) != types.True) }
	}
	all, ok := p.bindings[name]
	if !ok {
		if declared := p.env.Functions()[name]; declared != nil {
			all, _ = declared.Bindings() // an error is that of all programs of the environment
		}
		p.bindings[name] = all
	}
	var found *functions.Overload
	for _, o := range all {
		if o.Operator == call.OverloadID() || o.Operator == name && found == nil {
			found = o
		}
	}
	if found == nil || found.NonStrict {
		return nil
	}
	return func(args []ref.Val) ref.Val { return invoke(found, call, args) }
}

// invoke calls a function as the interpreter does.
func invoke(o *functions.Overload, call interpreter.InterpretableCall, args []ref.Val) ref.Val {
	isReceiver := args[0].Type().HasTrait(traits.ReceiverType)
	if o.OperandTrait == 0 || args[0].Type().HasTrait(o.OperandTrait) {
		switch {
		case len(args) == 1 && o.Unary != nil:
			return o.Unary(args[0])
		case len(args) == 2 && o.Binary != nil:
			return o.Binary(args[0], args[1])
		case o.Function != nil:
			return o.Function(args...)
		}
	}
	if isReceiver {
		return args[0].(traits.Receiver).Receive(call.Function(), call.OverloadID(), args[1:])
	}
	return types.NewErrWithNodeID(call.ID(), "no such overload: %s", call.Function())
}

// boundedCall is a call that is checked when its arguments are known.
type boundedCall struct {
	interpreter.InterpretableCall
	args  []interpreter.InterpretableV2
	check check
	run   func(args []ref.Val) ref.Val
}

// Eval implements interpreter.Interpretable. A program calls Exec.
func (c *boundedCall) Eval(activation interpreter.Activation) ref.Val {
	return c.Exec(interpreter.AsFrame(activation))
}

// Exec implements interpreter.InterpretableV2.
func (c *boundedCall) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	var few [3]ref.Val
	args := few[:0]
	for _, a := range c.args {
		args = append(args, a.Exec(frame))
	}
	scalars := true
	for _, v := range args {
		if types.IsUnknownOrError(v) {
			return v
		}
		scalars = scalars && !composite(v) && textLength(v) == 0
	}
	if scalars && c.Function() != "lists.range" {
		return types.LabelErrNode(c.ID(), c.run(args))
	}
	m := meterOf(frame)
	c.check(m, c.Function(), args)
	out := c.run(args)
	m.grow(c.Function(), textLength(out))
	return types.LabelErrNode(c.ID(), out)
}

// elementSize is the memory of a string or a value in a list.
const elementSize = 16

func lengthOf(v ref.Val) int64 {
	if s, ok := v.(traits.Sizer); ok {
		if n, ok := s.Size().(types.Int); ok {
			return int64(n)
		}
	}
	return 0
}

// checkAdd: the sum of texts is a copy of both, and that of lists refers to both.
func checkAdd(m *Meter, function string, args []ref.Val) {
	if _, ok := args[0].(traits.Lister); ok {
		m.grow(function, elementSize*(lengthOf(args[0])+lengthOf(args[1]))/2)
		return
	}
	if n := textLength(args[0]) + textLength(args[1]); n > maxCallBytes {
		m.grow(function, n)
	}
}

// checkValues: all values in the arguments may be compared.
func checkValues(m *Meter, _ string, args []ref.Val) {
	for _, v := range args {
		m.measure(v)
	}
}

// checkPairs: each value of one list may be compared with each of the other.
func checkPairs(m *Meter, _ string, args []ref.Val) {
	first, _ := m.measure(args[0])
	second, _ := m.measure(args[1])
	const perStep = 4 // most pairs are scalars, or differ at once
	if composite(args[0]) && composite(args[1]) {
		m.work(first * second / perStep)
	}
}

// checkElements: the result may have an element for each value in the list.
func checkElements(m *Meter, function string, args []ref.Val) {
	values, _ := m.measure(args[0])
	m.grow(function, elementSize*values)
}

func checkRange(m *Meter, function string, args []ref.Val) {
	if n, ok := args[0].(types.Int); ok && n > 0 {
		if n > maxCallBytes/elementSize {
			stop("the result of " + function + " is too long")
		}
		m.grow(function, elementSize*int64(n))
	}
}

// checkFormat: each argument is written once, numbers with at most the precision of the format, and bytes in
// hexadecimal.
func checkFormat(m *Meter, function string, args []ref.Val) {
	format, ok := args[0].(types.String)
	if !ok || len(args) < 2 {
		return
	}
	n := int64(len(format))
	const number = 64
	values, bytes := m.measure(args[1])
	n += number*values + 2*bytes
	for rest := string(format); ; {
		_, after, found := strings.Cut(rest, "%.")
		if !found {
			break
		}
		digits := len(after) - len(strings.TrimLeft(after, "0123456789"))
		if precision, err := strconv.ParseInt(after[:digits], 10, 64); digits > 0 {
			if err != nil || precision > maxCallBytes {
				precision = maxCallBytes + 1
			}
			n += precision
		}
		rest = after
	}
	if n > maxCallBytes {
		m.grow(function, n)
	}
}

func checkJoin(m *Meter, function string, args []ref.Val) {
	values, bytes := m.measure(args[0])
	if len(args) > 1 {
		if separator := textLength(args[1]); separator > 0 && values > maxCallBytes/separator {
			stop("the result of " + function + " is too long")
		} else {
			bytes += values * separator
		}
	}
	if bytes > maxCallBytes {
		m.grow(function, bytes)
	}
}

func checkReplace(m *Meter, function string, args []ref.Val) {
	if len(args) < 3 {
		return
	}
	text, ok := args[0].(types.String)
	old, isText := args[1].(types.String)
	with, isText2 := args[2].(types.String)
	if !ok || !isText || !isText2 {
		return
	}
	n := int64(strings.Count(string(text), string(old)))
	if len(args) > 3 {
		if most, ok := args[3].(types.Int); ok && most >= 0 {
			n = min(n, int64(most))
		}
	}
	if added := int64(len(with)) - int64(len(old)); added > 0 && n > 0 {
		if n > maxCallBytes/added {
			stop("the result of " + function + " is too long")
		}
		if n *= added; n+int64(len(text)) > maxCallBytes {
			m.grow(function, n+int64(len(text)))
		}
	}
}

// checkSplit: the result refers to the text.
func checkSplit(m *Meter, function string, args []ref.Val) {
	n := textLength(args[0]) + 1
	if text, ok := args[0].(types.String); ok && function == "split" && len(args) > 1 {
		if separator, ok := args[1].(types.String); ok {
			n = int64(strings.Count(string(text), string(separator))) + 1
		}
	}
	if most, ok := args[len(args)-1].(types.Int); ok && most >= 0 {
		n = min(n, int64(most))
	}
	m.grow(function, elementSize*n)
}
