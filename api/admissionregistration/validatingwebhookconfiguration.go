package admissionregistration

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// ValidatingWebhookConfiguration describes the kind ValidatingWebhookConfiguration, which
// registers webhooks that validate requests.
func ValidatingWebhookConfiguration(gates features.Gates, functions expression.Library) *api.Resource {
	return api.NewResource(api.Kind[*admissionv1.ValidatingWebhookConfiguration]{
		Names: api.Names{
			Name: "validatingwebhookconfigurations", Singular: "validatingwebhookconfiguration", Kind: "ValidatingWebhookConfiguration",
			Categories: []string{"api-extensions"},
		},
		Versions: api.WithOlderVersions(api.Served(admissionv1.SchemeGroupVersion),
			api.SameFields[admissionv1.ValidatingWebhookConfiguration, admissionregistrationv1beta1.ValidatingWebhookConfiguration](admissionregistrationv1beta1.SchemeGroupVersion)),
		Default: defaultValidatingWebhooks,
		Storage: api.Storage{Prefix: "validatingwebhookconfigurations"},
		Create: api.CreateStrategy[*admissionv1.ValidatingWebhookConfiguration]{AllowUnqualifiedFinalizers: true, ValidateOnCreate: validation.Rules(nameRules(gates, validatingWebhookRules(functions))),
			WarningsOnCreate: func(obj *admissionv1.ValidatingWebhookConfiguration) []string {
				return append(newNameWarnings[*admissionv1.ValidatingWebhookConfiguration](gates)(obj), validatingWebhookWarnings(gates, obj)...)
			}},
		Update: api.UpdateStrategy[*admissionv1.ValidatingWebhookConfiguration]{RevalidateMetadata: true, RequireResourceVersion: true, ValidateUpdate: validation.Changes(validatingWebhookChanges(functions)),
			WarningsOnUpdate: func(obj, old *admissionv1.ValidatingWebhookConfiguration) []string {
				return append(staticNameWarnings(obj, old), validatingWebhookWarnings(gates, obj)...)
			}, HasGeneration: true, ChangesGeneration: api.BodyDiffers[*admissionv1.ValidatingWebhookConfiguration]},
		Table: api.Table[*admissionv1.ValidatingWebhookConfiguration]{Columns: webhookColumns, Cells: validatingWebhookCells},
	})
}

func validatingWebhookCells(c *admissionv1.ValidatingWebhookConfiguration) []any {
	return []any{c.Name, int64(len(c.Webhooks)), table.Age(c)}
}

func validatingWebhookWarnings(gates features.Gates, obj *admissionv1.ValidatingWebhookConfiguration) (warnings []string) {
	if !gates.Enabled(features.ExcludeAdmissionWebhookVirtualResources) {
		return nil
	}
	for i := range obj.Webhooks {
		warnings = append(warnings, exemptRuleWarnings(i, obj.Webhooks[i].Rules)...)
	}
	return warnings
}
