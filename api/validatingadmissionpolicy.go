package api

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1alpha1 "k8s.io/api/admissionregistration/v1alpha1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
)

// validatingAdmissionPolicy is a CEL policy that checks what is written.
func validatingAdmissionPolicy() *Resource {
	return &Resource{
		Name: "validatingadmissionpolicies", Singular: "validatingadmissionpolicy", Kind: "ValidatingAdmissionPolicy",
		Categories: []string{"api-extensions"},
		Versions: older(served(admissionregistrationv1.SchemeGroupVersion),
			alike[admissionregistrationv1.ValidatingAdmissionPolicy, admissionregistrationv1beta1.ValidatingAdmissionPolicy](admissionregistrationv1beta1.SchemeGroupVersion),
			alike[admissionregistrationv1.ValidatingAdmissionPolicy, admissionregistrationv1alpha1.ValidatingAdmissionPolicy](admissionregistrationv1alpha1.SchemeGroupVersion)),
		New:    func() Object { return &admissionregistrationv1.ValidatingAdmissionPolicy{} },
		Rows:   &Table{Columns: validatingAdmissionPolicyColumns, Cells: validatingAdmissionPolicyCells},
		Prefix: "validatingadmissionpolicies",
		Default: func(obj Object) {
			s := &obj.(*admissionregistrationv1.ValidatingAdmissionPolicy).Spec
			setDefault(&s.FailurePolicy, admissionregistrationv1.Fail)
			defaultMatchResources(s.MatchConstraints)
		},
		ValidateCreate:         rulesOf(validatingPolicyRules),
		ValidateUpdate:         changesOf(validatingPolicyChanges),
		PrepareStatusUpdate:    keepMetadataOf,
		ResetFields:            map[string][]string{"status": {"metadata", "spec"}},
		ValidateStatusUpdate:   changesOf(validatingPolicyStatusRules),
		Generation:             true,
		HasStatus:              true,
		RequireResourceVersion: true,
	}
}
