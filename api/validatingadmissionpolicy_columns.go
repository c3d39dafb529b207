package api

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func validatingAdmissionPolicyColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		nameColumn(),
		numberColumn("Validations", "Validations indicates the number of validation rules defined in this configuration"),
		paramKindColumn(),
		ageColumn(),
	}
}

func validatingAdmissionPolicyCells(obj Object) []any {
	p := obj.(*admissionv1.ValidatingAdmissionPolicy)
	return []any{p.Name, int64(len(p.Spec.Validations)), paramKindCell(p.Spec.ParamKind), Age(p)}
}

// paramKindColumn and paramKindCell are of both kinds of policies.
func paramKindColumn() metav1.TableColumnDefinition {
	return textColumn("ParamKind", "ParamKind specifies the kind of resources used to parameterize this policy")
}

func paramKindCell(k *admissionv1.ParamKind) string {
	if k == nil {
		return cellUnset
	}
	return k.APIVersion + "/" + k.Kind
}
