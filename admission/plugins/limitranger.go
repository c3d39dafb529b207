package plugins

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/admission/quota"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

// limitRangerAnnotation lists the defaults that were set.
const limitRangerAnnotation = "kubernetes.io/limit-ranger"

// limitRanger sets default requests and limits of containers, and checks pods and claims against
// the limit ranges of their namespace.
func limitRanger(o *admission.Objects, x quota.Exclusions) admission.Plugin {
	ranges := admission.NewReader[*corev1.LimitRange](o, corev1.Resource("limitranges"))
	each := func(do func(*corev1.LimitRange, api.Object) error) func(context.Context, *registry.Attributes) error {
		return func(ctx context.Context, a *registry.Attributes) error {
			if a.Old != nil && a.Old.GetDeletionTimestamp() != nil {
				return nil
			}
			list, err := ranges.List(ctx, a.Namespace)
			if err != nil {
				return err
			}
			for _, r := range list {
				if err := do(r, a.Object); err != nil {
					return admission.Forbidden(a, err)
				}
			}
			return nil
		}
	}
	return admission.Plugin{
		Handles: []admission.Handles{
			{Verbs: []string{api.VerbCreate}, Resources: admission.CoreResources("pods", "persistentvolumeclaims")},
			{Verbs: []string{api.VerbUpdate}, Resources: admission.CoreResources("pods/resize", "persistentvolumeclaims")},
		},
		Mutate:   each(setLimitDefaults),
		Validate: each(func(r *corev1.LimitRange, obj api.Object) error { return checkLimits(r, obj, x) }),
	}
}

// setLimitDefaults sets the missing requests and limits of containers.
func setLimitDefaults(r *corev1.LimitRange, obj api.Object) error {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil
	}
	requests, limits := corev1.ResourceList{}, corev1.ResourceList{}
	for i := range r.Spec.Limits {
		if l := &r.Spec.Limits[i]; l.Type == corev1.LimitTypeContainer {
			setMissing(requests, l.DefaultRequest, true)
			setMissing(limits, l.Default, true)
		}
	}
	var messages []string
	for _, set := range []struct {
		kind       string
		containers []corev1.Container
	}{{"container", pod.Spec.Containers}, {"init container", pod.Spec.InitContainers}} {
		for i := range set.containers {
			messages = append(messages, setContainerDefaults(&set.containers[i], set.kind, requests, limits)...)
		}
	}
	if len(messages) > 0 {
		if pod.Annotations == nil {
			pod.Annotations = map[string]string{}
		}
		pod.Annotations[limitRangerAnnotation] = "LimitRanger plugin set: " + strings.Join(messages, "; ")
	}
	return nil
}

// setContainerDefaults sets the missing requests and limits of one container and describes them.
func setContainerDefaults(c *corev1.Container, kind string, requests, limits corev1.ResourceList) []string {
	var messages []string
	fill := func(what string, list *corev1.ResourceList, from corev1.ResourceList) {
		if len(from) == 0 {
			return
		}
		if *list == nil {
			*list = corev1.ResourceList{}
		}
		if names := setMissing(*list, from, false); len(names) > 0 {
			messages = append(messages, strings.Join(names, ", ")+" "+what+" for "+kind+" "+c.Name)
		}
	}
	fill("request", &c.Resources.Requests, requests)
	fill("limit", &c.Resources.Limits, limits)
	return messages
}

// setMissing copies the quantities that list lacks, or all, and returns their sorted names.
func setMissing(list, from corev1.ResourceList, all bool) []string {
	var names []string
	for name, q := range from {
		if _, ok := list[name]; !ok || all {
			list[name] = q.DeepCopy()
			names = append(names, string(name))
		}
	}
	slices.Sort(names)
	return names
}
