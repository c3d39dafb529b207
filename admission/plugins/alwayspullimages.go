package plugins

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	podkind "github.com/miniapiserver/miniapiserver/kinds/core/pod"
	"github.com/miniapiserver/miniapiserver/registry"
)

// alwaysPullImages sets the pull policy Always, so that only users with credentials for an image
// can run it.
func alwaysPullImages() admission.Plugin {
	return admission.Plugin{
		Handles: []admission.Handles{
			{Verbs: []string{api.VerbCreate, api.VerbUpdate}, Resources: admission.CoreResources("pods")},
			{Verbs: []string{api.VerbUpdate}, Resources: admission.CoreResources("pods/ephemeralcontainers")},
		},
		Mutate: func(_ context.Context, a *registry.Attributes) error {
			if pod := a.Object.(*corev1.Pod); podkind.HasNewImages(pod, a.Old) {
				eachPullPolicy(&pod.Spec, func(p *corev1.PullPolicy, _ *field.Path) { *p = corev1.PullAlways })
			}
			return nil
		},
		Validate: func(_ context.Context, a *registry.Attributes) (err error) {
			pod := a.Object.(*corev1.Pod)
			if !podkind.HasNewImages(pod, a.Old) {
				return nil
			}
			eachPullPolicy(&pod.Spec, func(p *corev1.PullPolicy, at *field.Path) {
				if *p != corev1.PullAlways && err == nil {
					err = admission.Forbidden(a, field.NotSupported(at, *p, []corev1.PullPolicy{corev1.PullAlways}))
				}
			})
			return err
		},
	}
}

// eachPullPolicy calls visit with the pull policies of all containers and image volumes.
func eachPullPolicy(spec *corev1.PodSpec, visit func(*corev1.PullPolicy, *field.Path)) {
	at := field.NewPath("spec")
	for i := range spec.InitContainers {
		visit(&spec.InitContainers[i].ImagePullPolicy, at.Child("initContainers").Index(i).Child("imagePullPolicy"))
	}
	for i := range spec.Containers {
		visit(&spec.Containers[i].ImagePullPolicy, at.Child("containers").Index(i).Child("imagePullPolicy"))
	}
	for i := range spec.EphemeralContainers {
		visit(&spec.EphemeralContainers[i].ImagePullPolicy, at.Child("ephemeralContainers").Index(i).Child("imagePullPolicy"))
	}
	for i := range spec.Volumes {
		if image := spec.Volumes[i].Image; image != nil {
			visit(&image.PullPolicy, at.Child("volumes").Index(i).Child("image", "pullPolicy"))
		}
	}
}
