// Package admissionregistration describes the kinds that configure admission: webhook
// configurations, admission policies in CEL, and policy bindings. Packages
// admission/webhook and admission/policy run them.
package admissionregistration

import (
	"maps"
	"strings"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/expression"
	"github.com/miniapiserver/miniapiserver/api/validation"
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

// newResource describes a kind of this group, of which k has the parts that differ. The rules of changes are
// called with no old object for a new one; nil means that k.Create.Validate has them all. The warnings of k
// about new objects are those about updates as well.
func newResource[T api.Object](
	gates features.Gates, k api.Kind[T], changes func(at *validation.Path, obj, old T),
) *api.Resource {
	isReserved := gates.Enabled(features.ManifestBasedAdmissionControlConfig)
	k.Names.Categories = []string{"api-extensions"}
	k.Storage.Prefix = k.Names.Name
	k.Create.AllowUnqualifiedFinalizers = true
	k.Create.ValidateOnCreate = validation.Rules(func(at *validation.Path, obj T) {
		if changes != nil {
			var none T
			changes(at, obj, none)
		}
		if name := obj.GetName(); isReserved && strings.HasSuffix(name, staticSuffix) {
			at.Child("metadata").Child("name").Invalid(name, isStatic)
		}
	})
	warnings := k.Create.WarningsOnCreate
	warn := func(obj T, ofName bool) (all []string) {
		if ofName && strings.HasSuffix(obj.GetName(), staticSuffix) {
			all = append(all, "metadata.name: "+isStatic)
		}
		if warnings != nil {
			all = append(all, warnings(obj)...)
		}
		return all
	}
	k.Create.WarningsOnCreate = func(obj T) []string { return warn(obj, !isReserved) }
	k.Update.RevalidateMetadata, k.Update.RequireResourceVersion, k.Update.HasGeneration = true, true, true
	if changes != nil {
		k.Update.ValidateUpdate = validation.Changes(changes)
	}
	k.Update.WarningsOnUpdate = func(obj, _ T) []string { return warn(obj, true) }
	return api.NewResource(k)
}
