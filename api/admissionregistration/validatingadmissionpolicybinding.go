package admissionregistration

import (
	"cmp"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1alpha1 "k8s.io/api/admissionregistration/v1alpha1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// ValidatingAdmissionPolicyBinding describes the kind ValidatingAdmissionPolicyBinding,
// which enables a ValidatingAdmissionPolicy for the resources that it matches.
func ValidatingAdmissionPolicyBinding(gates features.Gates) *api.Resource {
	return newResource(gates, api.Kind[*admissionv1.ValidatingAdmissionPolicyBinding]{
		Names: api.Names{
			Name: "validatingadmissionpolicybindings", Singular: "validatingadmissionpolicybinding", Kind: "ValidatingAdmissionPolicyBinding",
		},
		Versions: api.WithOlderVersions(api.Served(admissionv1.SchemeGroupVersion),
			api.SameFields[admissionv1.ValidatingAdmissionPolicyBinding, admissionregistrationv1beta1.ValidatingAdmissionPolicyBinding](admissionregistrationv1beta1.SchemeGroupVersion),
			api.SameFields[admissionv1.ValidatingAdmissionPolicyBinding, admissionregistrationv1alpha1.ValidatingAdmissionPolicyBinding](admissionregistrationv1alpha1.SchemeGroupVersion)),
		Default: func(obj *admissionv1.ValidatingAdmissionPolicyBinding) {
			defaultMatchResources(obj.Spec.MatchResources)
		},
		Create: api.CreateStrategy[*admissionv1.ValidatingAdmissionPolicyBinding]{Validate: validation.Rules(validatingBindingRules)},
		Table:  api.Table[*admissionv1.ValidatingAdmissionPolicyBinding]{Columns: policyBindingColumns, Cells: validatingAdmissionPolicyBindingCells},
	}, nil)
}

// policyBindingColumns returns the printer columns of both kinds of policy bindings.
func policyBindingColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		table.NameColumn(),
		table.TextColumn("PolicyName", "PolicyName indicates the policy definition which the policy binding binded to"),
		table.TextColumn("ParamRef", "ParamRef indicates the param resource which sets the configuration param"),
		table.AgeColumn(),
	}
}

func validatingAdmissionPolicyBindingCells(b *admissionv1.ValidatingAdmissionPolicyBinding) []any {
	return []any{b.Name, b.Spec.PolicyName, paramCell(b.Spec.ParamRef), table.Age(b)}
}

// paramCell returns the cell ParamRef: namespace and name of the parameters, or their
// selector. The namespace is "*" if it is empty, also for cluster-scoped parameters.
func paramCell(p *admissionv1.ParamRef) string {
	switch {
	case p == nil || p.Name == "" && p.Selector == nil:
		return table.CellUnset
	case p.Name == "":
		return p.Selector.String()
	}
	return cmp.Or(p.Namespace, "*") + "/" + p.Name
}
