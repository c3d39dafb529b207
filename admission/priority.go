package admission

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/registry"
)

// priority gives pods, and pod groups if they have any, the priority of their class,
// and lets only one class be the default.
func priority(o *Objects, gates features.Gates) Plugin {
	p := prioritizer{priorityClassesOf(o)}
	handles := []Handles{
		{Verbs: []string{api.VerbCreate, api.VerbUpdate}, Resources: core("pods")},
		{Verbs: []string{api.VerbCreate, api.VerbUpdate}, Resources: []groupResource{schedulingv1.Resource("priorityclasses")}},
	}
	if gates.Enabled(features.WorkloadAwarePreemption) && o.serves(podGroups()[0]) {
		handles = append(handles, Handles{Verbs: []string{api.VerbCreate}, Resources: podGroups()})
	}
	return Plugin{
		Handles:  handles,
		Mutate:   p.mutate,
		Validate: p.validate,
	}
}

type prioritizer struct {
	classes *reader[*schedulingv1.PriorityClass]
}

func (p prioritizer) mutate(ctx context.Context, a *registry.Attributes) error {
	if group, ok := a.Object.(*schedulingv1alpha2.PodGroup); ok {
		return p.group(ctx, a, &group.Spec)
	}
	pod, ok := a.Object.(*corev1.Pod)
	if !ok {
		return nil
	}
	if old, ok := a.Old.(*corev1.Pod); ok {
		// What was set on creation stays when a client leaves it out.
		if pod.Spec.Priority == nil {
			pod.Spec.Priority = old.Spec.Priority
		}
		if pod.Spec.PreemptionPolicy == nil {
			pod.Spec.PreemptionPolicy = old.Spec.PreemptionPolicy
		}
		return nil
	}
	value, policy, err := p.resolve(ctx, a, &pod.Spec.PriorityClassName)
	if err != nil {
		return err
	}
	if pod.Spec.Priority != nil && *pod.Spec.Priority != value {
		return forbid(a, "the integer value of priority (%d) must not be provided in pod spec; priority admission controller computed %d from the given PriorityClass name", *pod.Spec.Priority, value)
	}
	pod.Spec.Priority = &value
	if policy == nil {
		return nil
	}
	if pod.Spec.PreemptionPolicy != nil && *pod.Spec.PreemptionPolicy != *policy {
		return forbid(a, "the string value of PreemptionPolicy (%s) must not be provided in pod spec; priority admission controller computed %s from the given PriorityClass name", *pod.Spec.PreemptionPolicy, *policy)
	}
	of := *policy
	pod.Spec.PreemptionPolicy = &of
	return nil
}

// group is mutate for a new pod group.
func (p prioritizer) group(ctx context.Context, a *registry.Attributes, spec *schedulingv1alpha2.PodGroupSpec) error {
	value, _, err := p.resolve(ctx, a, &spec.PriorityClassName)
	if err != nil {
		return err
	}
	if spec.Priority != nil && *spec.Priority != value {
		return forbid(a, "priority set in the pod group (%d) must match the priority computed (%d) based on the priority class set in the spec", *spec.Priority, value)
	}
	spec.Priority = &value
	return nil
}

// resolve finds what the class of a pod or of a group means, or the default class,
// whose name is then set.
func (p prioritizer) resolve(ctx context.Context, a *registry.Attributes, name *string) (int32, *corev1.PreemptionPolicy, error) {
	if *name == "" {
		class, err := p.byDefault(ctx)
		switch {
		case err != nil:
			return 0, nil, fmt.Errorf("failed to get default priority class: %w", err)
		case class == nil:
			lower := corev1.PreemptLowerPriority
			return 0, &lower, nil
		}
		*name = class.Name
		return class.Value, class.PreemptionPolicy, nil
	}
	class, err := p.classes.get(ctx, "", *name)
	switch {
	case apierrors.IsNotFound(err):
		return 0, nil, forbid(a, "no PriorityClass with name %v was found", *name)
	case err != nil:
		return 0, nil, fmt.Errorf("failed to get PriorityClass with name %s: %w", *name, err)
	}
	return class.Value, class.PreemptionPolicy, nil
}

// byDefault is the class of pods that name none: the lowest of those that are
// marked, should there be several; nil when there is none.
func (p prioritizer) byDefault(ctx context.Context) (*schedulingv1.PriorityClass, error) {
	all, err := p.classes.list(ctx, "")
	var found *schedulingv1.PriorityClass
	for _, c := range all {
		if c.GlobalDefault && (found == nil || found.Value > c.Value) {
			found = c
		}
	}
	return found, err
}

func (p prioritizer) validate(ctx context.Context, a *registry.Attributes) error {
	class, ok := a.Object.(*schedulingv1.PriorityClass)
	if !ok || !class.GlobalDefault {
		return nil
	}
	other, err := p.byDefault(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("failed to get default priority class: %w", err)
	case other != nil && (a.Verb == api.VerbCreate || other.Name != class.Name):
		return forbid(a, "PriorityClass %v is already marked as default. Only one default can exist", other.Name)
	}
	return nil
}
