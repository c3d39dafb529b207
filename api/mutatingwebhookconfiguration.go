package api

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
)

// mutatingWebhookConfiguration is which webhooks may change what is written.
func mutatingWebhookConfiguration() *Resource {
	return &Resource{
		Name: "mutatingwebhookconfigurations", Singular: "mutatingwebhookconfiguration", Kind: "MutatingWebhookConfiguration",
		Categories: []string{"api-extensions"},
		Versions: older(served(admissionregistrationv1.SchemeGroupVersion),
			alike[admissionregistrationv1.MutatingWebhookConfiguration, admissionregistrationv1beta1.MutatingWebhookConfiguration](admissionregistrationv1beta1.SchemeGroupVersion)),
		New:                    func() Object { return &admissionregistrationv1.MutatingWebhookConfiguration{} },
		Rows:                   &Table{Columns: webhookColumns, Cells: mutatingWebhookCells},
		Prefix:                 "mutatingwebhookconfigurations",
		Default:                defaultMutatingWebhooks,
		ValidateCreate:         rulesOf(mutatingWebhookRules),
		ValidateUpdate:         changesOf(mutatingWebhookChanges),
		Generation:             true,
		RequireResourceVersion: true,
	}
}
