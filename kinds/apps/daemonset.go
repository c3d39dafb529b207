package apps

import (
	"maps"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/core/pod"
	"github.com/miniapiserver/miniapiserver/kinds/workload"
)

// DaemonSet describes the kind DaemonSet, which runs a pod on each node.
func DaemonSet(gates features.Gates) *api.Resource {
	return api.NewResource(pod.WithPodTemplate(gates, daemonSetTemplate, api.Kind[*appsv1.DaemonSet]{
		Names: api.Names{
			Name: "daemonsets", Singular: "daemonset", Kind: "DaemonSet",
			ShortNames: []string{"ds"},
			Categories: []string{"all"},
			Namespaced: true,
		},
		Versions:         api.Served(appsv1.SchemeGroupVersion),
		RemovedVersions:  api.RemovedVersions("apps/v1beta2", "extensions/v1beta1"),
		CheckConversion:  checkTemplateGeneration,
		Default:          defaultDaemonSet,
		CompleteBookmark: func(obj *appsv1.DaemonSet) { setTemplateGeneration(obj, 0) },
		Storage:          api.Storage{Prefix: "daemonsets"},
		Prepare: api.Prepare(func(obj *appsv1.DaemonSet) {
			setTemplateGeneration(obj, max(1, templateGeneration(obj)))
		}, func(obj, old *appsv1.DaemonSet) {
			generation := templateGeneration(old)
			if !equality.Semantic.DeepEqual(obj.Spec.Template, old.Spec.Template) {
				generation++
			}
			setTemplateGeneration(obj, generation)
		}),
		Checks: api.Checks(
			api.Metadata,
			api.OnCreate(api.Rules(daemonSetRules)),
			api.Changes(daemonSetChanges),
			api.Declared,
			api.OnCreate(api.WarnOfChange(pod.TemplateWarnings(gates, daemonSetTemplate, "spec", "template"))),
			api.OnUpdate(api.WarnOfChange(daemonSetWarnings(gates))),
		),
		HasGeneration: true,
		Status: api.NewStatus(
			func(obj, old *appsv1.DaemonSet) { setTemplateGeneration(obj, templateGeneration(old)) },
			api.Metadata, api.Changes(daemonSetStatusChanges), api.Declared,
		),
		HiddenAnnotations: []string{appsv1.DeprecatedTemplateGeneration},
		Table:             api.Rows(daemonSetRow),
	}))
}

// daemonSetWarnings returns the warnings for an update of the pod template. Unlike those of other
// workloads, an update of another field has none.
func daemonSetWarnings(gates features.Gates) func(obj, old *appsv1.DaemonSet) []string {
	ofTemplate := pod.TemplateWarnings(gates, daemonSetTemplate, "spec", "template")
	return func(obj, old *appsv1.DaemonSet) []string {
		if templateGeneration(obj) == templateGeneration(old) {
			return nil
		}
		return ofTemplate(obj, old)
	}
}

func daemonSetTemplate(obj *appsv1.DaemonSet) *corev1.PodTemplateSpec {
	return &obj.Spec.Template
}

// templateGeneration returns the number of changes of the pod template. It was a field of
// older versions and is an annotation now, which clients cannot set.
func templateGeneration(obj api.Object) int64 {
	n, err := strconv.ParseInt(obj.GetAnnotations()[appsv1.DeprecatedTemplateGeneration], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// checkTemplateGeneration returns an error if the annotation is not a number.
func checkTemplateGeneration(obj *appsv1.DaemonSet) error {
	value, ok := obj.Annotations[appsv1.DeprecatedTemplateGeneration]
	if !ok {
		return nil
	}
	_, err := strconv.ParseInt(value, 10, 64)
	return err
}

func setTemplateGeneration(obj api.Object, generation int64) {
	annotations := maps.Clone(obj.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[appsv1.DeprecatedTemplateGeneration] = strconv.FormatInt(generation, 10)
	obj.SetAnnotations(annotations)
}

func defaultDaemonSet(obj *appsv1.DaemonSet) {
	// The annotation is set before managedFields are tracked, so that the writer owns it.
	if _, ok := obj.GetAnnotations()[appsv1.DeprecatedTemplateGeneration]; !ok {
		setTemplateGeneration(obj, 0)
	}
	s := &obj.Spec
	pod.DefaultTemplate(&s.Template)
	api.SetDefault(&s.RevisionHistoryLimit, 10)
	if s.UpdateStrategy.Type == "" {
		s.UpdateStrategy.Type = appsv1.RollingUpdateDaemonSetStrategyType
	}
	if s.UpdateStrategy.Type != appsv1.RollingUpdateDaemonSetStrategyType {
		return
	}
	if s.UpdateStrategy.RollingUpdate == nil {
		s.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{}
	}
	api.SetDefault(&s.UpdateStrategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
	api.SetDefault(&s.UpdateStrategy.RollingUpdate.MaxSurge, intstr.FromInt32(0))
}

func daemonSetRow(row *table.Row, d *appsv1.DaemonSet) {
	pod, s := &d.Spec.Template.Spec, &d.Status
	row.Name(d.Name)
	row.Number("Desired", ".status.desiredNumberScheduled", int64(s.DesiredNumberScheduled))
	row.Number("Current", ".status.currentNumberScheduled", int64(s.CurrentNumberScheduled))
	row.Number("Ready", ".status.numberReady", int64(s.NumberReady))
	row.Number("Up-to-date", ".status.updatedNumberScheduled", int64(s.UpdatedNumberScheduled))
	row.Number("Available", ".status.numberAvailable", int64(s.NumberAvailable))
	row.Text("Node Selector", ".spec.template.spec.nodeSelector", labels.FormatLabels(pod.NodeSelector))
	row.Age(d)
	row.Wide().Containers(pod.Containers)
	row.Wide().Text("Selector", ".spec.selector", metav1.FormatLabelSelector(d.Spec.Selector))
}

func daemonSetRules(at *validation.Path, d *appsv1.DaemonSet) {
	daemonSetSpecRules(at.Child("spec"), &d.Spec, nil, templateGeneration(d))
}

func daemonSetChanges(at *validation.Path, obj, old *appsv1.DaemonSet) {
	spec := at.Child("spec")
	validation.Immutable(spec.Child("selector"), obj.Spec.Selector, old.Spec.Selector)
	daemonSetSpecRules(spec, &obj.Spec, &old.Spec, templateGeneration(obj))
}

// daemonSetSpecRules validates a spec; old is the stored spec or nil. generation is the template generation,
// which is an annotation now, but a field in errors.
func daemonSetSpecRules(at *validation.Path, s, old *appsv1.DaemonSetSpec, generation int64) {
	if old == nil {
		old = &appsv1.DaemonSetSpec{}
	}
	template, selector := at.Child("template"), at.Child("selector")
	// A missing selector is refused because it matches nothing.
	validation.LenientSelectorRules(selector, s.Selector, workload.HasInvalidSelectorValues(old.Selector))
	if parsed, err := metav1.LabelSelectorAsSelector(s.Selector); err == nil && !parsed.Matches(labels.Set(s.Template.Labels)) {
		template.Child("metadata").Child("labels").Invalid(s.Template.Labels, workload.SelectorMismatch)
	}
	if s.Selector != nil && len(s.Selector.MatchLabels)+len(s.Selector.MatchExpressions) == 0 {
		selector.Invalid(s.Selector, "empty selector is invalid for daemonset")
	}
	pod.TemplateRules(template, &s.Template, &old.Template)
	workload.RequireRestartAlways(template.Child("spec"), &s.Template.Spec)
	workload.ForbidActiveDeadline(template.Child("spec"), &s.Template.Spec, "DaemonSet")
	validation.NonNegative(at.Child("minReadySeconds"), s.MinReadySeconds)
	validation.NonNegative(at.Child("templateGeneration"), generation)
	daemonStrategyRules(at.Child("updateStrategy"), &s.UpdateStrategy)
	validation.OptionalNonNegative(at.Child("revisionHistoryLimit"), s.RevisionHistoryLimit)
}

func daemonStrategyRules(at *validation.Path, s *appsv1.DaemonSetUpdateStrategy) {
	switch s.Type {
	case appsv1.OnDeleteDaemonSetStrategyType:
	case appsv1.RollingUpdateDaemonSetStrategyType:
		if s.RollingUpdate == nil {
			at.Child("rollingUpdate").Required("")
			return
		}
		daemonRollingRules(at.Child("rollingUpdate"), s.RollingUpdate)
	default:
		validation.NotSupported(at, s, appsv1.RollingUpdateDaemonSetStrategyType, appsv1.OnDeleteDaemonSetStrategyType)
	}
}

// daemonRollingRules requires that exactly one of maxUnavailable and maxSurge is non-zero.
func daemonRollingRules(at *validation.Path, r *appsv1.RollingUpdateDaemonSet) {
	unavailable, surge := at.Child("maxUnavailable"), at.Child("maxSurge")
	if r.MaxUnavailable != nil {
		workload.NumberOrPercent(unavailable, *r.MaxUnavailable)
	}
	if r.MaxSurge != nil {
		workload.NumberOrPercent(surge, *r.MaxSurge)
	}
	if r.MaxUnavailable != nil {
		workload.PercentAtMost100(unavailable, *r.MaxUnavailable)
	}
	if r.MaxSurge != nil {
		workload.PercentAtMost100(surge, *r.MaxSurge)
	}
	switch away, more := !workload.IsZeroOrZeroPercent(r.MaxUnavailable), !workload.IsZeroOrZeroPercent(r.MaxSurge); {
	case away && more:
		surge.Invalid(r.MaxSurge, "may not be set when maxUnavailable is non-zero")
	case !away && !more:
		unavailable.Required("cannot be 0 when maxSurge is 0")
	}
}

func daemonSetStatusChanges(at *validation.Path, obj, old *appsv1.DaemonSet) {
	status, s := at.Child("status"), &obj.Status
	workload.NonNegativeCounts(status, workload.PodCount{Name: "currentNumberScheduled", Value: s.CurrentNumberScheduled},
		workload.PodCount{Name: "numberMisscheduled", Value: s.NumberMisscheduled},
		workload.PodCount{Name: "desiredNumberScheduled", Value: s.DesiredNumberScheduled},
		workload.PodCount{Name: "numberReady", Value: s.NumberReady})
	validation.NonNegative(status.Child("observedGeneration"), s.ObservedGeneration)
	workload.NonNegativeCounts(status, workload.PodCount{Name: "updatedNumberScheduled", Value: s.UpdatedNumberScheduled},
		workload.PodCount{Name: "numberAvailable", Value: s.NumberAvailable},
		workload.PodCount{Name: "numberUnavailable", Value: s.NumberUnavailable})
	validation.OptionalNonNegative(status.Child("collisionCount"), s.CollisionCount)
	workload.CollisionCountUpdate(status.Child("collisionCount"), s.CollisionCount, old.Status.CollisionCount)
}
