package celbounds

import (
	"context"
	"fmt"

	"github.com/google/cel-go/interpreter"
)

// MeterName is the name by which an activation returns the Meter of its evaluations. It is no identifier,
// so that no expression can refer to it.
const MeterName = "@meter"

// Limits of the expressions that share a Meter, and of one call in them.
const (
	maxBytes     = 32 << 20
	maxCallBytes = 8 << 20
	maxSteps     = 32_000_000
	maxCallSteps = 4_000_000
	// maxDepth is the maximum nesting of a value.
	maxDepth = 10_000
)

// Meter limits the memory and the time of the expressions that are evaluated for one purpose. The cost limits
// of CEL do not: the cost of a call is counted when it has returned, by the size of its arguments, and a list
// that has the list before it twice is small, however often it has others.
type Meter struct {
	ctx          context.Context
	bytes, steps int64
	// unchecked is the number of steps since ctx was checked.
	unchecked int64
}

// NewMeter returns a Meter. Calls end when ctx is done.
func NewMeter(ctx context.Context) *Meter { return &Meter{ctx: ctx} }

// meterOf returns the Meter of an evaluation, or a new one for a single call.
func meterOf(frame *interpreter.ExecutionFrame) *Meter {
	if v, ok := frame.ResolveName(MeterName); ok {
		if m, ok := v.(*Meter); ok {
			return m
		}
	}
	return NewMeter(context.Background())
}

// grow counts memory that a call is about to allocate, or ends the evaluation.
func (m *Meter) grow(function string, n int64) {
	if n > maxCallBytes {
		stop(fmt.Sprintf("the result of %s is larger than %d bytes", function, maxCallBytes))
	}
	if m.bytes += n; m.bytes > maxBytes {
		stop(fmt.Sprintf("the results of all calls are larger than %d bytes", maxBytes))
	}
}

// work counts steps that a call is about to take, or ends the evaluation.
func (m *Meter) work(n int64) {
	if m.steps += n; n > maxCallSteps || m.steps > maxSteps {
		stop("too many values to compare")
	}
	const often = 100_000
	if m.unchecked += n; m.unchecked > often {
		m.unchecked = 0
		if m.ctx.Err() != nil {
			panic(interpreter.EvalCancelledError{Cause: interpreter.ContextCancelled, Message: "operation interrupted"})
		}
	}
}

// stop ends an evaluation as an exceeded cost limit does.
func stop(reason string) {
	panic(interpreter.EvalCancelledError{Cause: interpreter.CostLimitExceeded,
		Message: "operation cancelled: actual cost limit exceeded: " + reason})
}
