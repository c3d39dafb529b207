package api

import (
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/miniapiserver/miniapiserver/api/expression"
)

func mutatingPolicyRules(at *place, p *admissionv1.MutatingAdmissionPolicy) {
	mutatingPolicyChanges(at, p, nil)
}

func mutatingPolicyChanges(at *place, is, was *admissionv1.MutatingAdmissionPolicy) {
	at = at.of("spec")
	s := &is.Spec
	unchanged := was != nil && sameParamKind(s.ParamKind, was.Spec.ParamKind) && slices.Equal(s.MatchConditions, was.Spec.MatchConditions)
	c := policyHeadRules(at, &policyHead{s.FailurePolicy, s.ParamKind, s.MatchConstraints, s.MatchConditions, s.Variables, true, true}, unchanged)
	if len(s.Mutations) == 0 {
		at.of("mutations").required("mutations must contain at least one item")
	}
	each(at.of("mutations"), s.Mutations, func(at *place, m *admissionv1.Mutation) { mutationRules(at, m, c) })
	reinvocation := at.of("reinvocationPolicy")
	if s.ReinvocationPolicy == "" {
		reinvocation.required("")
	} else {
		oneOf(reinvocation, s.ReinvocationPolicy, admissionv1.IfNeededReinvocationPolicy, admissionv1.NeverReinvocationPolicy)
	}
}

// mutationRules: of the two ways to say what changes, the one is filled in that
// the type names.
func mutationRules(at *place, m *admissionv1.Mutation, c *expression.Compiler) {
	apply, patch := at.of("applyConfiguration"), at.of("jsonPatch")
	switch m.PatchType {
	case admissionv1.PatchTypeApplyConfiguration:
		if m.ApplyConfiguration == nil {
			apply.required("must be specified when patchType is ApplyConfiguration")
		} else {
			mutationExpression(apply, m.ApplyConfiguration.Expression, c, expression.ApplyConfiguration())
		}
		if m.JSONPatch != nil {
			patch.invalid("{jsonPatch}", "must not be specified when patchType is ApplyConfiguration")
		}
	case admissionv1.PatchTypeJSONPatch:
		if m.JSONPatch == nil {
			patch.required("must be specified when patchType is JSONPatch")
		} else {
			mutationExpression(patch, m.JSONPatch.Expression, c, expression.Patches())
		}
		if m.ApplyConfiguration != nil {
			apply.invalid("{applyConfiguration}", "must not be specified when patchType is JSONPatch")
		}
	default:
		enum(at.of("patchType"), m.PatchType, admissionv1.PatchTypeApplyConfiguration, admissionv1.PatchTypeJSONPatch)
	}
}

func mutationExpression(at *place, text string, c *expression.Compiler, results []*cel.Type) {
	if strings.TrimSpace(text) == "" {
		at.of("expression").required("expression is not specified")
		return
	}
	celRules(at.of("expression"), text, c.CompileMutation(text, results))
}

func mutatingBindingRules(at *place, b *admissionv1.MutatingAdmissionPolicyBinding) {
	bindingRules(at.of("spec"), b.Spec.PolicyName, b.Spec.ParamRef, b.Spec.MatchResources)
	mutatingOperationRules(at.of("spec").of("matchResources"), b.Spec.MatchResources)
}

// mutatingOperationRules refuse operations without an object to change.
func mutatingOperationRules(at *place, match *admissionv1.MatchResources) {
	if match == nil {
		return
	}
	for i := range match.ResourceRules {
		for _, operation := range match.ResourceRules[i].Operations {
			oneOf(at.of("resourceRules").of("operations"), operation, admissionv1.OperationAll, admissionv1.Connect, admissionv1.Create, admissionv1.Update)
		}
	}
}
