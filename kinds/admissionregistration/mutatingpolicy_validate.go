package admissionregistration

import (
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

// mutatingPolicyChanges returns the rules of a change; old is nil for a new policy.
func mutatingPolicyChanges(functions expression.Library) func(_ *validation.Path, obj, old *admissionv1.MutatingAdmissionPolicy) {
	return func(at *validation.Path, obj, old *admissionv1.MutatingAdmissionPolicy) {
		mutatingPolicyChange(at, obj, old, functions)
	}
}

// storedByMutating returns the expressions of a stored policy; p is nil for a new one. As in
// kube-apiserver, those of variables and JSON patches do not count.
func storedByMutating(p *admissionv1.MutatingAdmissionPolicy) (s storedExpressions) {
	if p == nil {
		return s
	}
	s.addConditions(p.Spec.MatchConditions)
	for i := range p.Spec.Mutations {
		if a := p.Spec.Mutations[i].ApplyConfiguration; a != nil {
			s.mutations = append(s.mutations, strings.TrimSpace(a.Expression))
		}
	}
	return s
}

// mutatingPolicyChange validates a new or changed policy; old is nil for a new one.
func mutatingPolicyChange(at *validation.Path, obj, old *admissionv1.MutatingAdmissionPolicy, functions expression.Library) {
	at = at.Child("spec")
	s := &obj.Spec
	stored := storedByMutating(old)
	unchanged := old != nil && sameParamKind(s.ParamKind, old.Spec.ParamKind) && slices.Equal(s.MatchConditions, old.Spec.MatchConditions)
	c := policyFieldRules(at, &policyFields{s.FailurePolicy, s.ParamKind, s.MatchConstraints, s.MatchConditions, s.Variables,
		true, true, functions, stored}, unchanged).WithStored(includes(stored.mutations))
	if len(s.Mutations) == 0 {
		at.Child("mutations").Required("mutations must contain at least one item")
	}
	validation.Each(at.Child("mutations"), s.Mutations, func(at *validation.Path, m *admissionv1.Mutation) { mutationRules(at, m, c) })
	reinvocation := at.Child("reinvocationPolicy")
	if s.ReinvocationPolicy == "" {
		reinvocation.Required("")
	} else {
		validation.OneOf(reinvocation, s.ReinvocationPolicy, admissionv1.IfNeededReinvocationPolicy, admissionv1.NeverReinvocationPolicy)
	}
}

// mutationRules validates a mutation: patchType names which one of applyConfiguration and
// jsonPatch is set.
func mutationRules(at *validation.Path, m *admissionv1.Mutation, c *expression.Compiler) {
	apply, patch := at.Child("applyConfiguration"), at.Child("jsonPatch")
	switch m.PatchType {
	case admissionv1.PatchTypeApplyConfiguration:
		if m.ApplyConfiguration == nil {
			apply.Required("must be specified when patchType is ApplyConfiguration")
		} else {
			mutationExpression(apply, m.ApplyConfiguration.Expression, c, expression.ApplyConfiguration())
		}
		if m.JSONPatch != nil {
			patch.Invalid("{jsonPatch}", "must not be specified when patchType is ApplyConfiguration")
		}
	case admissionv1.PatchTypeJSONPatch:
		if m.JSONPatch == nil {
			patch.Required("must be specified when patchType is JSONPatch")
		} else {
			mutationExpression(patch, m.JSONPatch.Expression, c, expression.Patches())
		}
		if m.ApplyConfiguration != nil {
			apply.Invalid("{applyConfiguration}", "must not be specified when patchType is JSONPatch")
		}
	default:
		validation.Enum(at.Child("patchType"), m.PatchType, admissionv1.PatchTypeApplyConfiguration, admissionv1.PatchTypeJSONPatch)
	}
}

func mutationExpression(at *validation.Path, text string, c *expression.Compiler, results []*cel.Type) {
	text = strings.TrimSpace(text)
	if text == "" {
		at.Child("expression").Required("")
		return
	}
	validation.CELRules(at.Child("expression"), text, c.CompileMutation(text, results))
}

func mutatingBindingRules(at *validation.Path, b *admissionv1.MutatingAdmissionPolicyBinding) {
	bindingRules(at.Child("spec"), b.Spec.PolicyName, b.Spec.ParamRef, b.Spec.MatchResources)
	mutatingOperationRules(at.Child("spec").Child("matchResources"), b.Spec.MatchResources)
}

// mutatingOperationRules refuses DELETE, which has no object to change.
func mutatingOperationRules(at *validation.Path, match *admissionv1.MatchResources) {
	if match == nil {
		return
	}
	for i := range match.ResourceRules {
		for _, operation := range match.ResourceRules[i].Operations {
			validation.OneOf(at.Child("resourceRules").Child("operations"), operation, admissionv1.OperationAll,
				admissionv1.Connect, admissionv1.Create, admissionv1.Update)
		}
	}
}
