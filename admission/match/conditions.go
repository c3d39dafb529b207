package match

import (
	"context"
	"time"

	"github.com/google/cel-go/common/types"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/miniapiserver/miniapiserver/api/expression"
)

// Owner is the policy or webhook with match conditions, as metrics name it.
type Owner struct {
	Name string // name of the policy or webhook
	Kind string // "policy" or "webhook"
	Type string // "admit" or "validate"
}

// Conditions are compiled match conditions, safe for concurrent use. Nil Conditions match every
// request.
type Conditions struct {
	owner    Owner
	compiler *expression.Compiler
	programs []*expression.Program
	names    []string
	ignore   bool
	metrics  *Metrics
}

// NewConditions compiles match conditions with the variables of the compiler. If the failure policy
// is Ignore, a condition that fails does not match.
func NewConditions(owner Owner, c *expression.Compiler, list []admissionv1.MatchCondition,
	failure *admissionv1.FailurePolicyType, m *Metrics) *Conditions {
	if len(list) == 0 {
		return nil
	}
	cs := &Conditions{owner: owner, compiler: c, ignore: failure != nil && *failure == admissionv1.Ignore, metrics: m}
	for _, condition := range list {
		cs.programs = append(cs.programs, c.Compile(condition.Expression, expression.Bool()))
		cs.names = append(cs.names, condition.Name)
	}
	return cs
}

// Match reports whether all conditions are true. A false condition takes precedence over errors of
// others; its name is returned.
func (cs *Conditions) Match(ctx context.Context, in *Input) (ok bool, falseCondition string, err error) {
	if cs == nil {
		return true, "", nil
	}
	begin := time.Now()
	defer func() { cs.metrics.conditions(cs.owner, in.Request.Operation(), time.Since(begin)) }()
	seen := *in
	// The variable request has the resource of the request, whichever version a rule matched;
	// namespaceObject is not available to match conditions.
	seen.Form.Resource, seen.Namespace = in.Request.Asked().Resource, nil
	frame := cs.compiler.Frame(ctx, &seen, expression.MatchConditionsBudget)
	var errs []error
	for i, p := range cs.programs {
		v, err := frame.Evaluate(p)
		switch {
		case expression.OutOfBudget(err):
			return false, "", cs.failure(err)
		case err != nil:
			cs.metrics.conditionError(cs.owner, in.Request.Operation())
			errs = append(errs, err)
		case v == types.False:
			return false, cs.names[i], nil
		}
	}
	if len(errs) > 0 {
		return false, "", cs.failure(utilerrors.NewAggregate(errs))
	}
	return true, "", nil
}

func (cs *Conditions) failure(err error) error {
	if cs.ignore {
		return nil
	}
	return err
}
