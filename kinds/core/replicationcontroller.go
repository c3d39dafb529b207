package core

import (
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/scale"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/core/pod"
	"github.com/miniapiserver/miniapiserver/kinds/workload"
)

// ReplicationController describes the kind ReplicationController, the predecessor of
// ReplicaSet.
func ReplicationController(gates features.Gates) *api.Resource {
	return api.NewResource(pod.WithPodTemplate(gates, controllerTemplate, api.Kind[*corev1.ReplicationController]{
		Names: api.Names{
			Name: "replicationcontrollers", Singular: "replicationcontroller", Kind: "ReplicationController",
			ShortNames: []string{"rc"},
			Categories: []string{"all"},
			Namespaced: true,
		},
		Versions:     api.WithFieldLabels(api.Served(corev1.SchemeGroupVersion), api.NameLabel, api.NamespaceLabel, "status.replicas"),
		Default:      defaultReplicationController,
		Storage:      api.Storage{Prefix: "controllers"},
		ValidateName: validation.LongName,
		Checks: api.Checks(
			api.Metadata,
			api.RevalidatedMetadata,
			api.OnCreate(api.Rules(replicationControllerRules)),
			api.Changes(replicationControllerChanges),
			api.Declared,
			pod.WarnOfName,
			api.WarnOfChange(replicationControllerWarnings(gates)),
		),
		HasGeneration: true,
		Status:        api.NewStatus(nil, api.Metadata, api.Changes(replicationControllerStatusChanges), api.Declared),
		Selectable: func(obj *corev1.ReplicationController) map[string]string {
			replicas := obj.Status.Replicas
			return map[string]string{"status.replicas": strconv.Itoa(int(replicas))}
		},
		Subresources: []api.Subresource{scaleReplicationController()},
		Delete:       api.Deletion{OrphanByDefault: true},
		Table:        api.Rows(replicationControllerRow),
	}))
}

func controllerTemplate(obj *corev1.ReplicationController) *corev1.PodTemplateSpec {
	return obj.Spec.Template
}

// defaultReplicationController copies missing labels and selector from the pod template.
func defaultReplicationController(c *corev1.ReplicationController) {
	api.SetDefault(&c.Spec.Replicas, 1)
	if c.Spec.Template == nil {
		return
	}
	pod.DefaultTemplate(c.Spec.Template)
	if len(c.Spec.Template.Labels) == 0 {
		return
	}
	if len(c.Spec.Selector) == 0 {
		c.Spec.Selector = maps.Clone(c.Spec.Template.Labels)
	}
	if len(c.Labels) == 0 {
		c.Labels = maps.Clone(c.Spec.Template.Labels)
	}
}

// scaleReplicationController describes the subresource scale.
func scaleReplicationController() *api.View {
	return scale.New(scale.Replicas[*corev1.ReplicationController]{
		Replicas: map[string]string{"v1": scale.ReplicasPath},
		Wanted:   func(obj *corev1.ReplicationController) **int32 { return &obj.Spec.Replicas },
		Current:  func(obj *corev1.ReplicationController) int32 { return obj.Status.Replicas },
		Selector: func(obj *corev1.ReplicationController) (string, error) {
			return labels.SelectorFromSet(obj.Spec.Selector).String(), nil
		},
	})
}

func replicationControllerRow(row *table.Row, c *corev1.ReplicationController) {
	row.Replicas(c, c.Spec.Replicas, c.Status.Replicas, c.Status.ReadyReplicas,
		table.ValueOrZero(c.Spec.Template).Spec.Containers, labels.FormatLabels(c.Spec.Selector))
}

func replicationControllerRules(at *validation.Path, c *corev1.ReplicationController) {
	replicationSpecRules(at.Child("spec"), &c.Spec, nil)
}

// replicationControllerChanges validates an update: no field is immutable.
func replicationControllerChanges(at *validation.Path, obj, old *corev1.ReplicationController) {
	replicationSpecRules(at.Child("spec"), &obj.Spec, old.Spec.Template)
}

func replicationSpecRules(at *validation.Path, s *corev1.ReplicationControllerSpec, old *corev1.PodTemplateSpec) {
	validation.NonNegative(at.Child("minReadySeconds"), s.MinReadySeconds)
	if len(s.Selector) == 0 {
		at.Child("selector").Required("")
	}
	if s.Replicas == nil {
		at.Child("replicas").Required("")
	} else {
		validation.NonNegative(at.Child("replicas"), *s.Replicas)
	}
	template := at.Child("template")
	if s.Template == nil {
		template.Required("")
		return
	}
	if len(s.Selector) > 0 && !labels.SelectorFromSet(s.Selector).Matches(labels.Set(s.Template.Labels)) {
		template.Child("metadata").Child("labels").Invalid(s.Template.Labels, workload.SelectorMismatch)
	}
	pod.TemplateRules(template, s.Template, old)
	workload.RequireRestartAlways(template.Child("spec"), &s.Template.Spec)
	workload.ForbidActiveDeadline(template.Child("spec"), &s.Template.Spec, "ReplicationController")
}

func replicationControllerStatusChanges(at *validation.Path, obj, _ *corev1.ReplicationController) {
	status, s := at.Child("status"), &obj.Status
	workload.NonNegativeCounts(status, workload.PodCount{Name: "replicas", Value: s.Replicas},
		workload.PodCount{Name: "fullyLabeledReplicas", Value: s.FullyLabeledReplicas},
		workload.PodCount{Name: "readyReplicas", Value: s.ReadyReplicas},
		workload.PodCount{Name: "availableReplicas", Value: s.AvailableReplicas})
	validation.NonNegative(status.Child("observedGeneration"), s.ObservedGeneration)
	workload.CountsAtMost(status, s.Replicas, workload.MoreThanAll,
		workload.PodCount{Name: "fullyLabeledReplicas", Value: s.FullyLabeledReplicas},
		workload.PodCount{Name: "readyReplicas", Value: s.ReadyReplicas},
		workload.PodCount{Name: "availableReplicas", Value: s.AvailableReplicas})
	workload.CountsAtMost(status, s.ReadyReplicas, workload.MoreThanReady,
		workload.PodCount{Name: "availableReplicas", Value: s.AvailableReplicas})
}

func podTemplateRules(at *validation.Path, t *corev1.PodTemplate) {
	pod.TemplateRules(at.Child("template"), &t.Template, nil)
}

func podTemplateChanges(at *validation.Path, obj, old *corev1.PodTemplate) {
	pod.TemplateRules(at.Child("template"), &obj.Template, &old.Template)
}

// replicationControllerWarnings returns the warnings about a new template, and in an update those about the stored
// one, as in kube-apiserver.
func replicationControllerWarnings(gates features.Gates) func(obj, old *corev1.ReplicationController) []string {
	ofTemplate := pod.TemplateWarnings(gates, warnedTemplate, "spec", "template")
	return func(obj, old *corev1.ReplicationController) []string {
		switch {
		case old == nil:
			return ofTemplate(obj, nil)
		case !api.SpecChanged(obj, old):
			return nil
		}
		return ofTemplate(old, nil)
	}
}

func warnedTemplate(obj *corev1.ReplicationController) *corev1.PodTemplateSpec {
	if obj.Spec.Template == nil {
		return &corev1.PodTemplateSpec{}
	}
	return obj.Spec.Template
}
