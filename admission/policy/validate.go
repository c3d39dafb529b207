package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/admission/match"
	"github.com/miniapiserver/miniapiserver/registry"
)

// failureAnnotation and maxAnnotation are of what is noted for audit events.
const (
	failureAnnotation = "validation.policy.admission.k8s.io/validation_failure"
	maxAnnotation     = 10 << 10
)

// validator is the plugin ValidatingAdmissionPolicy.
type validator struct {
	*shared
	hooks hooks[*validating]
}

// validate asks all policies that are about a write. What the first that denies
// says is the answer.
func (v *validator) validate(ctx context.Context, a *registry.Attributes) error {
	if exempt(a) {
		return nil
	}
	list, err := v.hooks.now(ctx)
	if err != nil || len(list) == 0 {
		return err
	}
	r := v.request(a)
	one := asking{validator: v, r: r, ask: match.NewAsker(v.ask)}
	for i := range list {
		if err := one.policy(ctx, &list[i]); err != nil {
			return err
		}
	}
	return one.answer()
}

// asking asks policies about one request.
type asking struct {
	*validator
	r      *match.Request
	ask    *match.Asker
	denied []denial
	noted  bool // a failure, for the audit event
}

// denial is why a request is refused.
type denial struct {
	policy, binding string // binding may be empty
	message         string
	reason          metav1.StatusReason
}

// misconfigured is for a policy or a binding that cannot be evaluated.
func (q *asking) misconfigured(p *validating, b *binding, err error) {
	switch {
	case p.ignore:
	case b == nil:
		q.denied = append(q.denied, denial{p.name, "", "failed to configure policy: " + err.Error(), ""})
	default:
		q.denied = append(q.denied, denial{p.name, b.name, "failed to configure binding: " + err.Error(), ""})
	}
}

// policy asks one policy, by each of its bindings.
func (q *asking) policy(ctx context.Context, h *hook[*validating]) error {
	p := h.policy
	form, ok, err := p.criteria.Match(ctx, q.r)
	if err == nil && ok {
		err = q.params.known(&p.head)
	}
	if err != nil {
		q.misconfigured(p, nil, err)
		return nil
	}
	if !ok {
		return nil
	}
	var notes notes
	for _, b := range h.bindings {
		if err := q.bound(ctx, p, b, form, &notes); err != nil {
			return err
		}
	}
	notes.publish(p.name, q.r)
	return nil
}

// bound asks a policy by one binding, with each of its parameters.
func (q *asking) bound(ctx context.Context, p *validating, b *binding, form match.Form, ns *notes) error {
	ok, err := b.applies(ctx, q.r)
	if err == nil && !ok {
		return nil
	}
	var list []param
	if err == nil {
		list, err = q.params.of(ctx, &p.head, b, q.r.In)
	}
	if err != nil {
		q.misconfigured(p, b, err)
		return nil
	}
	namespace, err := q.r.Namespace(ctx)
	if err != nil {
		return err
	}
	for i := range list {
		decisions, annotations := p.evaluate(ctx, &match.Input{Request: q.r, Form: form, Params: list[i].value, Namespace: namespace, Ask: q.ask})
		for n := range decisions {
			q.enforce(p, b, &decisions[n])
		}
		for n := range annotations {
			q.note(p, b, &annotations[n], ns)
		}
	}
	return nil
}

// enforce does what a binding says is to come of a decision.
func (q *asking) enforce(p *validating, b *binding, d *decision) {
	if !d.deny {
		q.metrics.validated(d.took, p.name, b.name, errorKind(d.message), "allow")
		return
	}
	for _, action := range b.actions {
		switch action {
		case admissionv1.Deny:
			q.denied = append(q.denied, denial{p.name, b.name, d.message, d.reason})
			q.metrics.validated(d.took, p.name, b.name, errorKind(d.message), "deny")
		case admissionv1.Audit:
			if !q.noted { // the first stays
				q.r.Annotate(failureAnnotation, failure(p, b, d))
				q.noted = true
			}
			q.metrics.validated(d.took, p.name, b.name, errorKind(d.message), "audit")
		case admissionv1.Warn:
			q.r.Warn(fmt.Sprintf("Validation failed for ValidatingAdmissionPolicy '%s' with binding '%s': %s", p.name, b.name, d.message))
			q.metrics.validated(d.took, p.name, b.name, errorKind(d.message), "warn")
		}
	}
}

// failure describes a decision for the audit event.
func failure(p *validating, b *binding, d *decision) string {
	text, _ := json.Marshal([]struct {
		Message           string                         `json:"message"`
		Policy            string                         `json:"policy"`
		Binding           string                         `json:"binding"`
		ExpressionIndex   int                            `json:"expressionIndex"`
		ValidationActions []admissionv1.ValidationAction `json:"validationActions"`
	}{{d.message, p.name, b.name, d.index, b.actions}})
	return string(text)
}

// note takes an audit annotation. One that cannot be made denies, unless errors
// are ignored.
func (q *asking) note(p *validating, b *binding, n *note, ns *notes) {
	switch {
	case n.err == nil:
		if n.value != "" {
			ns.add(n.key, n.value)
		}
	case !p.ignore:
		q.denied = append(q.denied, denial{p.name, b.name, n.err.Error(), ""})
		q.metrics.validated(n.took, p.name, b.name, errorKind(n.err.Error()), "deny")
	}
}

// notes are the annotations that bindings of one policy make, by their keys.
type notes map[string][]string

func (ns *notes) add(key, value string) {
	if *ns == nil {
		*ns = notes{}
	}
	value = value[:min(len(value), maxAnnotation)]
	if !slices.Contains((*ns)[key], value) {
		(*ns)[key] = append((*ns)[key], value)
	}
}

func (ns notes) publish(policy string, r *match.Request) {
	for key, values := range ns {
		r.Annotate(policy+"/"+key, strings.Join(values, ", "))
	}
}

// answer is nil when nobody denied.
func (q *asking) answer() error {
	if len(q.denied) == 0 {
		return nil
	}
	d := q.denied[0]
	with := ""
	if d.binding != "" {
		with = " with binding '" + d.binding + "'"
	}
	message := fmt.Sprintf("ValidatingAdmissionPolicy '%s'%s denied request: %s", d.policy, with, d.message)
	err := admission.Forbidden(q.r.Attributes, errors.New(message))
	if d.reason == "" {
		d.reason = metav1.StatusReasonInvalid
	}
	err.ErrStatus.Reason, err.ErrStatus.Code = d.reason, codeOf(d.reason)
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Message: message})
	return err
}

func codeOf(reason metav1.StatusReason) int32 {
	switch reason {
	case metav1.StatusReasonForbidden:
		return http.StatusForbidden
	case metav1.StatusReasonUnauthorized:
		return http.StatusUnauthorized
	case metav1.StatusReasonRequestEntityTooLarge:
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusUnprocessableEntity
}
