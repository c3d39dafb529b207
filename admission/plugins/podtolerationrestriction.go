package plugins

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

// Annotations of namespaces that contain tolerations in JSON.
const (
	defaultTolerationsAnnotation = "scheduler.alpha.kubernetes.io/defaultTolerations"
	tolerationsListAnnotation    = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"
)

// podTolerationRestriction adds the default tolerations of a namespace to its pods and rejects
// pods with tolerations that the namespace does not list. The configuration applies to namespaces without
// annotations.
func podTolerationRestriction(c *Config, file []byte) (admission.Plugin, error) {
	var config struct {
		APIVersion string              `json:"apiVersion"`
		Kind       string              `json:"kind"`
		Default    []corev1.Toleration `json:"default,omitempty"`
		Whitelist  []corev1.Toleration `json:"whitelist,omitempty"`
	}
	if err := yaml.UnmarshalStrict(file, &config); err != nil {
		return admission.Plugin{}, err
	}
	namespaces := admission.NamespacesOf(c.Objects)
	// annotated returns the tolerations in an annotation of the namespace, or nil if it is not set.
	annotated := func(ctx context.Context, a *registry.Attributes, annotation string) ([]corev1.Toleration, error) {
		ns, err := namespaces.Get(ctx, "", a.Namespace)
		if err != nil {
			return nil, err
		}
		text, ok := ns.Annotations[annotation]
		if !ok {
			return nil, nil
		}
		list := []corev1.Toleration{}
		if text == "" {
			return list, nil
		}
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			return nil, admission.Forbiddenf(a, "annotation %s of namespace %s: %w", annotation, a.Namespace, err)
		}
		return list, nil
	}
	return admission.Plugin{
		Handles: admission.HandlesFor(admission.CoreResources("pods"), api.VerbCreate, api.VerbUpdate),
		Mutate: func(ctx context.Context, a *registry.Attributes) error {
			spec := &a.Object.(*corev1.Pod).Spec
			tolerations := spec.Tolerations
			if a.Verb == api.VerbCreate {
				more, err := annotated(ctx, a, defaultTolerationsAnnotation)
				if err != nil {
					return err
				}
				if more == nil {
					more = config.Default
				}
				tolerations = mergeTolerations(more, tolerations)
			}
			if !isBestEffort(spec) {
				tolerations = mergeTolerations(tolerations, []corev1.Toleration{{
					Key: corev1.TaintNodeMemoryPressure, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule,
				}})
			}
			spec.Tolerations = tolerations
			return nil
		},
		Validate: func(ctx context.Context, a *registry.Attributes) error {
			tolerations := a.Object.(*corev1.Pod).Spec.Tolerations
			if len(tolerations) == 0 {
				return nil
			}
			listed, err := annotated(ctx, a, tolerationsListAnnotation)
			scope := "namespace"
			if listed == nil {
				listed, scope = config.Whitelist, "cluster"
			}
			if err != nil || len(listed) == 0 {
				return err
			}
			for i := range tolerations {
				if !slices.ContainsFunc(listed, func(l corev1.Toleration) bool { return tolerationCovers(&l, &tolerations[i]) }) {
					return admission.Forbidden(a, fmt.Errorf("pod tolerations (possibly merged with namespace default tolerations) conflict with its %s whitelist", scope))
				}
			}
			return nil
		},
	}, nil
}

// isBestEffort reports whether no part of a pod requests CPU or memory.
func isBestEffort(spec *corev1.PodSpec) bool {
	asks := func(r corev1.ResourceRequirements) bool {
		for _, list := range []corev1.ResourceList{r.Requests, r.Limits} {
			for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
				if q, ok := list[name]; ok && !q.IsZero() {
					return true
				}
			}
		}
		return false
	}
	if spec.Resources != nil && asks(*spec.Resources) {
		return false
	}
	container := func(c corev1.Container) bool { return asks(c.Resources) }
	return !slices.ContainsFunc(spec.Containers, container) && !slices.ContainsFunc(spec.InitContainers, container)
}
