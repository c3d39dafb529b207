package api

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// fixedStatefulSet is said of a change of anything else in the spec.
const fixedStatefulSet = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', " +
	"'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"

func statefulSetRules(at *place, s *appsv1.StatefulSet) {
	statefulSetSpecRules(at.of("spec"), &s.Spec, statefulCheck{})
}

// statefulCheck says how the spec of a StatefulSet is checked.
type statefulCheck struct {
	// was is the stored template, nil for a new object. Fields that cannot change
	// are not checked on an update.
	was *corev1.PodTemplateSpec
	// anyTemplate: the template is not checked.
	anyTemplate bool
}

func statefulSetChanges(at *place, is, was *appsv1.StatefulSet) {
	// A stored spec may break rules that are younger than it.
	c := statefulCheck{was: &was.Spec.Template}
	c.anyTemplate = len(check(func(at *place) { statefulSetSpecRules(at, &was.Spec, c) })) > 0
	statefulSetSpecRules(at.of("spec"), &is.Spec, c)
	rest := is.Spec
	rest.Replicas, rest.Template, rest.UpdateStrategy = was.Spec.Replicas, was.Spec.Template, was.Spec.UpdateStrategy
	rest.MinReadySeconds, rest.Ordinals = was.Spec.MinReadySeconds, was.Spec.Ordinals
	rest.RevisionHistoryLimit = was.Spec.RevisionHistoryLimit
	rest.PersistentVolumeClaimRetentionPolicy = was.Spec.PersistentVolumeClaimRetentionPolicy
	if !equality.Semantic.DeepEqual(rest, was.Spec) {
		at.of("spec").forbidden(fixedStatefulSet)
	}
}

func statefulSetSpecRules(at *place, s *appsv1.StatefulSetSpec, c statefulCheck) {
	switch s.PodManagementPolicy {
	case "":
		at.of("podManagementPolicy").required("")
	case appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement:
	default:
		at.of("podManagementPolicy").invalid(s.PodManagementPolicy,
			fmt.Sprintf("must be '%s' or '%s'", appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement))
	}
	statefulStrategyRules(at.of("updateStrategy"), &s.UpdateStrategy)
	if p := s.PersistentVolumeClaimRetentionPolicy; p != nil {
		at := at.of("persistentVolumeClaimRetentionPolicy")
		for _, f := range []struct {
			name  string
			value appsv1.PersistentVolumeClaimRetentionPolicyType
		}{{"whenDeleted", p.WhenDeleted}, {"whenScaled", p.WhenScaled}} {
			oneOf(at.of(f.name), f.value, appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType)
		}
	}
	if c.was == nil {
		for i := range s.VolumeClaimTemplates {
			claimSpecRules(at.of("volumeClaimTemplates").item(i).of("spec"), &s.VolumeClaimTemplates[i].Spec)
		}
	}
	nonNegative(at.of("replicas"), *s.Replicas)
	nonNegative(at.of("minReadySeconds"), s.MinReadySeconds)
	if s.Ordinals != nil {
		nonNegative(at.of("ordinals").of("start"), s.Ordinals.Start)
	}
	if c.was == nil {
		optional(at.of("serviceName"), s.ServiceName, dnsLabel)
	}
	podSelectorRules(at.of("selector"), s.Selector, "empty selector is invalid for statefulset")
	template := at.of("template")
	if matchesTemplate(template, s.Selector, &s.Template) {
		statefulTemplateRules(template, s, c)
	} else {
		at.of("selector").invalid(s.Selector, "")
	}
	alwaysRestarted(template.of("spec"), &s.Template.Spec)
	noDeadline(template.of("spec"), &s.Template.Spec, "StatefulSet")
}

// statefulTemplateRules check the template as the controller will use it: with
// volumes for the claims, and with other names.
func statefulTemplateRules(at *place, s *appsv1.StatefulSetSpec, c statefulCheck) {
	t := s.Template
	t.Spec.Subdomain, t.Spec.Hostname, t.Spec.Volumes = "", "", withClaims(s)
	if !c.anyTemplate {
		templateRules(at, &t, c.was)
	}
	labelRules(at.of("labels"), t.Labels)
	annotationRules(at.of("annotations"), t.Annotations)
	podAnnotationRules(at.of("annotations"), t.Annotations, &t.Spec)
}

// withClaims returns the volumes that the pods will have: one for each claim, and
// those of the template with other names.
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

func statefulStrategyRules(at *place, s *appsv1.StatefulSetUpdateStrategy) {
	rolling := at.of("rollingUpdate")
	switch s.Type {
	case "":
		at.required("")
	case appsv1.OnDeleteStatefulSetStrategyType:
		if s.RollingUpdate != nil {
			rolling.invalid(s.RollingUpdate, "only allowed for updateStrategy 'RollingUpdate'")
		}
	case appsv1.RollingUpdateStatefulSetStrategyType:
		if r := s.RollingUpdate; r != nil {
			optionalNonNegative(rolling.of("partition"), r.Partition)
			if r.MaxUnavailable != nil {
				numberOrPercent(rolling.of("maxUnavailable"), *r.MaxUnavailable)
				if nothing(r.MaxUnavailable) {
					rolling.of("maxUnavailable").invalid(*r.MaxUnavailable, "cannot be 0")
				}
				atMostAll(rolling.of("maxUnavailable"), *r.MaxUnavailable)
			}
		}
	default:
		at.invalid(*s, "must be 'RollingUpdate' or 'OnDelete'")
	}
}

func statefulSetStatusChanges(at *place, is, was *appsv1.StatefulSet) {
	status, s := at.of("status"), &is.Status
	countRules(status, count{"replicas", s.Replicas}, count{"readyReplicas", s.ReadyReplicas}, count{"currentReplicas", s.CurrentReplicas},
		count{"updatedReplicas", s.UpdatedReplicas}, count{"availableReplicas", s.AvailableReplicas})
	nonNegative(status.of("observedGeneration"), s.ObservedGeneration)
	optionalNonNegative(status.of("collisionCount"), s.CollisionCount)
	countsWithin(status, s.Replicas, moreThanAll, count{"readyReplicas", s.ReadyReplicas}, count{"currentReplicas", s.CurrentReplicas},
		count{"updatedReplicas", s.UpdatedReplicas}, count{"availableReplicas", s.AvailableReplicas})
	countsWithin(status, s.ReadyReplicas, "cannot be greater than status.readyReplicas", count{"availableReplicas", s.AvailableReplicas})
	notDecremented(status.of("collisionCount"), s.CollisionCount, was.Status.CollisionCount)
}
