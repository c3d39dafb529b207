package api

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1alpha1 "k8s.io/api/admissionregistration/v1alpha1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
)

// mutatingAdmissionPolicyBinding is where a MutatingAdmissionPolicy applies.
func mutatingAdmissionPolicyBinding() *Resource {
	return &Resource{
		Name: "mutatingadmissionpolicybindings", Singular: "mutatingadmissionpolicybinding", Kind: "MutatingAdmissionPolicyBinding",
		Categories: []string{"api-extensions"},
		Versions: older(served(admissionregistrationv1.SchemeGroupVersion),
			alike[admissionregistrationv1.MutatingAdmissionPolicyBinding, admissionregistrationv1beta1.MutatingAdmissionPolicyBinding](admissionregistrationv1beta1.SchemeGroupVersion),
			alike[admissionregistrationv1.MutatingAdmissionPolicyBinding, admissionregistrationv1alpha1.MutatingAdmissionPolicyBinding](admissionregistrationv1alpha1.SchemeGroupVersion)),
		New:    func() Object { return &admissionregistrationv1.MutatingAdmissionPolicyBinding{} },
		Rows:   &Table{Columns: policyBindingColumns, Cells: mutatingAdmissionPolicyBindingCells},
		Prefix: "mutatingadmissionpolicybindings",
		Default: func(obj Object) {
			defaultMatchResources(obj.(*admissionregistrationv1.MutatingAdmissionPolicyBinding).Spec.MatchResources)
		},
		Validate:               rulesOf(mutatingBindingRules),
		Generation:             true,
		RequireResourceVersion: true,
		// kube-apiserver 1.36 still writes the version before.
		Stored: admissionregistrationv1beta1.SchemeGroupVersion,
	}
}
