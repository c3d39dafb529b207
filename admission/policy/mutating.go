package policy

import (
	"context"
	"time"

	"github.com/google/cel-go/common/types/ref"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/admission/match"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/ssa"
)

// mutatingPolicy is a compiled MutatingAdmissionPolicy.
type mutatingPolicy struct {
	compiledPolicy
	mutations []mutation
	// reinvoke runs the policy again if the object is changed after it.
	reinvoke bool
}

// mutation is an expression that returns a change, and the function that applies the change.
type mutation struct {
	change *expression.Program
	apply  func(ctx context.Context, t *target, change ref.Val) (runtime.Object, error)
}

// target is the object to be changed, in the form that a policy matches.
type target struct {
	*match.Request
	form    match.Form
	schemas ssa.Schemas
	kinds   func(schema.GroupVersionKind) (*api.Resource, *api.Version, bool)
}

func compileMutating(m *match.Metrics) func(*admissionv1.MutatingAdmissionPolicy) *mutatingPolicy {
	return timed(m, func(p *admissionv1.MutatingAdmissionPolicy) *mutatingPolicy {
		s := &p.Spec
		out := &mutatingPolicy{
			compiledPolicy: (&policySpec{p.Name, s.MatchConstraints, s.ParamKind, s.FailurePolicy, s.Variables, s.MatchConditions}).compile(m),
			reinvoke:       s.ReinvocationPolicy == admissionv1.IfNeededReinvocationPolicy,
		}
		for _, m := range s.Mutations {
			switch {
			case m.PatchType == admissionv1.PatchTypeApplyConfiguration && m.ApplyConfiguration != nil:
				out.mutations = append(out.mutations,
					mutation{out.compiler.CompileMutation(m.ApplyConfiguration.Expression,
						expression.ApplyConfiguration()), applyConfiguration})
			case m.PatchType == admissionv1.PatchTypeJSONPatch && m.JSONPatch != nil:
				out.mutations = append(out.mutations,
					mutation{out.compiler.CompileMutation(m.JSONPatch.Expression, expression.Patches()), applyPatches})
			}
		}
		return out
	})
}

func bindingOfMutating(b *admissionv1.MutatingAdmissionPolicyBinding) *binding {
	return newBinding(b.Name, b.Spec.PolicyName, b.Spec.MatchResources, b.Spec.ParamRef, nil)
}

// run applies one mutation to the object of a request.
func (m *mutation) run(ctx context.Context, s *shared, p *mutatingPolicy, in *match.Input) error {
	if m.change.Err != nil {
		return m.change.Err
	}
	begin := time.Now()
	change, err := p.compiler.Frame(ctx, in, expression.Budget).Evaluate(m.change)
	p.metrics.Evaluated(time.Since(begin))
	if err != nil {
		return err
	}
	changed, err := m.apply(ctx, &target{in.Request, in.Form, s.schemas.schema, s.kinds}, change)
	if err != nil || changed == nil {
		return err
	}
	return in.Request.Replace(in.Form, changed)
}
