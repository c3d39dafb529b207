package plugins

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/admission/quota"
	"github.com/miniapiserver/miniapiserver/api"
	podkind "github.com/miniapiserver/miniapiserver/api/core/pod"
	"github.com/miniapiserver/miniapiserver/registry"
)

// Causes in the rejection of a pod resize.
const (
	causeNodeCapacity        metav1.CauseType = "NodeCapacity"
	causeUnsupportedPlatform metav1.CauseType = "UnsupportedPlatform"
)

// podResizeValidator rejects pod resizes that exceed the node's allocatable resources or that the
// node does not support.
func podResizeValidator(o *admission.Objects) admission.Plugin {
	nodes := admission.NodesOf(o)
	return admission.Plugin{
		Handles: admission.HandlesFor(admission.CoreResources("pods/resize"), api.VerbUpdate),
		Validate: func(ctx context.Context, a *registry.Attributes) error {
			node, pod, err := changedOnNode(ctx, a, nodes)
			if node == nil || err != nil {
				return err
			}
			if system, ok := node.Labels[corev1.LabelOSStable]; ok && system != string(corev1.Linux) {
				return forbiddenResize(a, fmt.Errorf("pod resize is only supported on linux nodes, node %q is %q", node.Name, system), causeUnsupportedPlatform)
			}
			if err := fitsAllocatable(pod, node.Status.Allocatable); err != nil {
				return forbiddenResize(a, err, causeNodeCapacity)
			}
			return nil
		},
	}
}

// changedOnNode returns the node and the pod if the write changes the spec of a pod that is bound
// to a node.
func changedOnNode(ctx context.Context, a *registry.Attributes, nodes *admission.Reader[*corev1.Node]) (*corev1.Node, *corev1.Pod, error) {
	pod, old := a.Object.(*corev1.Pod), a.Old.(*corev1.Pod)
	if pod.Spec.NodeName == "" || equality.Semantic.DeepEqual(pod.Spec, old.Spec) {
		return nil, nil, nil
	}
	node, err := nodes.Get(ctx, "", pod.Spec.NodeName)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil, admission.Forbiddenf(a, "node %q not found", pod.Spec.NodeName)
	case err != nil:
		return nil, nil, admission.Forbiddenf(a, "failed to get node %q: %w", pod.Spec.NodeName, err)
	}
	return node, pod, nil
}

// fitsAllocatable compares the requests of a pod with the allocatable resources of its node.
func fitsAllocatable(pod *corev1.Pod, allocatable corev1.ResourceList) error {
	needs := quota.Pod(pod, quota.Requests)
	var missing []string
	for _, r := range []struct {
		name  corev1.ResourceName
		milli bool
	}{{corev1.ResourceCPU, true}, {corev1.ResourceMemory, false}} {
		need, has := needs[r.name], allocatable[r.name]
		need.Add(pod.Spec.Overhead[r.name])
		if need.Cmp(has) <= 0 {
			continue
		}
		requested, available := need.Value(), has.Value()
		if r.milli {
			requested, available = need.MilliValue(), has.MilliValue()
		}
		missing = append(missing, fmt.Sprintf("%s, requested: %d, allocatable: %d", r.name, requested, available))
	}
	if len(missing) == 0 {
		return nil
	}
	return errors.New("node didn't have enough allocatable resources: " + strings.Join(missing, "; "))
}

func forbiddenResize(a *registry.Attributes, err error, cause metav1.CauseType) error {
	status := admission.Forbidden(a, err)
	status.ErrStatus.Details.Causes = append(status.ErrStatus.Details.Causes, metav1.StatusCause{Type: cause})
	return status
}

// nodeDeclaredFeatureValidator rejects changes of a pod that require features which its node does
// not declare.
func nodeDeclaredFeatureValidator(o *admission.Objects) admission.Plugin {
	nodes := admission.NodesOf(o)
	return admission.Plugin{
		Handles: admission.HandlesFor(admission.CoreResources("pods", "pods/resize"), api.VerbUpdate),
		Validate: func(ctx context.Context, a *registry.Attributes) error {
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
				return admission.Forbiddenf(a, "pod update requires features %s which are not available on node %q", strings.Join(missing, ", "), node.Name)
			}
			return nil
		},
	}
}

// featuresOfChange returns the node features that a change of a pod requires.
func featuresOfChange(is, was *corev1.PodSpec) (features []string) {
	if !equality.Semantic.DeepEqual(is.Resources, was.Resources) {
		features = append(features, "InPlacePodLevelResourcesVerticalScaling")
	}
	for i := range was.InitContainers {
		c := &was.InitContainers[i]
		if !podkind.IsSidecar(c) && i < len(is.InitContainers) && !equality.Semantic.DeepEqual(c.Resources, is.InitContainers[i].Resources) {
			return append(features, "InPlacePodVerticalScalingInitContainers")
		}
	}
	return features
}
