package admissionregistration

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
			api.SameFields[admissionv1.MutatingWebhookConfiguration, admissionregistrationv1beta1.MutatingWebhookConfiguration](admissionregistrationv1beta1.SchemeGroupVersion)),
		Default: defaultMutatingWebhooks,
	}, mutatingWebhooks)
}

// webhookConfiguration describes a kind of webhook configurations, of which k has the parts that differ, and
// whose objects have the webhooks that hooks returns.
func webhookConfiguration[T api.Object](
	gates features.Gates, functions expression.Library, k api.Kind[T], hooks func(T) []webhookFields,
) *api.Resource {
	if gates.Enabled(features.ExcludeAdmissionWebhookVirtualResources) {
		k.Create.WarningsOnCreate = func(obj T) (warnings []string) {
			for i, w := range hooks(obj) {
				warnings = append(warnings, exemptRuleWarnings(i, w.rules)...)
			}
			return warnings
		}
	}
	k.Update.ChangesGeneration = api.BodyDiffers[T]
	k.Table = api.Table[T]{Columns: webhookColumns, Cells: func(obj T) []any {
		return []any{obj.GetName(), int64(len(hooks(obj))), table.Age(obj)}
	}}
	return newResource(gates, k, func(at *validation.Path, obj, old T) {
		now, before := hooks(obj), hooks(old)
		webhookRules(at.Child("webhooks"), now, lenientWebhooks(now, before), storedConditions(functions, before))
	})
}

// webhookColumns returns the printer columns of both kinds of webhook configurations.
func webhookColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		table.NameColumn(),
		table.NumberColumn("Webhooks", "Webhooks indicates the number of webhooks registered in this configuration"),
		table.AgeColumn(),
	}
}
