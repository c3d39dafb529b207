package admissionregistration

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1alpha1 "k8s.io/api/admissionregistration/v1alpha1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// MutatingAdmissionPolicy describes the kind MutatingAdmissionPolicy, which changes objects
// in requests by CEL expressions.
func MutatingAdmissionPolicy(gates features.Gates, functions expression.Library) *api.Resource {
	return newResource(gates, api.Kind[*admissionv1.MutatingAdmissionPolicy]{
		Names: api.Names{
			Name: "mutatingadmissionpolicies", Singular: "mutatingadmissionpolicy", Kind: "MutatingAdmissionPolicy",
		},
		Versions: api.WithOlderVersions(api.Served(admissionv1.SchemeGroupVersion),
			api.SameFields[admissionv1.MutatingAdmissionPolicy,
				admissionregistrationv1beta1.MutatingAdmissionPolicy](admissionregistrationv1beta1.SchemeGroupVersion),
			api.SameFields[admissionv1.MutatingAdmissionPolicy,
				admissionregistrationv1alpha1.MutatingAdmissionPolicy](admissionregistrationv1alpha1.SchemeGroupVersion)),
		Default: func(obj *admissionv1.MutatingAdmissionPolicy) {
			s := &obj.Spec
			api.SetDefault(&s.FailurePolicy, admissionv1.Fail)
			defaultMatchResources(s.MatchConstraints)
		},
		Table:  api.Rows(mutatingAdmissionPolicyRow),
		Checks: ruleChecks(mutatingPolicyChanges(functions)),
	})
}

func mutatingAdmissionPolicyRow(row *table.Row, p *admissionv1.MutatingAdmissionPolicy) {
	row.Name(p.Name)
	row.Number("Mutations", "Mutation indicates the number of mutations rules defined in this configuration",
		int64(len(p.Spec.Mutations)))
	addParamKind(row, p.Spec.ParamKind)
	row.Age(p)
}
