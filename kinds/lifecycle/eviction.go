package lifecycle

import (
	"time"

	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Eviction describes the kind Eviction: the state of the eviction of a pod, and of the responders
// that take part in it, one after the other. The markers of its Go type state the rules of its
// spec. now is the clock for the validation of times.
func Eviction(now func() time.Time) *api.Resource {
	return api.NewResource(api.Kind[*lifecyclev1alpha1.Eviction]{
		Names:                  api.Names{Name: "evictions", Singular: "eviction", Kind: "Eviction", Namespaced: true},
		Versions:               api.Preview[lifecyclev1alpha1.Eviction](lifecyclev1alpha1.SchemeGroupVersion, features.EvictionRequestAPI),
		Storage:                api.Storage{Prefix: "evictions"},
		RequireResourceVersion: true,
		HasGeneration:          true,
		Status: api.NewStatus(api.KeepMetadataOf,
			api.Metadata,
			api.Changes(func(at *validation.Path, obj, old *lifecyclev1alpha1.Eviction) {
				evictionStatusRules(at.Child("status"), &obj.Status, &old.Status, now())
			}),
			api.Declared,
		),
		Reset: map[string][]string{"status": {"metadata", "spec"}},
		Table: api.Rows(evictionRow),
	})
}
