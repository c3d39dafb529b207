package admissionregistration

import (
	"cmp"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1alpha1 "k8s.io/api/admissionregistration/v1alpha1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
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
			api.SameFields[admissionv1.ValidatingAdmissionPolicyBinding,
				admissionregistrationv1beta1.ValidatingAdmissionPolicyBinding](admissionregistrationv1beta1.SchemeGroupVersion),
			api.SameFields[admissionv1.ValidatingAdmissionPolicyBinding,
				admissionregistrationv1alpha1.ValidatingAdmissionPolicyBinding](admissionregistrationv1alpha1.SchemeGroupVersion)),
		Default: func(obj *admissionv1.ValidatingAdmissionPolicyBinding) {
			defaultMatchResources(obj.Spec.MatchResources)
		},
		Checks: api.Checks(api.ObjectMeta, api.RevalidatedObjectMeta, api.Rules(validatingBindingRules)),
		Table:  api.Rows(validatingAdmissionPolicyBindingRow),
	})
}

func validatingAdmissionPolicyBindingRow(row *table.Row, b *admissionv1.ValidatingAdmissionPolicyBinding) {
	policyBindingRow(row, b, b.Spec.PolicyName, b.Spec.ParamRef)
}

// policyBindingRow adds the columns of both kinds of policy bindings.
func policyBindingRow(row *table.Row, b metav1.Object, policy string, ref *admissionv1.ParamRef) {
	row.Name(b.GetName())
	row.Text("PolicyName", "PolicyName indicates the policy definition which the policy binding binded to", policy)
	row.Text("ParamRef", "ParamRef indicates the param resource which sets the configuration param", paramCell(ref))
	row.Age(b)
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
