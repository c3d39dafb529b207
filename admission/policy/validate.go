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

// failureAnnotation is the audit annotation of a failed validation. maxAnnotation is the maximum
// size of an audit annotation's value in bytes.
const (
	failureAnnotation = "validation.policy.admission.k8s.io/validation_failure"
	maxAnnotation     = 10 << 10
)

// validator implements the plugin ValidatingAdmissionPolicy.
type validator struct {
	*shared
	hooks hookIndex[*validatingPolicy]
}

// validate evaluates all policies that apply to a write and returns the first rejection.
func (v *validator) validate(ctx context.Context, a *registry.Attributes) error {
	list, err := v.hooks.applicable(ctx, a)
	if err != nil || len(list) == 0 {
		return err
	}
	r := v.request(a)
	run := validationRun{validator: v, r: r, ask: match.NewRequestAuthorizer(v.ask)}
	for i := range list {
		if err := run.policy(ctx, &list[i]); err != nil {
			return err
		}
	}
	return run.result()
}

// validationRun evaluates policies for one request.
type validationRun struct {
	*validator
	r      *match.Request
	ask    *match.RequestAuthorizer
	denied []rejection
	noted  bool // the audit event has a failure annotation
}

// policy evaluates one policy for each of its bindings.
func (q *validationRun) policy(ctx context.Context, h *hook[*validatingPolicy]) error {
	p := h.policy
	form, ok, err := q.selects(ctx, &p.compiledPolicy, q.r)
	if err != nil {
		q.denied = addMisconfigured(q.denied, &p.compiledPolicy, nil, err)
		return nil
	}
	if !ok {
		return nil
	}
	var annotations auditAnnotations
	for _, b := range h.bindings {
		if err := q.binding(ctx, p, b, form, &annotations); err != nil {
			return err
		}
	}
	annotations.publish(p.name, q.r)
	return nil
}

// binding evaluates a policy for one binding, with each of its parameters.
func (q *validationRun) binding(ctx context.Context, p *validatingPolicy, b *binding, form match.Form, ns *auditAnnotations) error {
	list, err := q.paramsOf(ctx, &p.compiledPolicy, b, q.r)
	if err != nil {
		q.denied = addMisconfigured(q.denied, &p.compiledPolicy, b, err)
	}
	if err != nil || len(list) == 0 {
		return nil
	}
	namespace, err := q.r.Namespace(ctx)
	if err != nil {
		return err
	}
	for i := range list {
		if err := ctx.Err(); err != nil { // expressions fail then, which a policy may ignore
			return err
		}
		decisions, annotations := p.evaluate(ctx,
			&match.Input{Request: q.r, Form: form, Params: list[i].value, Namespace: namespace, Authorizer: q.ask})
		for n := range decisions {
			q.enforce(p, b, &decisions[n])
		}
		for n := range annotations {
			q.annotate(p, b, &annotations[n], ns)
		}
	}
	return nil
}

// enforce applies the actions of a binding to a decision.
func (q *validationRun) enforce(p *validatingPolicy, b *binding, d *decision) {
	if !d.deny {
		q.metrics.validated(d.took, p.name, b.name, errorKind(d.message), "allow")
		return
	}
	for _, action := range b.actions {
		switch action {
		case admissionv1.Deny:
			q.denied = append(q.denied, rejection{p.name, b.name, d.message, d.reason, d})
			q.metrics.validated(d.took, p.name, b.name, errorKind(d.message), "deny")
		case admissionv1.Audit:
			if !q.noted { // only the first failure is annotated
				q.r.Annotate(failureAnnotation, failureText(p, b, d))
				q.noted = true
			}
			q.metrics.validated(d.took, p.name, b.name, errorKind(d.message), "audit")
		case admissionv1.Warn:
			q.r.Warn(fmt.Sprintf("Validation failed for ValidatingAdmissionPolicy '%s' with binding '%s': %s", p.name, b.name, d.message))
			q.metrics.validated(d.took, p.name, b.name, errorKind(d.message), "warn")
		}
	}
}

// failureText describes a decision for the audit event.
func failureText(p *validatingPolicy, b *binding, d *decision) string {
	text, _ := json.Marshal([]struct {
		Message           string                         `json:"message"`
		Policy            string                         `json:"policy"`
		Binding           string                         `json:"binding"`
		ExpressionIndex   int                            `json:"expressionIndex"`
		ValidationActions []admissionv1.ValidationAction `json:"validationActions"`
	}{{d.message, p.name, b.name, d.index, b.actions}})
	return string(text)
}

// annotate adds an audit annotation. One whose evaluation failed rejects the request unless the
// policy ignores errors.
func (q *validationRun) annotate(p *validatingPolicy, b *binding, n *annotation, ns *auditAnnotations) {
	switch {
	case n.err == nil:
		if n.value != "" {
			ns.add(n.key, n.value)
		}
	case !p.ignore:
		q.denied = append(q.denied, rejection{p.name, b.name, n.err.Error(), "", nil})
		q.metrics.validated(n.took, p.name, b.name, errorKind(n.err.Error()), "deny")
	}
}

// auditAnnotations collects the annotations of one policy's bindings by key.
type auditAnnotations map[string][]string

func (ns *auditAnnotations) add(key, value string) {
	if *ns == nil {
		*ns = auditAnnotations{}
	}
	value = value[:min(len(value), maxAnnotation)]
	if !slices.Contains((*ns)[key], value) {
		(*ns)[key] = append((*ns)[key], value)
	}
}

func (ns auditAnnotations) publish(policy string, r *match.Request) {
	for key, values := range ns {
		r.Annotate(policy+"/"+key, strings.Join(values, ", "))
	}
}

// result returns the rejection of the request, or nil.
func (q *validationRun) result() error {
	if len(q.denied) == 0 {
		return nil
	}
	d := q.denied[0]
	d.record(q.r.Scope.Account)
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
