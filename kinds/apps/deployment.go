package apps

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/scale"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/core/pod"
	"github.com/miniapiserver/miniapiserver/kinds/workload"
)

// Deployment describes the kind Deployment, which runs replicas of a pod and updates them
// gradually.
func Deployment(gates features.Gates) *api.Resource {
	return api.NewResource(pod.WithPodTemplate(gates, deploymentTemplate, api.Kind[*appsv1.Deployment]{
		Names: api.Names{
			Name: "deployments", Singular: "deployment", Kind: "Deployment",
			ShortNames: []string{"deploy"},
			Categories: []string{"all"},
			Namespaced: true,
		},
		Versions:         api.Served(appsv1.SchemeGroupVersion),
		RemovedVersions:  api.RemovedVersions("apps/v1beta1", "apps/v1beta2", "extensions/v1beta1"),
		Default:          defaultDeployment,
		CompleteBookmark: func(obj *appsv1.Deployment) { obj.Spec.Replicas = new(int32) },
		Storage:          api.Storage{Prefix: "deployments"},
		Checks: api.Checks(
			api.Metadata,
			api.OnCreate(api.Rules(deploymentRules)),
			api.Changes(deploymentChanges),
			api.Declared,
			pod.WarnOfName,
			api.WarnOfChange(pod.TemplateWarnings(gates, deploymentTemplate, "spec", "template")),
		),
		// The controller copies annotations to ReplicaSets, so they change the generation.
		Generation: func(obj, old *appsv1.Deployment) bool {
			return api.BodyChanged(obj, old) || !equality.Semantic.DeepEqual(obj.GetAnnotations(), old.GetAnnotations())
		},
		// A write of status must not change labels.
		Status: api.NewStatus(
			func(obj, old *appsv1.Deployment) { obj.SetLabels(old.GetLabels()) },
			api.Metadata, api.Changes(deploymentStatusChanges), api.Declared,
		),
		Reset:             map[string][]string{"status": {"metadata.labels", "spec"}},
		HiddenAnnotations: []string{appsv1.DeprecatedRollbackTo},
		Subresources:      []api.Subresource{scaleDeployment()},
		Table:             api.Rows(deploymentRow),
	}))
}

func deploymentTemplate(obj *appsv1.Deployment) *corev1.PodTemplateSpec {
	return &obj.Spec.Template
}

func defaultDeployment(obj *appsv1.Deployment) {
	s := &obj.Spec
	pod.DefaultTemplate(&s.Template)
	api.SetDefault(&s.Replicas, 1)
	api.SetDefault(&s.RevisionHistoryLimit, 10)
	api.SetDefault(&s.ProgressDeadlineSeconds, 600)
	if s.Strategy.Type == "" {
		s.Strategy.Type = appsv1.RollingUpdateDeploymentStrategyType
	}
	if s.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType {
		return
	}
	if s.Strategy.RollingUpdate == nil {
		s.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{}
	}
	api.SetDefault(&s.Strategy.RollingUpdate.MaxUnavailable, intstr.FromString("25%"))
	api.SetDefault(&s.Strategy.RollingUpdate.MaxSurge, intstr.FromString("25%"))
}

// scaleDeployment returns the scale subresource of Deployment.
func scaleDeployment() *api.View {
	return scale.New(scale.Replicas[*appsv1.Deployment]{
		Replicas: scale.AppsReplicasPaths(),
		Wanted:   func(obj *appsv1.Deployment) **int32 { return &obj.Spec.Replicas },
		Current:  func(obj *appsv1.Deployment) int32 { return obj.Status.Replicas },
		Selector: func(obj *appsv1.Deployment) (string, error) { return scale.SelectorText(obj.Spec.Selector) },
	})
}

func deploymentRow(row *table.Row, d *appsv1.Deployment) {
	// Unlike for other kinds, the cell of an empty selector is empty.
	chosen := "<invalid>"
	if selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector); err == nil {
		chosen = selector.String()
	}
	row.Name(d.Name)
	row.Text("Ready", "Number of the pod with ready state",
		table.Ratio(d.Status.ReadyReplicas, table.ValueOrZero(d.Spec.Replicas)))
	row.Text("Up-to-date", ".status.updatedReplicas", int64(d.Status.UpdatedReplicas))
	row.Text("Available", ".status.availableReplicas", int64(d.Status.AvailableReplicas))
	row.Age(d)
	row.Wide().Containers(d.Spec.Template.Spec.Containers)
	row.Wide().Text("Selector", ".spec.selector", chosen)
}

func deploymentRules(at *validation.Path, d *appsv1.Deployment) {
	deploymentSpecRules(at.Child("spec"), &d.Spec, nil)
}

func deploymentChanges(at *validation.Path, obj, old *appsv1.Deployment) {
	spec := at.Child("spec")
	deploymentSpecRules(spec, &obj.Spec, &old.Spec)
	validation.Immutable(spec.Child("selector"), obj.Spec.Selector, old.Spec.Selector)
}

func deploymentSpecRules(at *validation.Path, s, old *appsv1.DeploymentSpec) {
	if old == nil {
		old = &appsv1.DeploymentSpec{}
	}
	validation.NonNegative(at.Child("replicas"), *s.Replicas)
	workload.PodSelectorRules(at.Child("selector"), s.Selector, "empty selector is invalid for deployment")
	pods := appsv1.ReplicaSetSpec{Selector: s.Selector, Template: s.Template}
	if !replicatedPodRules(at.Child("template"), &pods, &old.Template) {
		at.Child("selector").Invalid(s.Selector, "invalid label selector")
	}
	strategyRules(at.Child("strategy"), &s.Strategy)
	validation.NonNegative(at.Child("minReadySeconds"), s.MinReadySeconds)
	validation.OptionalNonNegative(at.Child("revisionHistoryLimit"), s.RevisionHistoryLimit)
	if p := s.ProgressDeadlineSeconds; p != nil {
		validation.NonNegative(at.Child("progressDeadlineSeconds"), *p)
		if *p <= s.MinReadySeconds {
			at.Child("progressDeadlineSeconds").Invalid(*p, "must be greater than minReadySeconds")
		}
	}
}

func strategyRules(at *validation.Path, s *appsv1.DeploymentStrategy) {
	rolling := at.Child("rollingUpdate")
	switch s.Type {
	case appsv1.RecreateDeploymentStrategyType:
		if s.RollingUpdate != nil {
			rolling.Forbidden("may not be specified when strategy `type` is 'Recreate'")
		}
	case appsv1.RollingUpdateDeploymentStrategyType:
		if s.RollingUpdate == nil {
			rolling.Required("this should be defaulted and never be nil")
			return
		}
		rollingUpdateRules(rolling, s.RollingUpdate)
	default:
		validation.NotSupported(at, s, appsv1.RecreateDeploymentStrategyType, appsv1.RollingUpdateDeploymentStrategyType)
	}
}

// rollingUpdateRules requires that maxUnavailable or maxSurge is non-zero.
func rollingUpdateRules(at *validation.Path, r *appsv1.RollingUpdateDeployment) {
	if r.MaxUnavailable != nil {
		workload.NumberOrPercent(at.Child("maxUnavailable"), *r.MaxUnavailable)
	}
	if r.MaxSurge != nil {
		workload.NumberOrPercent(at.Child("maxSurge"), *r.MaxSurge)
	}
	if workload.IsZeroOrZeroPercent(r.MaxUnavailable) && workload.IsZeroOrZeroPercent(r.MaxSurge) {
		at.Child("maxUnavailable").Invalid(r.MaxUnavailable, "may not be 0 when `maxSurge` is 0")
	}
	if r.MaxUnavailable != nil {
		workload.PercentAtMost100(at.Child("maxUnavailable"), *r.MaxUnavailable)
	}
}

func deploymentStatusChanges(at *validation.Path, obj, old *appsv1.Deployment) {
	status, s := at.Child("status"), &obj.Status
	validation.NonNegative(status.Child("observedGeneration"), s.ObservedGeneration)
	workload.NonNegativeCounts(status, workload.PodCount{Name: "replicas", Value: s.Replicas},
		workload.PodCount{Name: "updatedReplicas", Value: s.UpdatedReplicas}, workload.PodCount{Name: "readyReplicas", Value: s.ReadyReplicas},
		workload.PodCount{Name: "availableReplicas", Value: s.AvailableReplicas},
		workload.PodCount{Name: "unavailableReplicas", Value: s.UnavailableReplicas})
	validation.OptionalNonNegative(status.Child("terminatingReplicas"), s.TerminatingReplicas)
	validation.OptionalNonNegative(status.Child("collisionCount"), s.CollisionCount)
	workload.CountsAtMost(status, s.Replicas, workload.MoreThanAll, workload.PodCount{Name: "updatedReplicas", Value: s.UpdatedReplicas},
		workload.PodCount{Name: "readyReplicas", Value: s.ReadyReplicas},
		workload.PodCount{Name: "availableReplicas", Value: s.AvailableReplicas})
	workload.CountsAtMost(status, s.ReadyReplicas, workload.MoreThanReady,
		workload.PodCount{Name: "availableReplicas", Value: s.AvailableReplicas})
	workload.CollisionCountUpdate(status.Child("collisionCount"), s.CollisionCount, old.Status.CollisionCount)
}
