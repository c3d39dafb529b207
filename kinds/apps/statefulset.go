package apps

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/scale"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/core/claim"
	"github.com/miniapiserver/miniapiserver/kinds/core/pod"
	"github.com/miniapiserver/miniapiserver/kinds/workload"
)

// StatefulSet describes the kind StatefulSet, which runs pods with stable names and
// storage.
func StatefulSet(gates features.Gates) *api.Resource {
	return api.NewResource(pod.WithPodTemplate(gates, statefulSetTemplate, api.Kind[*appsv1.StatefulSet]{
		Names: api.Names{
			Name: "statefulsets", Singular: "statefulset", Kind: "StatefulSet",
			ShortNames: []string{"sts"},
			Categories: []string{"all"},
			Namespaced: true,
		},
		Versions:         api.Served(appsv1.SchemeGroupVersion),
		RemovedVersions:  api.RemovedVersions("apps/v1beta1", "apps/v1beta2"),
		Default:          func(obj *appsv1.StatefulSet) { defaultStatefulSet(gates, obj) },
		CompleteBookmark: func(obj *appsv1.StatefulSet) { obj.Spec.Replicas = new(int32) },
		Storage:          api.Storage{Prefix: "statefulsets"},
		ValidateName:     validation.LabelName,
		Checks: api.Checks(
			api.Metadata,
			api.OnCreate(api.Rules(func(at *validation.Path, s *appsv1.StatefulSet) { statefulSetRules(gates, at, s) })),
			api.Changes(func(at *validation.Path, obj, old *appsv1.StatefulSet) { statefulSetChanges(gates, at, obj, old) }),
			api.Declared,
			api.WarnOfChange(statefulSetWarnings(gates)),
		),
		HasGeneration: true,
		Status:        api.NewStatus(nil, api.Metadata, api.Changes(statefulSetStatusChanges), api.Declared),
		Subresources:  []api.Subresource{scaleStatefulSet()},
		Table:         api.Rows(statefulSetRow),
	}))
}

func statefulSetTemplate(obj *appsv1.StatefulSet) *corev1.PodTemplateSpec {
	return &obj.Spec.Template
}

func defaultStatefulSet(gates features.Gates, obj *appsv1.StatefulSet) {
	s := &obj.Spec
	pod.DefaultTemplate(&s.Template)
	api.SetDefault(&s.Replicas, 1)
	api.SetDefault(&s.RevisionHistoryLimit, 10)
	if s.PodManagementPolicy == "" {
		s.PodManagementPolicy = appsv1.OrderedReadyPodManagement
	}
	if s.PersistentVolumeClaimRetentionPolicy == nil {
		s.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{}
	}
	if p := s.PersistentVolumeClaimRetentionPolicy; p.WhenDeleted == "" {
		p.WhenDeleted = appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	}
	if p := s.PersistentVolumeClaimRetentionPolicy; p.WhenScaled == "" {
		p.WhenScaled = appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	}
	for i := range s.VolumeClaimTemplates {
		claim.DefaultClaim(&s.VolumeClaimTemplates[i])
		if kind, want := &s.VolumeClaimTemplates[i].TypeMeta, (metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}); *kind != want {
			*kind = want
		}
	}
	u := &s.UpdateStrategy
	if u.Type == "" {
		u.Type = appsv1.RollingUpdateStatefulSetStrategyType
		api.SetDefault(&u.RollingUpdate, appsv1.RollingUpdateStatefulSetStrategy{})
	}
	if u.Type == appsv1.RollingUpdateStatefulSetStrategyType && u.RollingUpdate != nil {
		api.SetDefault(&u.RollingUpdate.Partition, 0)
		if gates.Enabled(features.MaxUnavailableStatefulSet) {
			api.SetDefault(&u.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
		}
	}
}

// scaleStatefulSet returns the scale subresource of StatefulSet.
func scaleStatefulSet() *api.View {
	return scale.New(scale.Replicas[*appsv1.StatefulSet]{
		Replicas: scale.AppsReplicasPaths(),
		Wanted:   func(obj *appsv1.StatefulSet) **int32 { return &obj.Spec.Replicas },
		Current:  func(obj *appsv1.StatefulSet) int32 { return obj.Status.Replicas },
		Selector: func(obj *appsv1.StatefulSet) (string, error) { return scale.SelectorText(obj.Spec.Selector) },
	})
}

func statefulSetRow(row *table.Row, s *appsv1.StatefulSet) {
	row.Name(s.Name)
	row.Text("Ready", "Number of the pod with ready state",
		table.Ratio(s.Status.ReadyReplicas, table.ValueOrZero(s.Spec.Replicas)))
	row.Age(s)
	row.Wide().Containers(s.Spec.Template.Spec.Containers)
}

func statefulSetRules(gates features.Gates, at *validation.Path, s *appsv1.StatefulSet) {
	statefulSetSpecRules(at.Child("spec"), &s.Spec, statefulCheck{recreate: gates.Enabled(features.StatefulSetRecreateStrategy)})
}

// statefulCheck has the parameters of validating the spec of a StatefulSet.
type statefulCheck struct {
	// old is the stored template, nil for a new object. Immutable fields are not validated
	// on an update.
	old *corev1.PodTemplateSpec
	// anyTemplate: the template is not validated.
	anyTemplate bool
	// recreate: the update strategy may be Recreate.
	recreate bool
}

func statefulSetChanges(gates features.Gates, at *validation.Path, obj, old *appsv1.StatefulSet) {
	// A stored spec may violate rules that were added later.
	c := statefulCheck{old: &old.Spec.Template}
	c.recreate = gates.Enabled(features.StatefulSetRecreateStrategy) || old.Spec.UpdateStrategy.Type == appsv1.RecreateStatefulSetStrategyType
	c.anyTemplate = len(validation.Collect(at, func(at *validation.Path) { statefulSetSpecRules(at, &old.Spec, c) })) > 0
	statefulSetSpecRules(at.Child("spec"), &obj.Spec, c)
	spec := at.Child("spec")
	validation.Immutable(spec.Child("selector"), obj.Spec.Selector, old.Spec.Selector)
	validation.Immutable(spec.Child("volumeClaimTemplates"), obj.Spec.VolumeClaimTemplates, old.Spec.VolumeClaimTemplates)
	validation.Immutable(spec.Child("serviceName"), obj.Spec.ServiceName, old.Spec.ServiceName)
	validation.Immutable(spec.Child("podManagementPolicy"), obj.Spec.PodManagementPolicy, old.Spec.PodManagementPolicy)
}

func statefulSetSpecRules(at *validation.Path, s *appsv1.StatefulSetSpec, c statefulCheck) {
	switch s.PodManagementPolicy {
	case "":
		at.Child("podManagementPolicy").Required("")
	case appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement:
	default:
		at.Child("podManagementPolicy").Invalid(s.PodManagementPolicy,
			fmt.Sprintf("must be '%s' or '%s'", appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement))
	}
	statefulStrategyRules(at.Child("updateStrategy"), &s.UpdateStrategy, c.recreate)
	if p := s.PersistentVolumeClaimRetentionPolicy; p != nil {
		at := at.Child("persistentVolumeClaimRetentionPolicy")
		for _, f := range []struct {
			name  string
			value appsv1.PersistentVolumeClaimRetentionPolicyType
		}{{"whenDeleted", p.WhenDeleted}, {"whenScaled", p.WhenScaled}} {
			validation.OneOf(at.Child(f.name), f.value, appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
				appsv1.DeletePersistentVolumeClaimRetentionPolicyType)
		}
	}
	if c.old == nil {
		for i := range s.VolumeClaimTemplates {
			claim.ClaimSpecRules(at.Child("volumeClaimTemplates").Index(i).Child("spec"), &s.VolumeClaimTemplates[i].Spec, nil)
		}
	}
	validation.NonNegative(at.Child("replicas"), *s.Replicas)
	validation.NonNegative(at.Child("minReadySeconds"), s.MinReadySeconds)
	if s.Ordinals != nil {
		validation.NonNegative(at.Child("ordinals").Child("start"), s.Ordinals.Start)
	}
	if c.old == nil {
		validation.OptionalFormat(at.Child("serviceName"), s.ServiceName, validation.DNSLabel)
	}
	workload.PodSelectorRules(at.Child("selector"), s.Selector, "empty selector is invalid for statefulset")
	template := at.Child("template")
	if workload.SelectorMatchesTemplate(template, s.Selector, &s.Template) {
		statefulTemplateRules(template, s, c)
	} else {
		at.Child("selector").Invalid(s.Selector, "")
	}
	workload.RequireRestartAlways(template.Child("spec"), &s.Template.Spec)
	workload.ForbidActiveDeadline(template.Child("spec"), &s.Template.Spec, "StatefulSet")
}

// statefulTemplateRules validates the template in the form that the controller uses, with
// volumes for the claim templates.
func statefulTemplateRules(at *validation.Path, s *appsv1.StatefulSetSpec, c statefulCheck) {
	t := s.Template
	t.Spec.Subdomain, t.Spec.Hostname, t.Spec.Volumes = "", "", withClaims(s)
	if !c.anyTemplate {
		pod.TemplateRules(at, &t, c.old)
	}
	validation.LabelRules(at.Child("labels"), t.Labels)
	validation.AnnotationRules(at.Child("annotations"), t.Annotations)
	pod.TemplateAnnotationRules(at, &t, c.old)
}

// withClaims returns the volumes of the pods: one for each claim template, and the volumes
// of the template with other names.
func withClaims(s *appsv1.StatefulSetSpec) []corev1.Volume {
	if len(s.VolumeClaimTemplates) == 0 {
		return s.Template.Spec.Volumes
	}
	var volumes []corev1.Volume
	has := func(name string) bool {
		return slices.ContainsFunc(volumes, func(v corev1.Volume) bool { return v.Name == name })
	}
	for i := range s.VolumeClaimTemplates {
		if name := s.VolumeClaimTemplates[i].Name; !has(name) {
			volumes = append(volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
			}})
		}
	}
	claims := len(volumes)
	for _, v := range s.Template.Spec.Volumes {
		if !slices.ContainsFunc(volumes[:claims], func(c corev1.Volume) bool { return c.Name == v.Name }) {
			volumes = append(volumes, v)
		}
	}
	return volumes
}

// statefulStrategyRules validates an update strategy. recreate: it may be Recreate.
func statefulStrategyRules(at *validation.Path, s *appsv1.StatefulSetUpdateStrategy, recreate bool) {
	rolling := at.Child("rollingUpdate")
	switch {
	case s.Type == "":
		at.Required("")
	case s.Type == appsv1.OnDeleteStatefulSetStrategyType, recreate && s.Type == appsv1.RecreateStatefulSetStrategyType:
		if s.RollingUpdate != nil {
			rolling.Invalid(s.RollingUpdate, "only allowed for updateStrategy 'RollingUpdate'")
		}
	case s.Type == appsv1.RollingUpdateStatefulSetStrategyType:
		if r := s.RollingUpdate; r != nil {
			validation.OptionalNonNegative(rolling.Child("partition"), r.Partition)
			if r.MaxUnavailable != nil {
				workload.NumberOrPercent(rolling.Child("maxUnavailable"), *r.MaxUnavailable)
				if workload.IsZeroOrZeroPercent(r.MaxUnavailable) {
					rolling.Child("maxUnavailable").Invalid(*r.MaxUnavailable, "cannot be 0")
				}
				workload.PercentAtMost100(rolling.Child("maxUnavailable"), *r.MaxUnavailable)
			}
		}
	case recreate:
		at.Invalid(*s, "must be 'RollingUpdate', 'OnDelete', or 'Recreate'")
	default:
		at.Invalid(*s, "must be 'RollingUpdate' or 'OnDelete'")
	}
}

func statefulSetStatusChanges(at *validation.Path, obj, old *appsv1.StatefulSet) {
	status, s := at.Child("status"), &obj.Status
	workload.NonNegativeCounts(status, workload.PodCount{Name: "replicas", Value: s.Replicas},
		workload.PodCount{Name: "readyReplicas", Value: s.ReadyReplicas}, workload.PodCount{Name: "currentReplicas", Value: s.CurrentReplicas},
		workload.PodCount{Name: "updatedReplicas", Value: s.UpdatedReplicas},
		workload.PodCount{Name: "availableReplicas", Value: s.AvailableReplicas})
	validation.NonNegative(status.Child("observedGeneration"), s.ObservedGeneration)
	validation.OptionalNonNegative(status.Child("collisionCount"), s.CollisionCount)
	workload.CountsAtMost(status, s.Replicas, workload.MoreThanAll,
		workload.PodCount{Name: "readyReplicas", Value: s.ReadyReplicas}, workload.PodCount{Name: "currentReplicas", Value: s.CurrentReplicas},
		workload.PodCount{Name: "updatedReplicas", Value: s.UpdatedReplicas},
		workload.PodCount{Name: "availableReplicas", Value: s.AvailableReplicas})
	workload.CountsAtMost(status, s.ReadyReplicas, "cannot be greater than status.readyReplicas",
		workload.PodCount{Name: "availableReplicas", Value: s.AvailableReplicas})
	workload.CollisionCountUpdate(status.Child("collisionCount"), s.CollisionCount, old.Status.CollisionCount)
}

func statefulSetWarnings(gates features.Gates) func(obj, old *appsv1.StatefulSet) []string {
	return func(obj, old *appsv1.StatefulSet) []string {
		s := &obj.Spec
		return validation.Warn(func(at *validation.Path) {
			spec := at.Child("spec")
			if api.SpecChanged(obj, old) {
				pod.PodSpecWarnings(spec.Child("template"), &s.Template.ObjectMeta, &s.Template.Spec, true, gates)
			}
			for i := range s.VolumeClaimTemplates {
				at := spec.Child("volumeClaimTemplates").Index(i)
				if old != nil { // as in kube-apiserver
					at = at.Child("Spec")
				}
				claim.ClaimSpecWarnings(at, &s.VolumeClaimTemplates[i].Spec)
			}
			if n := s.RevisionHistoryLimit; n != nil && *n < 0 {
				spec.Child("revisionHistoryLimit").Warn("a negative value retains all historical revisions; a value >= 0 is recommended")
			}
		})
	}
}
