package api

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// statefulSet is pods with names and storage of their own.
func statefulSet() *Resource {
	return withPodTemplate(statefulSetTemplate, &Resource{
		Name: "statefulsets", Singular: "statefulset", Kind: "StatefulSet",
		ShortNames:           []string{"sts"},
		Categories:           []string{"all"},
		Namespaced:           true,
		ValidateName:         labelName,
		Versions:             served(appsv1.SchemeGroupVersion),
		Gone:                 gone("apps/v1beta1", "apps/v1beta2"),
		Complete:             func(obj Object) { obj.(*appsv1.StatefulSet).Spec.Replicas = new(int32) },
		New:                  func() Object { return &appsv1.StatefulSet{} },
		ObjectWarnings:       statefulSetWarnings,
		Rows:                 &Table{Columns: statefulSetColumns, Cells: statefulSetCells},
		Subresources:         []*Subresource{scaleStatefulSet()},
		Prefix:               "statefulsets",
		Generation:           true,
		HasStatus:            true,
		Default:              defaultStatefulSet,
		Validate:             rulesOf(statefulSetRules),
		ValidateUpdate:       changesOf(statefulSetChanges),
		WholeUpdate:          true,
		PrepareCreate:        func(obj Object) { dropMaxUnavailable(obj, nil) },
		PrepareUpdate:        dropMaxUnavailable,
		ValidateStatusUpdate: changesOf(statefulSetStatusChanges),
	})
}

func statefulSetTemplate(obj Object) *corev1.PodTemplateSpec {
	return &obj.(*appsv1.StatefulSet).Spec.Template
}

func defaultStatefulSet(obj Object) {
	s := &obj.(*appsv1.StatefulSet).Spec
	defaultTemplate(&s.Template)
	setDefault(&s.Replicas, 1)
	setDefault(&s.RevisionHistoryLimit, 10)
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
		defaultClaim(&s.VolumeClaimTemplates[i])
		if is, want := &s.VolumeClaimTemplates[i].TypeMeta, (metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}); *is != want {
			*is = want
		}
	}
	u := &s.UpdateStrategy
	if u.Type == "" {
		u.Type = appsv1.RollingUpdateStatefulSetStrategyType
		setDefault(&u.RollingUpdate, appsv1.RollingUpdateStatefulSetStrategy{})
	}
	if u.Type == appsv1.RollingUpdateStatefulSetStrategyType && u.RollingUpdate != nil {
		setDefault(&u.RollingUpdate.Partition, 0)
	}
}

// dropMaxUnavailable removes a field whose feature is off by default, unless the
// stored object has it.
func dropMaxUnavailable(obj, old Object) {
	if old != nil {
		if r := old.(*appsv1.StatefulSet).Spec.UpdateStrategy.RollingUpdate; r != nil && r.MaxUnavailable != nil {
			return
		}
	}
	if r := obj.(*appsv1.StatefulSet).Spec.UpdateStrategy.RollingUpdate; r != nil {
		r.MaxUnavailable = nil
	}
}

// scaleStatefulSet is where the replicas of a StatefulSet are.
func scaleStatefulSet() *Subresource {
	return scale(scaled{
		replicas: appsReplicas(),
		wanted:   func(obj Object) **int32 { return &obj.(*appsv1.StatefulSet).Spec.Replicas },
		current:  func(obj Object) int32 { return obj.(*appsv1.StatefulSet).Status.Replicas },
		selector: func(obj Object) (string, error) { return selectorText(obj.(*appsv1.StatefulSet).Spec.Selector) },
	})
}
