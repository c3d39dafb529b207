package api

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func mutatingAdmissionPolicyColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		nameColumn(),
		numberColumn("Mutations", "Mutation indicates the number of mutations rules defined in this configuration"),
		paramKindColumn(),
		ageColumn(),
	}
}

func mutatingAdmissionPolicyCells(obj Object) []any {
	p := obj.(*admissionv1.MutatingAdmissionPolicy)
	return []any{p.Name, int64(len(p.Spec.Mutations)), paramKindCell(p.Spec.ParamKind), Age(p)}
}
