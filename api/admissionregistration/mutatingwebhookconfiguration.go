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
	return api.NewResource(api.Kind[*admissionv1.MutatingWebhookConfiguration]{
		Names: api.Names{
			Name: "mutatingwebhookconfigurations", Singular: "mutatingwebhookconfiguration", Kind: "MutatingWebhookConfiguration",
			Categories: []string{"api-extensions"},
		},
		Versions: api.WithOlderVersions(api.Served(admissionv1.SchemeGroupVersion),
			api.SameFields[admissionv1.MutatingWebhookConfiguration, admissionregistrationv1beta1.MutatingWebhookConfiguration](admissionregistrationv1beta1.SchemeGroupVersion)),
		Default: defaultMutatingWebhooks,
		Storage: api.Storage{Prefix: "mutatingwebhookconfigurations"},
		Create: api.CreateStrategy[*admissionv1.MutatingWebhookConfiguration]{AllowUnqualifiedFinalizers: true, ValidateOnCreate: validation.Rules(nameRules(gates, mutatingWebhookRules(functions))),
			WarningsOnCreate: func(obj *admissionv1.MutatingWebhookConfiguration) []string {
				return append(newNameWarnings[*admissionv1.MutatingWebhookConfiguration](gates)(obj), mutatingWebhookWarnings(gates, obj)...)
			}},
		Update: api.UpdateStrategy[*admissionv1.MutatingWebhookConfiguration]{RevalidateMetadata: true, RequireResourceVersion: true, ValidateUpdate: validation.Changes(mutatingWebhookChanges(functions)),
			WarningsOnUpdate: func(obj, old *admissionv1.MutatingWebhookConfiguration) []string {
				return append(staticNameWarnings(obj, old), mutatingWebhookWarnings(gates, obj)...)
			}, HasGeneration: true, ChangesGeneration: api.BodyDiffers[*admissionv1.MutatingWebhookConfiguration]},
		Table: api.Table[*admissionv1.MutatingWebhookConfiguration]{Columns: webhookColumns, Cells: mutatingWebhookCells},
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

func mutatingWebhookCells(c *admissionv1.MutatingWebhookConfiguration) []any {
	return []any{c.Name, int64(len(c.Webhooks)), table.Age(c)}
}

func mutatingWebhookWarnings(gates features.Gates, obj *admissionv1.MutatingWebhookConfiguration) (warnings []string) {
	if !gates.Enabled(features.ExcludeAdmissionWebhookVirtualResources) {
		return nil
	}
	for i := range obj.Webhooks {
		warnings = append(warnings, exemptRuleWarnings(i, obj.Webhooks[i].Rules)...)
	}
	return warnings
}
