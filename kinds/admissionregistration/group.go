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

// ruleChecks returns the checks of metadata and of the rules for new and updated objects; old is the zero T for
// a new one.
func ruleChecks[T api.Object](rules func(at *validation.Path, obj, old T)) []api.Check[T] {
	return api.Checks(api.ObjectMeta, api.RulesOfChange(rules), api.RevalidatedObjectMeta)
}

// newResource describes a kind of this group, of which k has the parts that differ. The checks of k are those of
// metadata and its rules, and warnings are further ones.
func newResource[T api.Object](gates features.Gates, k api.Kind[T], warnings ...api.Check[T]) *api.Resource {
	isReserved := gates.Enabled(features.ManifestBasedAdmissionControlConfig)
	k.Names.Categories = []string{"api-extensions"}
	k.Storage.Prefix = k.Names.Name
	k.RequireResourceVersion, k.HasGeneration = true, true
	if isReserved {
		k.Checks = append(k.Checks, api.OnCreate(api.Rules(func(at *validation.Path, obj T) {
			if name := obj.GetName(); strings.HasSuffix(name, staticSuffix) {
				at.Child("metadata").Child("name").Invalid(name, isStatic)
			}
		})))
	}
	ofName := api.Warn(func(obj T) []string {
		if strings.HasSuffix(obj.GetName(), staticSuffix) {
			return []string{"metadata.name: " + isStatic}
		}
		return nil
	})
	if isReserved {
		ofName = api.OnUpdate(ofName)
	}
	k.Checks = append(append(k.Checks, api.Declared[T], ofName), warnings...)
	return api.NewResource(k)
}
