package apps

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/scale"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/core/pod"
	"github.com/miniapiserver/miniapiserver/kinds/workload"
)

// ReplicaSet describes the kind ReplicaSet, which runs replicas of a pod.
func ReplicaSet(gates features.Gates) *api.Resource {
	return api.NewResource(pod.WithPodTemplate(gates, replicaSetTemplate, api.Kind[*appsv1.ReplicaSet]{
		Names: api.Names{
			Name: "replicasets", Singular: "replicaset", Kind: "ReplicaSet",
			ShortNames: []string{"rs"},
			Categories: []string{"all"},
			Namespaced: true,
		},
		Versions:         api.Served(appsv1.SchemeGroupVersion),
		RemovedVersions:  api.RemovedVersions("apps/v1beta2", "extensions/v1beta1"),
		Default:          defaultReplicaSet,
		CompleteBookmark: func(obj *appsv1.ReplicaSet) { obj.Spec.Replicas = new(int32) },
		Storage:          api.Storage{Prefix: "replicasets"},
		Checks: api.Checks(
			api.Metadata,
			api.OnCreate(api.Rules(replicaSetRules)),
			api.Changes(replicaSetChanges),
			api.Declared,
			pod.WarnOfName,
			api.WarnOfChange(pod.TemplateWarnings(gates, replicaSetTemplate, "spec", "template")),
		),
		HasGeneration: true,
		Status:        api.NewStatus(nil, api.Metadata, api.Changes(replicaSetStatusChanges), api.Declared),
		Subresources:  []api.Subresource{scaleReplicaSet()},
		Table:         api.Rows(replicaSetRow),
	}))
}

func replicaSetTemplate(obj *appsv1.ReplicaSet) *corev1.PodTemplateSpec {
	return &obj.Spec.Template
}

func defaultReplicaSet(obj *appsv1.ReplicaSet) {
	s := &obj.Spec
	pod.DefaultTemplate(&s.Template)
	api.SetDefault(&s.Replicas, 1)
}

// scaleReplicaSet returns the scale subresource of ReplicaSet.
func scaleReplicaSet() *api.View {
	return scale.New(scale.Replicas[*appsv1.ReplicaSet]{
		Replicas: map[string]string{"apps/v1": scale.ReplicasPath, "apps/v1beta2": scale.ReplicasPath},
		Wanted:   func(obj *appsv1.ReplicaSet) **int32 { return &obj.Spec.Replicas },
		Current:  func(obj *appsv1.ReplicaSet) int32 { return obj.Status.Replicas },
		Selector: func(obj *appsv1.ReplicaSet) (string, error) { return scale.SelectorText(obj.Spec.Selector) },
	})
}

func replicaSetRow(row *table.Row, s *appsv1.ReplicaSet) {
	row.Replicas(s, s.Spec.Replicas, s.Status.Replicas, s.Status.ReadyReplicas,
		s.Spec.Template.Spec.Containers, metav1.FormatLabelSelector(s.Spec.Selector))
}

func replicaSetRules(at *validation.Path, r *appsv1.ReplicaSet) {
	replicaSetSpecRules(at.Child("spec"), &r.Spec, nil)
}

func replicaSetChanges(at *validation.Path, obj, old *appsv1.ReplicaSet) {
	spec := at.Child("spec")
	replicaSetSpecRules(spec, &obj.Spec, &old.Spec)
	validation.Immutable(spec.Child("selector"), obj.Spec.Selector, old.Spec.Selector)
}

func replicaSetSpecRules(at *validation.Path, s, old *appsv1.ReplicaSetSpec) {
	if old == nil {
		old = &appsv1.ReplicaSetSpec{}
	}
	validation.NonNegative(at.Child("replicas"), *s.Replicas)
	validation.NonNegative(at.Child("minReadySeconds"), s.MinReadySeconds)
	workload.PodSelectorRules(at.Child("selector"), s.Selector, "empty selector is invalid for deployment")
	if !replicatedPodRules(at.Child("template"), s, &old.Template) {
		at.Child("selector").Invalid(s.Selector, "invalid label selector")
	}
}

// replicatedPodRules validates the pods of a ReplicaSet or a Deployment, and reports
// whether the selector is valid.
func replicatedPodRules(at *validation.Path, s *appsv1.ReplicaSetSpec, old *corev1.PodTemplateSpec) bool {
	if !workload.SelectorMatchesTemplate(at, s.Selector, &s.Template) {
		return false
	}
	pod.TemplateRules(at, &s.Template, old)
	workload.RequireRestartAlways(at.Child("spec"), &s.Template.Spec)
	workload.ForbidActiveDeadline(at.Child("spec"), &s.Template.Spec, "ReplicaSet")
	return true
}

func replicaSetStatusChanges(at *validation.Path, obj, _ *appsv1.ReplicaSet) {
	status, s := at.Child("status"), &obj.Status
	workload.NonNegativeCounts(status, workload.PodCount{Name: "replicas", Value: s.Replicas},
		workload.PodCount{Name: "fullyLabeledReplicas", Value: s.FullyLabeledReplicas},
		workload.PodCount{Name: "readyReplicas", Value: s.ReadyReplicas},
		workload.PodCount{Name: "availableReplicas", Value: s.AvailableReplicas})
	validation.NonNegative(status.Child("observedGeneration"), s.ObservedGeneration)
	if s.TerminatingReplicas != nil {
		validation.NonNegative(status.Child("terminatingReplicas"), *s.TerminatingReplicas)
	}
	workload.CountsAtMost(status, s.Replicas, workload.MoreThanAll,
		workload.PodCount{Name: "fullyLabeledReplicas", Value: s.FullyLabeledReplicas},
		workload.PodCount{Name: "readyReplicas", Value: s.ReadyReplicas},
		workload.PodCount{Name: "availableReplicas", Value: s.AvailableReplicas})
	workload.CountsAtMost(status, s.ReadyReplicas, workload.MoreThanReady,
		workload.PodCount{Name: "availableReplicas", Value: s.AvailableReplicas})
}
