package api

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1alpha1 "k8s.io/api/admissionregistration/v1alpha1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
)

// validatingAdmissionPolicyBinding is where a ValidatingAdmissionPolicy applies.
func validatingAdmissionPolicyBinding() *Resource {
	return &Resource{
		Name: "validatingadmissionpolicybindings", Singular: "validatingadmissionpolicybinding", Kind: "ValidatingAdmissionPolicyBinding",
		Categories: []string{"api-extensions"},
		Versions: older(served(admissionregistrationv1.SchemeGroupVersion),
			alike[admissionregistrationv1.ValidatingAdmissionPolicyBinding, admissionregistrationv1beta1.ValidatingAdmissionPolicyBinding](admissionregistrationv1beta1.SchemeGroupVersion),
			alike[admissionregistrationv1.ValidatingAdmissionPolicyBinding, admissionregistrationv1alpha1.ValidatingAdmissionPolicyBinding](admissionregistrationv1alpha1.SchemeGroupVersion)),
		New:    func() Object { return &admissionregistrationv1.ValidatingAdmissionPolicyBinding{} },
		Rows:   &Table{Columns: policyBindingColumns, Cells: validatingAdmissionPolicyBindingCells},
		Prefix: "validatingadmissionpolicybindings",
		Default: func(obj Object) {
			defaultMatchResources(obj.(*admissionregistrationv1.ValidatingAdmissionPolicyBinding).Spec.MatchResources)
		},
		Validate:               rulesOf(validatingBindingRules),
		Generation:             true,
		RequireResourceVersion: true,
	}
}
