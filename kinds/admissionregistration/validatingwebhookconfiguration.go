package admissionregistration

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// ValidatingWebhookConfiguration describes the kind ValidatingWebhookConfiguration, which
// registers webhooks that validate requests.
func ValidatingWebhookConfiguration(gates features.Gates, functions expression.Library) *api.Resource {
	return webhookConfiguration(gates, functions, api.Kind[*admissionv1.ValidatingWebhookConfiguration]{
		Names: api.Names{
			Name: "validatingwebhookconfigurations", Singular: "validatingwebhookconfiguration", Kind: "ValidatingWebhookConfiguration",
		},
		Versions: api.WithOlderVersions(api.Served(admissionv1.SchemeGroupVersion),
			api.SameFields[admissionv1.ValidatingWebhookConfiguration,
				admissionregistrationv1beta1.ValidatingWebhookConfiguration](admissionregistrationv1beta1.SchemeGroupVersion)),
		Default: defaultValidatingWebhooks,
	}, validatingWebhooks)
}
