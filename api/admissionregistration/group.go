// Package admissionregistration describes the kinds that configure admission: webhook
// configurations, admission policies in CEL, and policy bindings. Packages
// admission/webhook and admission/policy run them.
package admissionregistration

import (
	"maps"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Kinds returns the kinds of the group, in which new expressions may call some functions.
func Kinds(gates features.Gates, functions expression.Library) []*api.Resource {
	return []*api.Resource{
		MutatingAdmissionPolicy(gates, functions),
		MutatingAdmissionPolicyBinding(gates),
		MutatingWebhookConfiguration(gates, functions),
		ValidatingAdmissionPolicy(gates, functions),
		ValidatingAdmissionPolicyBinding(gates),
		ValidatingWebhookConfiguration(gates, functions),
	}
}

// ManifestKinds returns the kinds of the group as they are in files that the server reads (see package
// admission/manifest), where objects may have names that clients cannot use.
func ManifestKinds(gates features.Gates, functions expression.Library) []*api.Resource {
	gates = maps.Clone(gates)
	delete(gates, features.ManifestBasedAdmissionControlConfig)
	return Kinds(gates, functions)
}
