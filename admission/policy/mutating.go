package policy

import (
	"context"

	"github.com/google/cel-go/common/types/ref"
	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/miniapiserver/miniapiserver/admission/match"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/ssa"
)

// mutating is a compiled MutatingAdmissionPolicy.
type mutating struct {
	head
	mutations []mutation
	// again: the policy is run once more when others changed the object after it.
	again bool
}

// mutation is an expression that says what to change, and what makes the changed
// object of what it says.
type mutation struct {
	change *expression.Program
	apply  func(ctx context.Context, t *target, change ref.Val) (api.Object, error)
}

// target is the object that is changed, in the form that a policy is about.
type target struct {
	*match.Request
	form    match.Form
	schemas ssa.Schemas
}

func compileMutating(m *match.Metrics) func(*admissionv1.MutatingAdmissionPolicy) *mutating {
	return timed(m, func(p *admissionv1.MutatingAdmissionPolicy) *mutating {
		s := &p.Spec
		out := &mutating{
			head:  (&source{p.Name, s.MatchConstraints, s.ParamKind, s.FailurePolicy, s.Variables, s.MatchConditions}).compile(m),
			again: s.ReinvocationPolicy == admissionv1.IfNeededReinvocationPolicy,
		}
		for _, m := range s.Mutations {
			switch {
			case m.PatchType == admissionv1.PatchTypeApplyConfiguration && m.ApplyConfiguration != nil:
				out.mutations = append(out.mutations, mutation{out.compiler.CompileMutation(m.ApplyConfiguration.Expression, expression.ApplyConfiguration()), applyConfiguration})
			case m.PatchType == admissionv1.PatchTypeJSONPatch && m.JSONPatch != nil:
				out.mutations = append(out.mutations, mutation{out.compiler.CompileMutation(m.JSONPatch.Expression, expression.Patches()), applyPatches})
			}
		}
		return out
	})
}

func bindingOfMutating(b *admissionv1.MutatingAdmissionPolicyBinding) *binding {
	return newBinding(b.Name, b.Spec.PolicyName, b.Spec.MatchResources, b.Spec.ParamRef, nil)
}

// run changes the object of a request by one mutation.
func (m *mutation) run(ctx context.Context, p *mutating, in *match.Input, schemas ssa.Schemas) error {
	if m.change.Err != nil {
		return m.change.Err
	}
	change, err := p.compiler.Frame(ctx, in, expression.Budget).Evaluate(m.change)
	if err != nil {
		return err
	}
	changed, err := m.apply(ctx, &target{in.Request, in.Form, schemas}, change)
	if err != nil || changed == nil {
		return err
	}
	return in.Request.Replace(in.Form, changed)
}
