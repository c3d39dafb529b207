// Package admissionregistration describes the kinds that configure admission: webhook
// configurations, admission policies in CEL, and policy bindings. Packages
// admission/webhook and admission/policy run them.
package admissionregistration

import (
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Kinds returns the kinds of the group.
func Kinds(gates features.Gates) []*api.Resource {
	return []*api.Resource{
		MutatingAdmissionPolicy(),
		MutatingAdmissionPolicyBinding(),
		MutatingWebhookConfiguration(gates),
		ValidatingAdmissionPolicy(),
		ValidatingAdmissionPolicyBinding(),
		ValidatingWebhookConfiguration(gates),
	}
}
