package plugins

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podresource "k8s.io/component-helpers/resource"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
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
				return forbiddenResize(a, fmt.Errorf("pod resize is only supported on linux nodes, node %q is %q",
					node.Name, system), causeUnsupportedPlatform)
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
	needs := podresource.PodRequests(pod, podresource.PodResourcesOptions{})
	var missing []string
	for _, r := range []struct {
		name  corev1.ResourceName
		milli bool
	}{{corev1.ResourceCPU, true}, {corev1.ResourceMemory, false}} {
		need, has := needs[r.name], allocatable[r.name]
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
