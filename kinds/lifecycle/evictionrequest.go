package lifecycle

import (
	"strings"

	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// EvictionRequest describes the kind EvictionRequest: the intent of a requester to evict a pod.
// The markers of its Go type state most rules.
func EvictionRequest() *api.Resource {
	return api.NewResource(api.Kind[*lifecyclev1alpha1.EvictionRequest]{
		Names:                  api.Names{Name: "evictionrequests", Singular: "evictionrequest", Kind: "EvictionRequest", Namespaced: true},
		Versions:               api.Preview[lifecyclev1alpha1.EvictionRequest](lifecyclev1alpha1.SchemeGroupVersion, features.EvictionRequestAPI),
		Storage:                api.Storage{Prefix: "evictionrequests"},
		RequireResourceVersion: true,
		Checks:                 api.Checks(api.Metadata, api.OnCreate(api.Rules(requesterRules)), api.Declared),
		HasGeneration:          true,
		Status: api.NewStatus(api.KeepMetadataOf,
			api.Metadata,
			api.Changes(func(at *validation.Path, obj, _ *lifecyclev1alpha1.EvictionRequest) {
				validation.ConditionRules(at.Child("status").Child("conditions"), obj.Status.Conditions)
			}),
			api.Declared,
		),
		Reset: map[string][]string{"status": {"metadata", "spec"}},
		Table: api.Rows(evictionRequestRow),
	})
}

// requesterRules refuses requesters in the domains of Kubernetes. A requester cannot change.
func requesterRules(at *validation.Path, r *lifecyclev1alpha1.EvictionRequest) {
	domain, _, _ := strings.Cut(r.Spec.Requester, "/")
	domain = strings.TrimRight(strings.TrimSpace(strings.ToLower(domain)), ".")
	for _, reserved := range []string{"k8s.io", "kubernetes.io"} {
		if domain == reserved || strings.HasSuffix(domain, "."+reserved) {
			at.Child("spec").Child("requester").Invalid(r.Spec.Requester, "domain names *.k8s.io, *.kubernetes.io are reserved")
			return
		}
	}
}
