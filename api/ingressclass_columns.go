package api

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func ingressClassColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		nameColumn(),
		textColumn("Controller", "Controller that is responsible for handling this class"),
		textColumn("Parameters", "A reference to a resource with additional parameters"),
		ageColumn(),
	}
}

func ingressClassCells(obj Object) []any {
	c := obj.(*networkingv1.IngressClass)
	parameters := cellNone
	if p := c.Spec.Parameters; p != nil {
		parameters = p.Kind
		if p.APIGroup != nil {
			parameters += "." + *p.APIGroup
		}
		parameters += "/" + p.Name
	}
	return []any{c.Name, c.Spec.Controller, parameters, Age(c)}
}
