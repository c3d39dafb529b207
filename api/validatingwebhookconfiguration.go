package api

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
)

// validatingWebhookConfiguration is which webhooks check what is written.
func validatingWebhookConfiguration() *Resource {
	return &Resource{
		Name: "validatingwebhookconfigurations", Singular: "validatingwebhookconfiguration", Kind: "ValidatingWebhookConfiguration",
		Categories: []string{"api-extensions"},
		Versions: older(served(admissionregistrationv1.SchemeGroupVersion),
			alike[admissionregistrationv1.ValidatingWebhookConfiguration, admissionregistrationv1beta1.ValidatingWebhookConfiguration](admissionregistrationv1beta1.SchemeGroupVersion)),
		New:                    func() Object { return &admissionregistrationv1.ValidatingWebhookConfiguration{} },
		Rows:                   &Table{Columns: webhookColumns, Cells: validatingWebhookCells},
		Prefix:                 "validatingwebhookconfigurations",
		Default:                defaultValidatingWebhooks,
		ValidateCreate:         rulesOf(validatingWebhookRules),
		ValidateUpdate:         changesOf(validatingWebhookChanges),
		Generation:             true,
		RequireResourceVersion: true,
	}
}
