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

// maxMessage bounds what a messageExpression comes to.
const maxMessage = 5 << 10

// validating is a compiled ValidatingAdmissionPolicy.
type validating struct {
	head
	validations []validation
	audits      []audit
}

// validation is an expression that must be true, and what is said when it is not.
type validation struct {
	rule, message *expression.Program // message may be nil
	otherwise     string              // when the message says nothing
	reason        metav1.StatusReason
}

// audit is an expression whose result is noted for the audit event.
type audit struct {
	key   string
	value *expression.Program
}

func compileValidating(m *match.Metrics) func(*admissionv1.ValidatingAdmissionPolicy) *validating {
	return timed(m, func(p *admissionv1.ValidatingAdmissionPolicy) *validating {
		s := &p.Spec
		v := &validating{head: (&source{p.Name, s.MatchConstraints, s.ParamKind, s.FailurePolicy, s.Variables, s.MatchConditions}).compile(m)}
		for i := range s.Validations {
			v.validations = append(v.validations, v.validation(&s.Validations[i]))
		}
		for _, a := range s.AuditAnnotations {
			v.audits = append(v.audits, audit{a.Key, v.compiler.Compile(a.ValueExpression, expression.StringOrNull())})
		}
		return v
	})
}

func (v *validating) validation(from *admissionv1.Validation) validation {
	out := validation{rule: v.compiler.Compile(from.Expression, expression.Bool()), reason: metav1.StatusReasonInvalid}
	if from.Reason != nil {
		out.reason = *from.Reason
	}
	if from.MessageExpression != "" {
		out.message = v.compiler.CompileMessage(from.MessageExpression, expression.String())
	}
	if out.otherwise = strings.TrimSpace(from.Message); out.otherwise == "" {
		out.otherwise = "failed expression: " + strings.TrimSpace(from.Expression)
	}
	return out
}

func bindingOfValidating(b *admissionv1.ValidatingAdmissionPolicyBinding) *binding {
	return newBinding(b.Name, b.Spec.PolicyName, b.Spec.MatchResources, b.Spec.ParamRef, b.Spec.ValidationActions)
}

// decision is what one validation comes to. Err is set when it could not be told;
// it denies then unless errors are ignored.
type decision struct {
	index   int
	deny    bool
	err     error
	message string
	reason  metav1.StatusReason
	took    time.Duration
}

// note is what an audit annotation comes to: a value, which may be empty, or an
// error.
type note struct {
	key, value string
	err        error
	took       time.Duration
}

// failed is the only decision when not one of the validations could be made.
func (v *validating) failed(err error) []decision {
	return []decision{{deny: !v.ignore, err: err, message: err.Error()}}
}

// evaluate makes decisions about a request, of which only those are returned that
// are not simply yes.
func (v *validating) evaluate(ctx context.Context, in *match.Input) ([]decision, []note) {
	if ok, _, err := v.conditions.Match(ctx, in); err != nil || !ok {
		if err != nil {
			return v.failed(err), nil
		}
		return nil, nil
	}
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
	if denied {
		v.say(ctx, in, decisions, frame.Left())
	}
	notes, err := v.annotate(ctx, in)
	if err != nil {
		return v.failed(err), nil
	}
	return decisions, notes
}

// say gives decisions that deny their messages, within what is left of the budget.
func (v *validating) say(ctx context.Context, in *match.Input, decisions []decision, left int64) {
	mute := *in
	mute.Ask = nil
	frame := v.compiler.Frame(ctx, &mute, left)
	for i := range decisions {
		d := &decisions[i]
		if d.err != nil {
			continue
		}
		val := &v.validations[d.index]
		d.message = val.otherwise
		if val.message == nil {
			continue
		}
		result, err := frame.Evaluate(val.message)
		if expression.OutOfBudget(err) {
			v.speechless(decisions, err)
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

// speechless turns decisions whose messages cannot be told into errors.
func (v *validating) speechless(decisions []decision, err error) {
	for i := range decisions {
		if d := &decisions[i]; d.err == nil {
			*d = decision{index: d.index, deny: !v.ignore, err: err, message: fmt.Sprintf("failed messageExpression: %s", err), took: d.took}
		}
	}
}

// annotate evaluates the audit annotations.
func (v *validating) annotate(ctx context.Context, in *match.Input) ([]note, error) {
	if len(v.audits) == 0 {
		return nil, nil
	}
	mute := *in
	mute.Ask = nil
	frame := v.compiler.Frame(ctx, &mute, expression.Budget)
	notes := make([]note, len(v.audits))
	for i, a := range v.audits {
		begin := time.Now()
		result, err := frame.Evaluate(a.value)
		if expression.OutOfBudget(err) {
			return nil, err
		}
		n := note{key: a.key, err: err, took: time.Since(begin)}
		if text, ok := resultText(result); ok {
			n.value = strings.TrimSpace(text)
		}
		notes[i] = n
	}
	return notes, nil
}

// resultText is a result that is a string; what is nil or null is none.
func resultText(result any) (string, bool) {
	s, ok := result.(types.String)
	return string(s), ok
}
