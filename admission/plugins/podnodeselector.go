package plugins

import (
	"context"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/configfile"
	"github.com/miniapiserver/miniapiserver/registry"
)

const (
	nodeSelectorAnnotation = "scheduler.alpha.kubernetes.io/node-selector"
	// clusterNodeSelector is the key of the selector for namespaces without an annotation.
	clusterNodeSelector = "clusterDefaultNodeSelector"
)

// podNodeSelector adds the node selector in a namespace's annotation to its pods, and allows only
// the labels that the configuration lists for the namespace.
func podNodeSelector(c *Config, file []byte) (admission.Plugin, error) {
	config, _, err := configfile.DecodeLenient[struct {
		Selectors map[string]string `json:"podNodeSelectorPluginConfig"`
	}](file)
	if err != nil {
		return admission.Plugin{}, err
	}
	listed := map[string]labels.Set{}
	for namespace, text := range config.Selectors {
		set, err := labels.ConvertSelectorToLabelsMap(text)
		if err != nil {
			return admission.Plugin{}, fmt.Errorf("%s: %w", namespace, err)
		}
		listed[namespace] = set
	}
	namespaces := admission.NamespacesOf(c.Objects)
	// selector returns the node selector of the pod's namespace, with which the one of the pod may not conflict.
	selector := func(ctx context.Context, a *registry.Attributes, pod *corev1.Pod) (labels.Set, error) {
		ns, err := namespaces.Get(ctx, "", a.Namespace)
		if err != nil {
			return nil, err
		}
		wanted := listed[clusterNodeSelector]
		if text, ok := ns.Annotations[nodeSelectorAnnotation]; ok {
			if wanted, err = labels.ConvertSelectorToLabelsMap(text); err != nil {
				return nil, err
			}
		}
		if labels.Conflicts(wanted, pod.Spec.NodeSelector) {
			return nil, apierrors.NewForbidden(a.GroupResource(), pod.Name,
				errors.New("pod node label selector conflicts with its namespace node label selector"))
		}
		return wanted, nil
	}
	checkListed := func(a *registry.Attributes, pod *corev1.Pod) error {
		if !allLabelsListed(pod.Spec.NodeSelector, listed[a.Namespace]) {
			return apierrors.NewForbidden(a.GroupResource(), pod.Name,
				errors.New("pod node label selector labels conflict with its namespace whitelist"))
		}
		return nil
	}
	return admission.Plugin{
		Handles: admission.HandlesFor(admission.CoreResources("pods"), api.VerbCreate),
		Mutate: func(ctx context.Context, a *registry.Attributes) error {
			pod := a.Object.(*corev1.Pod)
			wanted, err := selector(ctx, a, pod)
			if err != nil {
				return err
			}
			if len(wanted) > 0 {
				merged := maps.Clone(map[string]string(wanted))
				maps.Copy(merged, pod.Spec.NodeSelector)
				pod.Spec.NodeSelector = merged
			}
			return checkListed(a, pod)
		},
		Validate: func(ctx context.Context, a *registry.Attributes) error {
			pod := a.Object.(*corev1.Pod)
			if _, err := selector(ctx, a, pod); err != nil {
				return err
			}
			return checkListed(a, pod)
		},
	}, nil
}

// allLabelsListed reports whether all labels of set are listed. An empty list allows all.
func allLabelsListed(set, listed labels.Set) bool {
	if len(listed) == 0 {
		return true
	}
	for key, value := range set {
		if is, ok := listed[key]; !ok || is != value {
			return false
		}
	}
	return true
}
