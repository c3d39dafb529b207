package admissionregistration

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

// ValidatingWebhookConfiguration describes the kind ValidatingWebhookConfiguration, which
// registers webhooks that validate requests.
func ValidatingWebhookConfiguration() *api.Resource {
	return api.NewResource(api.Kind[*admissionv1.ValidatingWebhookConfiguration]{
		Names: api.Names{
			Name: "validatingwebhookconfigurations", Singular: "validatingwebhookconfiguration", Kind: "ValidatingWebhookConfiguration",
			Categories: []string{"api-extensions"},
		},
		Versions: api.WithOlderVersions(api.Served(admissionv1.SchemeGroupVersion),
			api.SameFields[admissionv1.ValidatingWebhookConfiguration, admissionregistrationv1beta1.ValidatingWebhookConfiguration](admissionregistrationv1beta1.SchemeGroupVersion)),
		Default: defaultValidatingWebhooks,
		Storage: api.Storage{Prefix: "validatingwebhookconfigurations"},
		Create:  api.CreateStrategy[*admissionv1.ValidatingWebhookConfiguration]{ValidateOnCreate: validation.Rules(validatingWebhookRules)},
		Update:  api.UpdateStrategy[*admissionv1.ValidatingWebhookConfiguration]{RequireResourceVersion: true, ValidateUpdate: validation.Changes(validatingWebhookChanges), HasGeneration: true},
		Table:   api.Table[*admissionv1.ValidatingWebhookConfiguration]{Columns: webhookColumns, Cells: validatingWebhookCells},
	})
}

func validatingWebhookCells(c *admissionv1.ValidatingWebhookConfiguration) []any {
	return []any{c.Name, int64(len(c.Webhooks)), table.Age(c)}
}
