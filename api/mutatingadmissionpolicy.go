package api

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1alpha1 "k8s.io/api/admissionregistration/v1alpha1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
)

// mutatingAdmissionPolicy is a CEL policy that changes what is written.
func mutatingAdmissionPolicy() *Resource {
	return &Resource{
		Name: "mutatingadmissionpolicies", Singular: "mutatingadmissionpolicy", Kind: "MutatingAdmissionPolicy",
		Categories: []string{"api-extensions"},
		Versions: older(served(admissionregistrationv1.SchemeGroupVersion),
			alike[admissionregistrationv1.MutatingAdmissionPolicy, admissionregistrationv1beta1.MutatingAdmissionPolicy](admissionregistrationv1beta1.SchemeGroupVersion),
			alike[admissionregistrationv1.MutatingAdmissionPolicy, admissionregistrationv1alpha1.MutatingAdmissionPolicy](admissionregistrationv1alpha1.SchemeGroupVersion)),
		New:    func() Object { return &admissionregistrationv1.MutatingAdmissionPolicy{} },
		Rows:   &Table{Columns: mutatingAdmissionPolicyColumns, Cells: mutatingAdmissionPolicyCells},
		Prefix: "mutatingadmissionpolicies",
		Default: func(obj Object) {
			s := &obj.(*admissionregistrationv1.MutatingAdmissionPolicy).Spec
			setDefault(&s.FailurePolicy, admissionregistrationv1.Fail)
			defaultMatchResources(s.MatchConstraints)
		},
		ValidateCreate:         rulesOf(mutatingPolicyRules),
		ValidateUpdate:         changesOf(mutatingPolicyChanges),
		Generation:             true,
		RequireResourceVersion: true,
		// kube-apiserver 1.36 still writes the version before.
		Stored: admissionregistrationv1beta1.SchemeGroupVersion,
	}
}
