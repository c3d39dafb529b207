package api

import admissionv1 "k8s.io/api/admissionregistration/v1"

func mutatingAdmissionPolicyBindingCells(obj Object) []any {
	b := obj.(*admissionv1.MutatingAdmissionPolicyBinding)
	return []any{b.Name, b.Spec.PolicyName, paramCell(b.Spec.ParamRef), Age(b)}
}
