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
	statefulSetSpecRules(at.of("spec"), &s.Spec, nil)
}

func statefulSetChanges(at *place, is, was *appsv1.StatefulSet) {
	statefulSetSpecRules(at.of("spec"), &is.Spec, &was.Spec)
	rest := is.Spec
	rest.Replicas, rest.Template, rest.UpdateStrategy = was.Spec.Replicas, was.Spec.Template, was.Spec.UpdateStrategy
	rest.MinReadySeconds, rest.Ordinals = was.Spec.MinReadySeconds, was.Spec.Ordinals
	rest.RevisionHistoryLimit = was.Spec.RevisionHistoryLimit
	rest.PersistentVolumeClaimRetentionPolicy = was.Spec.PersistentVolumeClaimRetentionPolicy
	if !equality.Semantic.DeepEqual(rest, was.Spec) {
		at.of("spec").forbidden(fixedStatefulSet)
	}
}

func statefulSetSpecRules(at *place, s, was *appsv1.StatefulSetSpec) {
	if was == nil {
		was = &appsv1.StatefulSetSpec{}
	}
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
	nonNegative(at.of("replicas"), *s.Replicas)
	nonNegative(at.of("minReadySeconds"), s.MinReadySeconds)
	if s.Ordinals != nil {
		nonNegative(at.of("ordinals").of("start"), s.Ordinals.Start)
	}
	podSelectorRules(at.of("selector"), s.Selector, was.Selector, "empty selector is invalid for statefulset")
	template := at.of("template")
	if !matchesTemplate(template, s.Selector, &s.Template) {
		at.of("selector").invalid(s.Selector, "")
	} else {
		claimed := s.Template
		claimed.Spec.Volumes = withClaims(s)
		templateRules(template, &claimed, &was.Template)
		if !equality.Semantic.DeepEqual(s.VolumeClaimTemplates, was.VolumeClaimTemplates) {
			for i := range s.VolumeClaimTemplates {
				claimSpecRules(at.of("volumeClaimTemplates").item(i).of("spec"), &s.VolumeClaimTemplates[i].Spec)
			}
		}
	}
	if s.ServiceName != was.ServiceName {
		optional(at.of("serviceName"), s.ServiceName, dnsLabel)
	}
	alwaysRestarted(template.of("spec"), &s.Template.Spec)
	if s.Template.Spec.ActiveDeadlineSeconds != nil {
		template.of("spec").of("activeDeadlineSeconds").forbidden("activeDeadlineSeconds in StatefulSet is not Supported")
	}
}

// withClaims are the volumes that the pods will have: those of the template, and
// one for each claim, which takes the place of one of the same name.
func withClaims(s *appsv1.StatefulSetSpec) []corev1.Volume {
	if len(s.VolumeClaimTemplates) == 0 {
		return s.Template.Spec.Volumes
	}
	volumes := slices.Clone(s.Template.Spec.Volumes)
	for i := range s.VolumeClaimTemplates {
		name := s.VolumeClaimTemplates[i].Name
		if slices.ContainsFunc(volumes, func(v corev1.Volume) bool { return v.Name == name }) {
			continue
		}
		volumes = append(volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
		}})
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
			rolling.invalid(unnamed(s.RollingUpdate), "only allowed for updateStrategy 'RollingUpdate'")
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
		at.invalid(unnamed(*s), "must be 'RollingUpdate' or 'OnDelete'")
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
