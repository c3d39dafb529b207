package plugins

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation/path"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

// runtimeClass adds the overhead, node selector and tolerations of a pod's runtime class.
func runtimeClass(o *admission.Objects) admission.Plugin {
	classes := admission.NewReader[*nodev1.RuntimeClass](o, nodev1.Resource("runtimeclasses"))
	classOf := func(ctx context.Context, a *registry.Attributes, pod *corev1.Pod) (*nodev1.RuntimeClass, error) {
		if pod.Spec.RuntimeClassName == nil {
			return nil, nil
		}
		name := *pod.Spec.RuntimeClassName
		if name == "" {
			return nil, errors.New("resource name may not be empty")
		}
		if faults := path.IsValidPathSegmentName(name); len(faults) > 0 {
			// As in kube-apiserver, whose client refuses the name.
			return nil, fmt.Errorf("invalid resource name %q: %v", name, faults)
		}
		class, err := classes.Get(ctx, "", name)
		if apierrors.IsNotFound(err) {
			return nil, admission.Forbiddenf(a, "pod rejected: RuntimeClass %q not found", name)
		}
		return class, err
	}
	return admission.Plugin{
		Handles: admission.HandlesFor(admission.CoreResources("pods"), api.VerbCreate),
		Mutate: func(ctx context.Context, a *registry.Attributes) error {
			pod := a.Object.(*corev1.Pod)
			class, err := classOf(ctx, a, pod)
			if err != nil || class == nil {
				return err
			}
			return applyRuntimeClass(a, &pod.Spec, class)
		},
		Validate: func(ctx context.Context, a *registry.Attributes) error {
			pod := a.Object.(*corev1.Pod)
			class, err := classOf(ctx, a, pod)
			switch {
			case err != nil:
				return err
			case class != nil && class.Overhead != nil:
				return checkOverhead(a, &pod.Spec, class)
			case pod.Spec.Overhead != nil:
				return admission.Forbiddenf(a, "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")
			}
			return nil
		},
	}
}

func applyRuntimeClass(a *registry.Attributes, spec *corev1.PodSpec, class *nodev1.RuntimeClass) error {
	if class.Overhead != nil {
		if spec.Overhead != nil {
			if err := checkOverhead(a, spec, class); err != nil {
				return err
			}
		}
		spec.Overhead = class.Overhead.PodFixed.DeepCopy()
	}
	if class.Scheduling == nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(class.Scheduling.NodeSelector)) {
		wanted := class.Scheduling.NodeSelector[key]
		if is, ok := spec.NodeSelector[key]; ok && is != wanted {
			return admission.Forbiddenf(a,
				"conflict: runtimeClass.scheduling.nodeSelector[%s] = %s; pod.spec.nodeSelector[%s] = %s", key, wanted, key, is)
		}
		if spec.NodeSelector == nil {
			spec.NodeSelector = map[string]string{}
		}
		spec.NodeSelector[key] = wanted
	}
	spec.Tolerations = mergeTolerations(spec.Tolerations, class.Scheduling.Tolerations)
	return nil
}

func checkOverhead(a *registry.Attributes, spec *corev1.PodSpec, class *nodev1.RuntimeClass) error {
	if !equality.Semantic.DeepEqual(class.Overhead.PodFixed, spec.Overhead) {
		return admission.Forbiddenf(a, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
	}
	return nil
}
