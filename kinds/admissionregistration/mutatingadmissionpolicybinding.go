package admissionregistration

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1alpha1 "k8s.io/api/admissionregistration/v1alpha1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// MutatingAdmissionPolicyBinding describes the kind MutatingAdmissionPolicyBinding, which
// enables a MutatingAdmissionPolicy for the resources that it matches.
func MutatingAdmissionPolicyBinding(gates features.Gates) *api.Resource {
	return newResource(gates, api.Kind[*admissionv1.MutatingAdmissionPolicyBinding]{
		Names: api.Names{
			Name: "mutatingadmissionpolicybindings", Singular: "mutatingadmissionpolicybinding", Kind: "MutatingAdmissionPolicyBinding",
		},
		Versions: api.WithOlderVersions(api.Served(admissionv1.SchemeGroupVersion),
			api.SameFields[admissionv1.MutatingAdmissionPolicyBinding,
				admissionregistrationv1beta1.MutatingAdmissionPolicyBinding](admissionregistrationv1beta1.SchemeGroupVersion),
			bindingV1alpha1()),
		Default: func(obj *admissionv1.MutatingAdmissionPolicyBinding) {
			defaultMatchResources(obj.Spec.MatchResources)
		},
		Checks: api.Checks(api.ObjectMeta, api.RevalidatedObjectMeta, api.Rules(mutatingBindingRules)),
		Table:  api.Rows(mutatingAdmissionPolicyBindingRow),
	})
}

// bindingV1alpha1 returns v1alpha1, which has a default for a field that later versions require.
func bindingV1alpha1() api.Version {
	v := api.SameFields[admissionv1.MutatingAdmissionPolicyBinding,
		admissionregistrationv1alpha1.MutatingAdmissionPolicyBinding](admissionregistrationv1alpha1.SchemeGroupVersion)
	v.Default = func(obj api.Object) {
		if p := obj.(*admissionregistrationv1alpha1.MutatingAdmissionPolicyBinding).Spec.ParamRef; p != nil {
			api.SetDefault(&p.ParameterNotFoundAction, admissionregistrationv1alpha1.DenyAction)
		}
	}
	return v
}

func mutatingAdmissionPolicyBindingRow(row *table.Row, b *admissionv1.MutatingAdmissionPolicyBinding) {
	policyBindingRow(row, b, b.Spec.PolicyName, b.Spec.ParamRef)
}
