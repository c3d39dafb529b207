package plugins

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/configfile"
	"github.com/miniapiserver/miniapiserver/registry"
)

// Annotations of namespaces that contain tolerations in JSON.
const (
	defaultTolerationsAnnotation = "scheduler.alpha.kubernetes.io/defaultTolerations"
	tolerationsListAnnotation    = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"
)

// podTolerationRestriction adds the default tolerations of a namespace to its pods and rejects
// pods with tolerations that the namespace does not list. The configuration applies to namespaces without
// annotations. As in kube-apiserver, a rejection is an internal error, and mutating admission rejects too.
func podTolerationRestriction(c *Config, file []byte) (admission.Plugin, error) {
	config, err := configfile.Decode[struct {
		configfile.Kind
		Default   []corev1.Toleration `json:"default,omitempty"`
		Whitelist []corev1.Toleration `json:"whitelist,omitempty"`
	}](file)
	if err != nil {
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
		err = json.Unmarshal([]byte(text), &list)
		return list, err
	}
	check := func(ctx context.Context, a *registry.Attributes) error {
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
				return fmt.Errorf("pod tolerations (possibly merged with namespace default tolerations) conflict with its %s whitelist", scope)
			}
		}
		return nil
	}
	return admission.Plugin{
		Handles: admission.HandlesFor(admission.CoreResources("pods"), api.VerbCreate, api.VerbUpdate),
		Mutate: func(ctx context.Context, a *registry.Attributes) error {
			spec := &a.Object.(*corev1.Pod).Spec
			var more []corev1.Toleration
			if a.Verb == api.VerbCreate {
				var err error
				if more, err = annotated(ctx, a, defaultTolerationsAnnotation); err != nil {
					return err
				}
				if more == nil {
					more = config.Default
				}
			}
			if !isBestEffort(spec) {
				more = slices.Concat(more, []corev1.Toleration{{
					Key: corev1.TaintNodeMemoryPressure, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule,
				}})
			}
			if len(more) > 0 {
				spec.Tolerations = mergeTolerations(spec.Tolerations, more)
			}
			return check(ctx, a)
		},
		Validate: check,
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
