package plugins

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	podkind "github.com/miniapiserver/miniapiserver/kinds/core/pod"
	"github.com/miniapiserver/miniapiserver/registry"
)

// nodeDeclaredFeatureValidator rejects changes of a pod, and devices in a ResourceSlice, that require
// features which their nodes do not declare.
func nodeDeclaredFeatureValidator(c *Config, _ []byte) (admission.Plugin, error) {
	if !c.Gates.Enabled(features.NodeDeclaredFeatures) {
		return admission.Plugin{}, nil
	}
	nodes := admission.NodesOf(c.Objects)
	handles := admission.HandlesFor(admission.CoreResources("pods", "pods/resize"), api.VerbUpdate)
	if c.Gates.Enabled(features.DRANodeAllocatableResources) {
		slice := admission.Handles{Verbs: []string{api.VerbCreate, api.VerbUpdate}}
		slice.Resources = append(slice.Resources, resourcev1.Resource("resourceslices"))
		handles = append(handles, slice)
	}
	return admission.Plugin{
		Handles: handles,
		Validate: func(ctx context.Context, a *registry.Attributes) error {
			if slice, ok := a.Object.(*resourcev1.ResourceSlice); ok {
				return nodesOfSliceDeclare(ctx, a, &slice.Spec, nodes)
			}
			return nodeOfPodDeclares(ctx, a, nodes)
		},
	}, nil
}

func nodeOfPodDeclares(ctx context.Context, a *registry.Attributes, nodes *admission.Reader[*corev1.Node]) error {
	needs := featuresOfChange(&a.Object.(*corev1.Pod).Spec, &a.Old.(*corev1.Pod).Spec)
	if len(needs) == 0 {
		return nil
	}
	node, _, err := changedOnNode(ctx, a, nodes)
	if node == nil || err != nil {
		return err
	}
	missing := slices.DeleteFunc(needs, func(f string) bool { return slices.Contains(node.Status.DeclaredFeatures, f) })
	if len(missing) > 0 {
		return admission.Forbiddenf(a, "pod update requires features %s which are not available on node %q",
			strings.Join(missing, ", "), node.Name)
	}
	return nil
}

// featuresOfChange returns the node features that a change of a pod requires. Validation has refused all changes
// of volumes except of the sizes of the ones in memory. The library of kube-apiserver is not used, because it
// compares the resources of init containers by the text of their quantities, which may differ for one amount.
func featuresOfChange(is, was *corev1.PodSpec) (names []string) {
	if !equality.Semantic.DeepEqual(is.Resources, was.Resources) {
		names = append(names, features.InPlacePodLevelResourcesVerticalScaling)
	}
	for i := range was.InitContainers {
		c := &was.InitContainers[i]
		if !podkind.IsSidecar(c) && i < len(is.InitContainers) && !equality.Semantic.DeepEqual(c.Resources, is.InitContainers[i].Resources) {
			names = append(names, features.InPlacePodVerticalScalingInitContainers)
			break
		}
	}
	if !equality.Semantic.DeepEqual(is.Volumes, was.Volumes) {
		names = append(names, features.InPlacePodVerticalScalingMemoryBackedVolumes)
	}
	return names
}

// nodesOfSliceDeclare requires that the nodes of devices that count as resources of their node support it.
func nodesOfSliceDeclare(ctx context.Context, a *registry.Attributes, s *resourcev1.ResourceSliceSpec,
	nodes *admission.Reader[*corev1.Node]) error {
	isTrue := func(b *bool) bool { return b != nil && *b }
	for i := range s.Devices {
		d := &s.Devices[i]
		if len(d.NodeAllocatableResources) == 0 {
			continue
		}
		name, selector, all := s.NodeName, s.NodeSelector, s.AllNodes
		if isTrue(s.PerDeviceNodeSelection) {
			name, selector, all = d.NodeName, d.NodeSelector, d.AllNodes
		}
		var selected []*corev1.Node
		switch {
		case name != nil && *name != "":
			node, err := nodes.Get(ctx, "", *name)
			if apierrors.IsNotFound(err) {
				return admission.Forbiddenf(a, "node %q not found for device %q", *name, d.Name)
			}
			if err != nil {
				return admission.Forbiddenf(a, "failed to get node %q for device %q: %w", *name, d.Name, err)
			}
			selected = append(selected, node)
		case selector != nil || isTrue(all):
			list, err := nodes.List(ctx, "")
			if err != nil {
				return admission.Forbiddenf(a, "failed to list nodes for device %q: %w", d.Name, err)
			}
			selected = list
			if selector != nil {
				s, err := nodeaffinity.NewNodeSelector(selector)
				if err != nil {
					return apierrors.NewBadRequest(fmt.Sprintf("failed to create node selector: %v", err))
				}
				selected = slices.DeleteFunc(list, func(n *corev1.Node) bool { return !s.Match(n) })
			}
		default:
			return admission.Forbiddenf(a, "device %q in ResourceSlice has NodeAllocatableResources but does not map to any nodes", d.Name)
		}
		for _, node := range selected {
			if !slices.Contains(node.Status.DeclaredFeatures, features.DRANodeAllocatableResources) {
				return admission.Forbiddenf(a, "node %q does not support %s feature", node.Name, features.DRANodeAllocatableResources)
			}
		}
	}
	return nil
}
