package plugins

import (
	"context"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

// defaultIngressClass sets the default class, the newest one if there are several, on ingresses
// without a class.
func defaultIngressClass(o *admission.Objects) admission.Plugin {
	classes := admission.NewReader[*networkingv1.IngressClass](o, networkingv1.Resource("ingressclasses"))
	return admission.Plugin{
		Handles: admission.HandlesFor([]schema.GroupResource{networkingv1.Resource("ingresses")}, api.VerbCreate),
		Mutate: func(ctx context.Context, a *registry.Attributes) error {
			ingress := a.Object.(*networkingv1.Ingress)
			if _, named := ingress.Annotations["kubernetes.io/ingress.class"]; named || ingress.Spec.IngressClassName != nil {
				return nil
			}
			all, err := classes.List(ctx, "")
			if err != nil {
				return admission.Forbidden(a, err)
			}
			all = slices.DeleteFunc(all, func(c *networkingv1.IngressClass) bool {
				return c.Annotations[networkingv1.AnnotationIsDefaultIngressClass] != "true"
			})
			if len(all) == 0 {
				return nil
			}
			newest := slices.MinFunc(all, func(a, b *networkingv1.IngressClass) int { return newerFirst(a, b) })
			ingress.Spec.IngressClassName = &newest.Name
			return nil
		},
	}
}
