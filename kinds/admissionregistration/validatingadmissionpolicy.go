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

// ValidatingAdmissionPolicy describes the kind ValidatingAdmissionPolicy, which validates
// requests by CEL expressions.
func ValidatingAdmissionPolicy(gates features.Gates, functions expression.Library) *api.Resource {
	return newResource(gates, api.Kind[*admissionv1.ValidatingAdmissionPolicy]{
		Names: api.Names{
			Name: "validatingadmissionpolicies", Singular: "validatingadmissionpolicy", Kind: "ValidatingAdmissionPolicy",
		},
		Versions: api.WithOlderVersions(api.Served(admissionv1.SchemeGroupVersion),
			api.SameFields[admissionv1.ValidatingAdmissionPolicy,
				admissionregistrationv1beta1.ValidatingAdmissionPolicy](admissionregistrationv1beta1.SchemeGroupVersion),
			api.SameFields[admissionv1.ValidatingAdmissionPolicy,
				admissionregistrationv1alpha1.ValidatingAdmissionPolicy](admissionregistrationv1alpha1.SchemeGroupVersion)),
		Default: func(obj *admissionv1.ValidatingAdmissionPolicy) {
			s := &obj.Spec
			api.SetDefault(&s.FailurePolicy, admissionv1.Fail)
			defaultMatchResources(s.MatchConstraints)
		},
		Status: api.NewStatus(
			api.KeepMetadataOf,
			api.ObjectMeta, api.Changes(validatingPolicyStatusRules), api.Declared,
		).AlsoCreatedByApply(),
		Reset:  map[string][]string{"status": {"metadata", "spec"}},
		Table:  api.Rows(validatingAdmissionPolicyRow),
		Checks: ruleChecks(validatingPolicyChanges(functions)),
	})
}

func validatingAdmissionPolicyRow(row *table.Row, p *admissionv1.ValidatingAdmissionPolicy) {
	row.Name(p.Name)
	row.Number("Validations", "Validations indicates the number of validation rules defined in this configuration",
		int64(len(p.Spec.Validations)))
	addParamKind(row, p.Spec.ParamKind)
	row.Age(p)
}

// addParamKind adds the column ParamKind of both kinds of policies.
func addParamKind(row *table.Row, k *admissionv1.ParamKind) {
	cell := table.CellUnset
	if k != nil {
		cell = k.APIVersion + "/" + k.Kind
	}
	row.Text("ParamKind", "ParamKind specifies the kind of resources used to parameterize this policy", cell)
}
