package plugins

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/registry"
)

// priority sets the priority of pods, and of pod groups if they are served, to that of their class,
// and allows only one default class.
func priority(o *admission.Objects, gates features.Gates) admission.Plugin {
	p := priorityPlugin{admission.NewReader[*schedulingv1.PriorityClass](o, schedulingv1.Resource("priorityclasses")),
		gates.Enabled(features.PodGroupPreemptionPolicy)}
	handles := []admission.Handles{
		{Verbs: []string{api.VerbCreate, api.VerbUpdate}, Resources: admission.CoreResources("pods")},
		{Verbs: []string{api.VerbCreate, api.VerbUpdate}, Resources: []schema.GroupResource{schedulingv1.Resource("priorityclasses")}},
	}
	groups := map[string]schema.GroupResource{
		features.GenericWorkload: schedulingv1beta1.Resource("podgroups"), features.CompositePodGroup: schedulingv1alpha3.Resource("compositepodgroups"),
	}
	for gate, resource := range groups {
		if gates.Enabled(gate) && o.Serves(resource) {
			handles = append(handles, admission.Handles{Verbs: []string{api.VerbCreate}, Resources: []schema.GroupResource{resource}})
		}
	}
	return admission.Plugin{
		Handles:  handles,
		Mutate:   p.mutate,
		Validate: p.validate,
	}
}

type priorityPlugin struct {
	classes *admission.Reader[*schedulingv1.PriorityClass]
	// hasGroupPolicies: pod groups have a preemption policy.
	hasGroupPolicies bool
}

func (p priorityPlugin) mutate(ctx context.Context, a *registry.Attributes) error {
	switch group := a.Object.(type) {
	case *schedulingv1beta1.PodGroup:
		return setGroupPriority(ctx, p, a, "pod group", &group.Spec.PriorityClassName, &group.Spec.Priority, &group.Spec.PreemptionPolicy)
	case *schedulingv1alpha3.CompositePodGroup:
		return setGroupPriority(ctx, p, a, "composite pod group", &group.Spec.PriorityClassName, &group.Spec.Priority,
			&group.Spec.PreemptionPolicy)
	}
	pod, ok := a.Object.(*corev1.Pod)
	if !ok {
		return nil
	}
	if old, ok := a.Old.(*corev1.Pod); ok {
		// Fields that were set on creation are preserved if a client omits them.
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
		return admission.Forbiddenf(a, "the integer value of priority (%d) must not be provided in pod spec; priority admission controller computed %d from the given PriorityClass name", *pod.Spec.Priority, value)
	}
	pod.Spec.Priority = &value
	if policy == nil {
		return nil
	}
	if pod.Spec.PreemptionPolicy != nil && *pod.Spec.PreemptionPolicy != *policy {
		return admission.Forbiddenf(a, "the string value of PreemptionPolicy (%s) must not be provided in pod spec; priority admission controller computed %s from the given PriorityClass name", *pod.Spec.PreemptionPolicy, *policy)
	}
	preemption := *policy
	pod.Spec.PreemptionPolicy = &preemption
	return nil
}

// setGroupPriority is mutate for a new group of pods, whose kind is that of the message.
func setGroupPriority[P ~string](ctx context.Context, p priorityPlugin, a *registry.Attributes, kind string,
	class *string, priority **int32, preemption **P) error {
	value, policy, err := p.resolve(ctx, a, class)
	if err != nil {
		return err
	}
	if *priority != nil && **priority != value {
		return admission.Forbiddenf(a, "priority set in the %s (%d) must match the priority computed (%d) based on the priority class set in the spec", kind, **priority, value)
	}
	*priority = &value
	if !p.hasGroupPolicies || policy == nil {
		return nil
	}
	computed := P(*policy)
	if *preemption != nil && **preemption != computed {
		return admission.Forbiddenf(a, "preemptionPolicy set in the %s (%s) must match the preemptionPolicy computed (%s) based on the priority class set in the spec", kind, **preemption, computed)
	}
	*preemption = &computed
	return nil
}

// resolve returns the values of a priority class. If the name is empty, it sets it to the default
// class.
func (p priorityPlugin) resolve(ctx context.Context, a *registry.Attributes, name *string) (int32, *corev1.PreemptionPolicy, error) {
	if *name == "" {
		class, err := p.defaultClass(ctx)
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
	class, err := p.classes.Get(ctx, "", *name)
	switch {
	case apierrors.IsNotFound(err):
		return 0, nil, admission.Forbiddenf(a, "no PriorityClass with name %v was found", *name)
	case err != nil:
		return 0, nil, fmt.Errorf("failed to get PriorityClass with name %s: %w", *name, err)
	}
	return class.Value, class.PreemptionPolicy, nil
}

// defaultClass returns the default class, the one with the lowest value if there are several, or
// nil if there is none.
func (p priorityPlugin) defaultClass(ctx context.Context) (*schedulingv1.PriorityClass, error) {
	all, err := p.classes.List(ctx, "")
	var found *schedulingv1.PriorityClass
	for _, c := range all {
		if c.GlobalDefault && (found == nil || found.Value > c.Value) {
			found = c
		}
	}
	return found, err
}

func (p priorityPlugin) validate(ctx context.Context, a *registry.Attributes) error {
	class, ok := a.Object.(*schedulingv1.PriorityClass)
	if !ok || !class.GlobalDefault {
		return nil
	}
	other, err := p.defaultClass(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("failed to get default priority class: %w", err)
	case other != nil && (a.Verb == api.VerbCreate || other.Name != class.Name):
		return admission.Forbiddenf(a, "PriorityClass %v is already marked as default. Only one default can exist", other.Name)
	}
	return nil
}
