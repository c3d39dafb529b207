package policy

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/cel-go/common/types"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/admission/match"
	"github.com/miniapiserver/miniapiserver/api/expression"
)

// maxMessage is the maximum size in bytes of the result of a messageExpression.
const maxMessage = 5 << 10

// validatingPolicy is a compiled ValidatingAdmissionPolicy.
type validatingPolicy struct {
	compiledPolicy
	validations []validation
	audits      []audit
}

// validation is an expression that must be true, and the message if it is not.
type validation struct {
	rule, message *expression.Program // message may be nil
	fallback      string              // message if the expression returns none
	reason        metav1.StatusReason
}

// audit is an expression whose result annotates the audit event.
type audit struct {
	key   string
	value *expression.Program
}

func compileValidating(m *match.Metrics) func(*admissionv1.ValidatingAdmissionPolicy) *validatingPolicy {
	return timed(m, func(p *admissionv1.ValidatingAdmissionPolicy) *validatingPolicy {
		s := &p.Spec
		v := &validatingPolicy{compiledPolicy: (&policySpec{p.Name, s.MatchConstraints, s.ParamKind, s.FailurePolicy,
			s.Variables, s.MatchConditions}).compile(m)}
		for i := range s.Validations {
			v.validations = append(v.validations, v.validation(&s.Validations[i]))
		}
		for _, a := range s.AuditAnnotations {
			v.audits = append(v.audits, audit{a.Key, v.compiler.Compile(a.ValueExpression, expression.StringOrNull())})
		}
		return v
	})
}

func (v *validatingPolicy) validation(from *admissionv1.Validation) validation {
	out := validation{rule: v.compiler.Compile(from.Expression, expression.Bool()), reason: metav1.StatusReasonInvalid}
	if from.Reason != nil {
		out.reason = *from.Reason
	}
	if from.MessageExpression != "" {
		out.message = v.compiler.CompileMessage(from.MessageExpression, expression.String())
	}
	if out.fallback = strings.TrimSpace(from.Message); out.fallback == "" {
		out.fallback = "failed expression: " + strings.TrimSpace(from.Expression)
	}
	return out
}

func bindingOfValidating(b *admissionv1.ValidatingAdmissionPolicyBinding) *binding {
	return newBinding(b.Name, b.Spec.PolicyName, b.Spec.MatchResources, b.Spec.ParamRef, b.Spec.ValidationActions)
}

// decision is the result of a validation that is not true. If err is set, the evaluation failed;
// the decision then denies unless errors are ignored.
type decision struct {
	index   int
	deny    bool
	err     error
	message string
	reason  metav1.StatusReason
	took    time.Duration
	// expression and variables explain a denial to the account of the request.
	expression string
	variables  map[string]string
}

// annotation is the result of an audit expression: a value, which may be empty, or an error.
type annotation struct {
	key, value string
	err        error
	took       time.Duration
}

// failed returns the single decision for an error that prevents all validations.
func (v *validatingPolicy) failed(err error) []decision {
	return []decision{{deny: !v.ignore, err: err, message: err.Error()}}
}

// evaluate returns the decisions on a request, except for validations that are true.
func (v *validatingPolicy) evaluate(ctx context.Context, in *match.Input) ([]decision, []annotation) {
	if ok, _, err := v.conditions.Match(ctx, in); err != nil || !ok {
		if err != nil {
			return v.failed(err), nil
		}
		return nil, nil
	}
	defer func(begin time.Time) { v.metrics.Evaluated(time.Since(begin)) }(time.Now())
	frame := v.compiler.Frame(ctx, in, expression.Budget)
	var decisions []decision
	denied := false
	for i := range v.validations {
		begin := time.Now()
		result, err := frame.Evaluate(v.validations[i].rule)
		switch {
		case expression.OutOfBudget(err):
			return v.failed(err), nil
		case err != nil:
			decisions = append(decisions, decision{index: i, deny: !v.ignore, err: err, message: err.Error(), took: time.Since(begin)})
		case result != types.True:
			denied = true
			decisions = append(decisions, decision{index: i, deny: true, reason: v.validations[i].reason, took: time.Since(begin)})
		}
	}
	left := frame.RemainingBudget()
	if len(decisions) > 0 && in.Request.Scope.Account != nil {
		v.explain(decisions, frame)
	}
	if denied {
		v.addMessages(ctx, in, decisions, left)
	}
	notes, err := v.annotate(ctx, in)
	if err != nil {
		return v.failed(err), nil
	}
	return decisions, notes
}

// explain sets the expressions and variables of decisions.
func (v *validatingPolicy) explain(decisions []decision, frame *expression.Frame) {
	values := frame.Values()
	for i := range decisions {
		decisions[i].expression, decisions[i].variables = v.validations[decisions[i].index].rule.Text, values
	}
}

// addMessages sets the messages of denying decisions, within the remaining cost budget.
func (v *validatingPolicy) addMessages(ctx context.Context, in *match.Input, decisions []decision, left int64) {
	withoutAuthorizer := *in
	withoutAuthorizer.Authorizer = nil
	frame := v.compiler.Frame(ctx, &withoutAuthorizer, left)
	for i := range decisions {
		d := &decisions[i]
		if d.err != nil {
			continue
		}
		val := &v.validations[d.index]
		d.message = val.fallback
		if val.message == nil {
			continue
		}
		result, err := frame.Evaluate(val.message)
		if expression.OutOfBudget(err) {
			v.failMessages(decisions, err)
			return
		}
		if err != nil {
			continue
		}
		text, _ := result.Value().(string)
		if text = strings.TrimSpace(text); text != "" && len(text) <= maxMessage && !strings.Contains(text, "\n") {
			d.message = text
		}
	}
}

// failMessages replaces decisions by the error of evaluating their messages.
func (v *validatingPolicy) failMessages(decisions []decision, err error) {
	for i := range decisions {
		if d := &decisions[i]; d.err == nil {
			*d = decision{index: d.index, deny: !v.ignore, err: err, message: fmt.Sprintf("failed messageExpression: %s", err), took: d.took,
				expression: d.expression, variables: d.variables}
		}
	}
}

// annotate evaluates the audit annotations.
func (v *validatingPolicy) annotate(ctx context.Context, in *match.Input) ([]annotation, error) {
	if len(v.audits) == 0 {
		return nil, nil
	}
	withoutAuthorizer := *in
	withoutAuthorizer.Authorizer = nil
	frame := v.compiler.Frame(ctx, &withoutAuthorizer, expression.Budget)
	notes := make([]annotation, len(v.audits))
	for i, a := range v.audits {
		begin := time.Now()
		result, err := frame.Evaluate(a.value)
		if expression.OutOfBudget(err) {
			return nil, err
		}
		n := annotation{key: a.key, err: err, took: time.Since(begin)}
		if text, ok := resultText(result); ok {
			n.value = strings.TrimSpace(text)
		}
		notes[i] = n
	}
	return notes, nil
}

// resultText returns a string result; ok is false for null.
func resultText(result any) (string, bool) {
	s, ok := result.(types.String)
	return string(s), ok
}
