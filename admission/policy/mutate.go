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

// mutator is the plugin MutatingAdmissionPolicy.
type mutator struct {
	*shared
	hooks hooks[*mutating]
}

// invocation is a policy that is run by a binding with a parameter.
type invocation struct {
	policy  *mutating
	binding *binding
	param   param
	form    match.Form
}

// name tells invocations of one request apart.
func (i *invocation) name() [4]string {
	return [4]string{i.policy.name, i.binding.name, i.param.namespace, i.param.name}
}

// rounds is what is known of invocations when plugins are run once more.
type rounds struct {
	// ran may be run again; due are those of them after which the object changed.
	ran, due map[[4]string]bool
	last     runtime.Object // the object after the last invocation
}

func (r *rounds) allDue() {
	for name := range r.ran {
		if r.due == nil {
			r.due = map[[4]string]bool{}
		}
		r.due[name] = true
	}
	clear(r.ran)
}

// mutate runs all policies that are about a write.
func (m *mutator) mutate(ctx context.Context, a *registry.Attributes) error {
	if exempt(a) || a.Object == nil {
		return nil
	}
	list, err := m.hooks.now(ctx)
	if err != nil || len(list) == 0 {
		return err
	}
	run := &mutations{mutator: m, r: m.request(a), ask: match.NewAsker(m.ask)}
	run.find(ctx, list)
	if len(run.invocations) > 0 {
		if err := run.all(ctx); err != nil {
			return err
		}
	}
	return run.answer()
}

// mutations are the run of all policies for one request.
type mutations struct {
	*mutator
	r           *match.Request
	ask         *match.Asker
	invocations []invocation
	failed      []failedMutation
}

// failedMutation is a policy that could not do what it should.
type failedMutation struct {
	policy, binding string // binding may be empty
	err             error
	reason          metav1.StatusReason
}

// misconfigured is for a policy or a binding that cannot be evaluated.
func (q *mutations) misconfigured(p *mutating, b *binding, err error) {
	switch {
	case p.ignore:
	case b == nil:
		q.failed = append(q.failed, failedMutation{p.name, "", fmt.Errorf("failed to configure policy: %w", err), ""})
	default:
		q.failed = append(q.failed, failedMutation{p.name, b.name, fmt.Errorf("failed to configure binding: %w", err), ""})
	}
}

// find finds what is to be invoked, for the object as it is.
func (q *mutations) find(ctx context.Context, list []hook[*mutating]) {
	for i := range list {
		p := list[i].policy
		form, ok, err := p.criteria.Match(ctx, q.r)
		if err == nil && ok {
			err = q.params.known(&p.head)
		}
		if err != nil {
			q.misconfigured(p, nil, err)
			continue
		}
		if !ok {
			continue
		}
		for _, b := range list[i].bindings {
			q.bound(ctx, p, b, form)
		}
	}
}

func (q *mutations) bound(ctx context.Context, p *mutating, b *binding, form match.Form) {
	ok, err := b.applies(ctx, q.r)
	if err == nil && !ok {
		return
	}
	var list []param
	if err == nil {
		list, err = q.params.of(ctx, &p.head, b, q.r.In)
	}
	if err != nil {
		q.misconfigured(p, b, err)
		return
	}
	for _, param := range list {
		q.invocations = append(q.invocations, invocation{p, b, param, form})
	}
}

// all invokes what was found. When the object changed, all mutating plugins are
// run once more, and then those policies again that were invoked before a change
// and ask for it.
func (q *mutations) all(ctx context.Context) error {
	state, _ := q.r.Kept(q.mutator).(*rounds)
	if state == nil {
		state = &rounds{}
		q.r.Keep(q.mutator, state)
	}
	if q.r.Rerun() && state.last != nil && !equality.Semantic.DeepEqual(state.last, q.r.Object) {
		state.allDue()
	}
	namespace, err := q.r.Namespace(ctx)
	if err != nil {
		return err
	}
	patched := false
	for i := range q.invocations {
		inv := &q.invocations[i]
		in := &match.Input{Request: q.r, Form: inv.form, Params: inv.param.value, Namespace: namespace, Ask: q.ask}
		ok, _, err := inv.policy.conditions.Match(ctx, in)
		if err != nil {
			q.fail(inv, err)
		}
		if err != nil || !ok || q.r.Rerun() && !state.due[inv.name()] {
			continue
		}
		did, changed, err := q.invoke(ctx, inv, in)
		if err != nil {
			return err
		}
		patched = patched || did
		if changed {
			state.allDue()
			q.r.Again()
		}
		if inv.policy.again {
			if state.ran == nil {
				state.ran = map[[4]string]bool{}
			}
			state.ran[inv.name()] = true
		}
	}
	if patched {
		state.allDue()
		q.r.Again()
	}
	if len(state.ran)+len(state.due) > 0 {
		state.last = q.r.Object.DeepCopyObject()
	}
	return nil
}

// invoke runs the mutations of a policy one after the other. It tells whether one
// did something, and whether the object is another now.
func (q *mutations) invoke(ctx context.Context, inv *invocation, in *match.Input) (did, changed bool, err error) {
	before := q.r.Object.DeepCopyObject()
	for i := range inv.policy.mutations {
		begin := time.Now()
		err := inv.policy.mutations[i].run(ctx, inv.policy, in, q.schemas.of)
		q.metrics.mutated(time.Since(begin), inv.policy.name, inv.binding.name, err)
		var status *apierrors.StatusError
		switch {
		case errors.As(err, &status):
			return did, false, status
		case err != nil:
			q.fail(inv, err)
		default:
			did = true
		}
	}
	return did, !equality.Semantic.DeepEqual(before, q.r.Object), nil
}

func (q *mutations) fail(inv *invocation, err error) {
	if !inv.policy.ignore {
		q.failed = append(q.failed, failedMutation{inv.policy.name, inv.binding.name, err, metav1.StatusReasonInvalid})
	}
}

func (f *failedMutation) String() string {
	if f.binding == "" {
		return fmt.Sprintf("policy %q denied request: %v", f.policy, f.err)
	}
	return fmt.Sprintf("policy '%s' with binding '%s' denied request: %v", f.policy, f.binding, f.err)
}

// answer is nil when everything went well.
func (q *mutations) answer() error {
	if len(q.failed) == 0 {
		return nil
	}
	err := admission.Forbidden(q.r.Attributes, errors.New("admission request denied by policy"))
	err.ErrStatus.Message = q.failed[0].String()
	if reason := q.failed[0].reason; reason != "" {
		err.ErrStatus.Reason = reason
	}
	for i := range q.failed {
		err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Message: q.failed[i].String()})
	}
	return err
}
