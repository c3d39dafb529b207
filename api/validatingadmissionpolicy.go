package api

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
)

// validatingAdmissionPolicy is a CEL policy that checks what is written.
func validatingAdmissionPolicy() *Resource {
	return &Resource{
		Name: "validatingadmissionpolicies", Singular: "validatingadmissionpolicy", Kind: "ValidatingAdmissionPolicy",
		Categories:             []string{"api-extensions"},
		Versions:               readable(served(admissionregistrationv1.SchemeGroupVersion), admissionregistrationv1beta1.SchemeGroupVersion),
		New:                    func() Object { return &admissionregistrationv1.ValidatingAdmissionPolicy{} },
		Prefix:                 "validatingadmissionpolicies",
		Generation:             true,
		HasStatus:              true,
		RequireResourceVersion: true,
	}
}
