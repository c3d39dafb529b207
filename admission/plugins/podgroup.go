package plugins

import (
	"context"
	"slices"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

// PodGroupProtection is the finalizer that prevents deletion of a pod group while it has pods.
const PodGroupProtection = "scheduling.k8s.io/podgroup-protection"

func podGroups() []schema.GroupResource {
	return []schema.GroupResource{schedulingv1beta1.Resource("podgroups")}
}

// podGroupProtection adds the finalizer to new pod groups. A controller removes it when no pod is
// in the group.
func podGroupProtection(*admission.Objects) admission.Plugin {
	return admission.Plugin{
		Handles: admission.HandlesFor(podGroups(), api.VerbCreate),
		Mutate: func(_ context.Context, a *registry.Attributes) error {
			if !slices.Contains(a.Object.GetFinalizers(), PodGroupProtection) {
				a.Object.SetFinalizers(append(a.Object.GetFinalizers(), PodGroupProtection))
			}
			return nil
		},
	}
}
