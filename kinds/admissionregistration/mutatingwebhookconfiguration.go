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

// MutatingWebhookConfiguration describes the kind MutatingWebhookConfiguration, which
// registers webhooks that change objects in requests.
func MutatingWebhookConfiguration(gates features.Gates, functions expression.Library) *api.Resource {
	return webhookConfiguration(gates, functions, api.Kind[*admissionv1.MutatingWebhookConfiguration]{
		Names: api.Names{
			Name: "mutatingwebhookconfigurations", Singular: "mutatingwebhookconfiguration", Kind: "MutatingWebhookConfiguration",
		},
		Versions: api.WithOlderVersions(api.Served(admissionv1.SchemeGroupVersion),
			api.SameFields[admissionv1.MutatingWebhookConfiguration,
				admissionregistrationv1beta1.MutatingWebhookConfiguration](admissionregistrationv1beta1.SchemeGroupVersion)),
		Default: defaultMutatingWebhooks,
	}, mutatingWebhooks)
}

// webhookConfiguration describes a kind of webhook configurations, of which k has the parts that differ, and
// whose objects have the webhooks that hooks returns.
func webhookConfiguration[T api.Object](
	gates features.Gates, functions expression.Library, k api.Kind[T], hooks func(T) []webhookFields,
) *api.Resource {
	var warnings []api.Check[T]
	if gates.Enabled(features.ExcludeAdmissionWebhookVirtualResources) {
		warnings = api.Checks(api.Warn(func(obj T) (warnings []string) {
			for i, w := range hooks(obj) {
				warnings = append(warnings, exemptRuleWarnings(i, w.rules)...)
			}
			return warnings
		}))
	}
	k.Generation = api.BodyDiffers[T]
	k.Table = api.Rows(func(row *table.Row, obj T) {
		row.Name(obj.GetName())
		row.Number("Webhooks", "Webhooks indicates the number of webhooks registered in this configuration",
			int64(len(hooks(obj))))
		row.Age(obj)
	})
	k.Checks = ruleChecks(func(at *validation.Path, obj, old T) {
		now, before := hooks(obj), hooks(old)
		webhookRules(at.Child("webhooks"), now, lenientWebhooks(now, before), storedConditions(functions, before))
	})
	return newResource(gates, k, warnings...)
}
