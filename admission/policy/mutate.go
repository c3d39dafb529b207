package policy

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/admission/match"
	"github.com/miniapiserver/miniapiserver/registry"
)

// mutator implements the plugin MutatingAdmissionPolicy.
type mutator struct {
	*shared
	hooks hookIndex[*mutatingPolicy]
}

// invocation is a policy to be run for a binding and a parameter.
type invocation struct {
	policy  *mutatingPolicy
	binding *binding
	param   param
	form    match.Form
}

// key identifies an invocation among those of one request.
func (i *invocation) key() [4]string {
	return [4]string{i.policy.name, i.binding.name, i.param.namespace, i.param.name}
}

// reinvocations is the state of reinvocation, which persists between the passes of the plugin.
type reinvocations struct {
	// invoked may be reinvoked; due are those after which the object has changed.
	invoked, due map[[4]string]bool
	last         runtime.Object // the object after the last invocation
}

func (r *reinvocations) markDue() {
	for name := range r.invoked {
		if r.due == nil {
			r.due = map[[4]string]bool{}
		}
		r.due[name] = true
	}
	clear(r.invoked)
}

// mutate runs all policies that apply to a write.
func (m *mutator) mutate(ctx context.Context, a *registry.Attributes) error {
	if a.Object == nil {
		return nil
	}
	list, err := m.hooks.applicable(ctx, a)
	if err != nil || len(list) == 0 {
		return err
	}
	run := &mutationRun{mutator: m, r: m.request(a), ask: match.NewRequestAuthorizer(m.ask)}
	run.find(ctx, list)
	if len(run.invocations) > 0 {
		if err := run.invokeAll(ctx); err != nil {
			return err
		}
	}
	return run.result()
}

// mutationRun runs all policies for one request.
type mutationRun struct {
	*mutator
	r           *match.Request
	ask         *match.RequestAuthorizer
	invocations []invocation
	failed      []rejection
}

// find collects the invocations for the current object.
func (q *mutationRun) find(ctx context.Context, list []hook[*mutatingPolicy]) {
	for i := range list {
		p := list[i].policy
		form, ok, err := q.selects(ctx, &p.compiledPolicy, q.r)
		if err != nil {
			q.failed = addMisconfigured(q.failed, &p.compiledPolicy, nil, err)
		}
		if err != nil || !ok {
			continue
		}
		for _, b := range list[i].bindings {
			q.addInvocations(ctx, p, b, form)
		}
	}
}

func (q *mutationRun) addInvocations(ctx context.Context, p *mutatingPolicy, b *binding, form match.Form) {
	list, err := q.paramsOf(ctx, &p.compiledPolicy, b, q.r)
	if err != nil {
		q.failed = addMisconfigured(q.failed, &p.compiledPolicy, b, err)
	}
	for _, param := range list {
		q.invocations = append(q.invocations, invocation{p, b, param, form})
	}
}

// invokeAll runs the invocations. If the object changes, all mutating plugins are reinvoked, and
// then the policies with reinvocationPolicy IfNeeded that ran before a change.
func (q *mutationRun) invokeAll(ctx context.Context) error {
	state, _ := q.r.PluginState(q.mutator).(*reinvocations)
	if state == nil {
		state = &reinvocations{}
		q.r.SetPluginState(q.mutator, state)
	}
	if q.r.IsReinvocation() && state.last != nil && !equality.Semantic.DeepEqual(state.last, q.r.Object) {
		state.markDue()
	}
	namespace, err := q.r.Namespace(ctx)
	if err != nil {
		return err
	}
	patched := false
	for i := range q.invocations {
		inv := &q.invocations[i]
		in := &match.Input{Request: q.r, Form: inv.form, Params: inv.param.value, Namespace: namespace, Authorizer: q.ask}
		ok, _, err := inv.policy.conditions.Match(ctx, in)
		if err != nil {
			q.fail(inv, err)
		}
		if err != nil || !ok || q.r.IsReinvocation() && !state.due[inv.key()] {
			continue
		}
		applied, changed, err := q.invoke(ctx, inv, in)
		if err != nil {
			return err
		}
		patched = patched || applied
		if changed {
			state.markDue()
			q.r.RequestReinvocation()
		}
		if inv.policy.reinvoke {
			if state.invoked == nil {
				state.invoked = map[[4]string]bool{}
			}
			state.invoked[inv.key()] = true
		}
	}
	if patched {
		state.markDue()
		q.r.RequestReinvocation()
	}
	if len(state.invoked)+len(state.due) > 0 {
		state.last = q.r.Object.DeepCopyObject()
	}
	return nil
}

// invoke runs the mutations of a policy in order. It reports whether one was applied, and whether
// the object changed.
func (q *mutationRun) invoke(ctx context.Context, inv *invocation, in *match.Input) (applied, changed bool, err error) {
	before := q.r.Object.DeepCopyObject()
	for i := range inv.policy.mutations {
		begin := time.Now()
		err := inv.policy.mutations[i].run(ctx, q.shared, inv.policy, in)
		q.metrics.mutated(time.Since(begin), inv.policy.name, inv.binding.name, err)
		var status *apierrors.StatusError
		switch {
		case errors.As(err, &status):
			return applied, false, status
		case err != nil:
			q.fail(inv, err)
		default:
			applied = true
		}
	}
	q.r.RecordState("policy " + inv.policy.name + "/" + inv.binding.name)
	return applied, !equality.Semantic.DeepEqual(before, q.r.Object), nil
}

func (q *mutationRun) fail(inv *invocation, err error) {
	if !inv.policy.ignore {
		q.failed = append(q.failed, rejection{inv.policy.name, inv.binding.name, err.Error(), metav1.StatusReasonInvalid, &decision{err: err}})
	}
}

func (r *rejection) ofMutation() string {
	if r.binding == "" {
		return fmt.Sprintf("policy %q denied request: %s", r.policy, r.message)
	}
	return fmt.Sprintf("policy '%s' with binding '%s' denied request: %s", r.policy, r.binding, r.message)
}

// result returns the rejection of the request, or nil.
func (q *mutationRun) result() error {
	if len(q.failed) == 0 {
		return nil
	}
	q.failed[0].record(q.r.Scope.Account)
	err := admission.Forbidden(q.r.Attributes, errors.New("admission request denied by policy"))
	status := &err.ErrStatus
	status.Message = q.failed[0].ofMutation()
	if reason := q.failed[0].reason; reason != "" {
		status.Reason = reason
	}
	for i := range q.failed {
		status.Details.Causes = append(status.Details.Causes, metav1.StatusCause{Message: q.failed[i].ofMutation()})
	}
	return err
}
