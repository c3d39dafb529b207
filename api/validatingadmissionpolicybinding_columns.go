package api

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// policyBindingColumns are those of the bindings of both kinds of policies.
func policyBindingColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		nameColumn(),
		textColumn("PolicyName", "PolicyName indicates the policy definition which the policy binding binded to"),
		textColumn("ParamRef", "ParamRef indicates the param resource which sets the configuration param"),
		ageColumn(),
	}
}

func validatingAdmissionPolicyBindingCells(obj Object) []any {
	b := obj.(*admissionv1.ValidatingAdmissionPolicyBinding)
	return []any{b.Name, b.Spec.PolicyName, paramCell(b.Spec.ParamRef), Age(b)}
}

// paramCell names the parameters of a binding, or how they are found. A star
// stands for a namespace that is not given, be the parameter in one or not.
func paramCell(p *admissionv1.ParamRef) string {
	switch {
	case p == nil || p.Name == "" && p.Selector == nil:
		return cellUnset
	case p.Name == "":
		return p.Selector.String()
	}
	return orElse(p.Namespace, "*") + "/" + p.Name
}
