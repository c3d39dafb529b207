package plugins

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

// podTopologyLabels adds the region and zone of a pod's node to the labels of the pod.
func podTopologyLabels(o *admission.Objects) admission.Plugin {
	nodes := admission.NodesOf(o)
	label := func(ctx context.Context, obj api.Object, node string) error {
		n, err := nodes.Get(ctx, "", node)
		switch {
		case apierrors.IsNotFound(err):
			return nil // a pod may be created before its node
		case err != nil:
			return err
		}
		labels := obj.GetLabels()
		for _, key := range []string{corev1.LabelTopologyZone, corev1.LabelTopologyRegion} {
			value, ok := n.Labels[key]
			if !ok {
				continue
			}
			if labels == nil {
				labels = map[string]string{}
			}
			labels[key] = value
		}
		obj.SetLabels(labels)
		return nil
	}
	return admission.Plugin{
		// Like kube-apiserver, it ignores bindings that are not posted to the pod, and bindings
		// without the kind of the target.
		Handles: admission.HandlesFor(admission.CoreResources("pods", "pods/binding"), api.VerbCreate),
		Mutate: func(ctx context.Context, a *registry.Attributes) error {
			switch obj := a.Object.(type) {
			case *corev1.Binding:
				if obj.Target.Kind == "Node" {
					return label(ctx, obj, obj.Target.Name)
				}
			case *corev1.Pod:
				if obj.Spec.NodeName != "" {
					return label(ctx, obj, obj.Spec.NodeName)
				}
			}
			return nil
		},
	}
}
