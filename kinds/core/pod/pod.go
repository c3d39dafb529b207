package pod

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Pod describes the kind Pod: containers that run together on a node. now is the clock.
func Pod(gates features.Gates, now func() time.Time) *api.Resource {
	level, setsProtocols, hasImages := podLevelOf(gates), gates.Enabled(features.H2CContainerProbe), gates.Enabled(features.ImageVolume)
	versions := api.WithFieldLabels(api.Served(corev1.SchemeGroupVersion), api.NameLabel, api.NamespaceLabel,
		"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
		"status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName")
	// spec.host is the name of this field selector in old clients.
	versions[0].FieldLabels["spec.host"] = "spec.nodeName"
	return api.NewResource(api.Kind[*corev1.Pod]{
		Names: api.Names{
			Name: "pods", Singular: "pod", Kind: "Pod",
			ShortNames: []string{"po"},
			Categories: []string{"all"},
			Namespaced: true,
		},
		Versions: versions,
		Default: func(p *corev1.Pod) {
			defaultPod(p)
			level.setDefaults(&p.Spec)
			if hasImages {
				defaultImageVolumes(p.Spec.Volumes)
			}
			if setsProtocols {
				defaultProtocols(&p.Spec)
			}
		},
		DropDisabledFields: dropDisabledOfPod,
		Storage:            api.Storage{Prefix: "pods"},
		Prepare:            preparePod(level, gates),
		Checks: api.Checks(
			api.Metadata,
			api.RevalidatedMetadata,
			api.OnCreate(api.Rules(newPodRules)),
			api.Changes(podChanges),
			api.Declared,
			api.OnCreate(api.Warn(podWarnings(gates))),
		),
		HasGeneration: true,
		Status: api.NewStatus(
			preparePodStatus,
			api.Metadata, api.Changes(podStatusChanges), api.Declared, api.Warn(podStatusWarnings),
		),
		Selectable:   podFields,
		Indexed:      []string{"spec.nodeName"},
		Reset:        map[string][]string{"status": {"metadata.deletionTimestamp", "metadata.ownerReferences", "spec"}},
		Subresources: podSubresources(gates, level, now),
		Delete:       api.Deletion{GracePeriodSeconds: podGracePeriod, ReturnDeletedObject: true},
		Table:        api.Rows(podRow),
	})
}

// preparePod sets what the server determines for a new pod, and restores what an update keeps.
func preparePod(level podLevel, gates features.Gates) func(*api.Write[*corev1.Pod]) {
	mergesSpreadKeys := gates.Enabled(features.MatchLabelKeysInPodTopologySpreadSelectorMerge)
	return func(w *api.Write[*corev1.Pod]) {
		p := w.Object
		if !w.IsNew() {
			level.keep(p, w.Old)
			return
		}
		w.WarnNow(appArmorWarnings(p)...)
		level.complete(&p.Spec)
		p.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: level.class(&p.Spec)}
		if len(p.Spec.SchedulingGates) > 0 {
			p.Status.Conditions = []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated,
				Message: "Scheduling is blocked due to non-empty scheduling gates", LastTransitionTime: p.CreationTimestamp,
			}}
		}
		mergeLabelKeys(p, mergesSpreadKeys)
		takeAppArmor(p)
	}
}

// takeAppArmor sets the profiles of containers that annotations name.
func takeAppArmor(p *corev1.Pod) {
	annotatedAppArmor(p, func(ctr *corev1.Container, _ string, profile *corev1.AppArmorProfile) {
		if profile == nil || equality.Semantic.DeepEqual(profile, podAppArmor(&p.Spec)) {
			return
		}
		if ctr.SecurityContext == nil {
			ctr.SecurityContext = &corev1.SecurityContext{}
		}
		ctr.SecurityContext.AppArmorProfile = profile
	})
}

func dropDisabledOfPod(gates features.Gates, obj, old *corev1.Pod) {
	var stored *corev1.PodSpec
	if old != nil {
		stored = &old.Spec
	}
	dropDisabledPodFields(gates, &obj.Spec, stored)
}

// mergeLabelKeys adds matchLabelKeys and mismatchLabelKeys to the label selectors, with the
// values of the pod's own labels. spread: also to those of topology spread constraints.
func mergeLabelKeys(p *corev1.Pod, spread bool) {
	merge := func(s *metav1.LabelSelector, keys []string, operator metav1.LabelSelectorOperator) {
		for _, key := range keys {
			if value, ok := p.Labels[key]; ok && s != nil {
				s.MatchExpressions = append(s.MatchExpressions,
					metav1.LabelSelectorRequirement{Key: key, Operator: operator, Values: []string{value}})
			}
		}
	}
	term := func(t *corev1.PodAffinityTerm) {
		merge(t.LabelSelector, t.MatchLabelKeys, metav1.LabelSelectorOpIn)
		merge(t.LabelSelector, t.MismatchLabelKeys, metav1.LabelSelectorOpNotIn)
	}
	if a := p.Spec.Affinity; a != nil {
		podTerms(a, term)
	}
	if !spread {
		return
	}
	for i := range p.Spec.TopologySpreadConstraints {
		c := &p.Spec.TopologySpreadConstraints[i]
		merge(c.LabelSelector, c.MatchLabelKeys, metav1.LabelSelectorOpIn)
	}
}

// podTerms calls visit for all affinity terms about other pods.
func podTerms(a *corev1.Affinity, visit func(t *corev1.PodAffinityTerm)) {
	each := func(hard []corev1.PodAffinityTerm, soft []corev1.WeightedPodAffinityTerm) {
		for i := range hard {
			visit(&hard[i])
		}
		for i := range soft {
			visit(&soft[i].PodAffinityTerm)
		}
	}
	if p := a.PodAffinity; p != nil {
		each(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if p := a.PodAntiAffinity; p != nil {
		each(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
}

// preparePodStatus restores owner references and the deletion timestamp, and the QoS class and
// observed generations if the update, as of an older kubelet, omits them.
func preparePodStatus(p, old *corev1.Pod) {
	p.OwnerReferences, p.DeletionTimestamp = old.OwnerReferences, old.DeletionTimestamp
	if p.Status.QOSClass == "" {
		p.Status.QOSClass = old.Status.QOSClass
	}
	if p.Status.ObservedGeneration == 0 {
		p.Status.ObservedGeneration = old.Status.ObservedGeneration
	}
	// Conditions of the same type may occur more than once.
	observed := map[corev1.PodConditionType][]int64{}
	for _, c := range old.Status.Conditions {
		observed[c.Type] = append(observed[c.Type], c.ObservedGeneration)
	}
	for i := range p.Status.Conditions {
		c := &p.Status.Conditions[i]
		known := observed[c.Type]
		if len(known) == 0 {
			continue
		}
		if c.ObservedGeneration == 0 {
			c.ObservedGeneration = known[0]
		}
		observed[c.Type] = known[1:]
	}
	// Old clients leave these out.
	if p.Status.ResourceClaimStatuses == nil {
		p.Status.ResourceClaimStatuses = old.Status.ResourceClaimStatuses
	}
	if p.Status.ExtendedResourceClaimStatus == nil {
		p.Status.ExtendedResourceClaimStatus = old.Status.ExtendedResourceClaimStatus
	}
	if p.Status.NodeAllocatableResourceClaimStatuses == nil {
		p.Status.NodeAllocatableResourceClaimStatuses = old.Status.NodeAllocatableResourceClaimStatuses
	}
}

func podFields(p *corev1.Pod) map[string]string {
	ip := ""
	if len(p.Status.PodIPs) > 0 {
		ip = p.Status.PodIPs[0].IP
	}
	return map[string]string{
		"spec.nodeName":           p.Spec.NodeName,
		"spec.restartPolicy":      string(p.Spec.RestartPolicy),
		"spec.schedulerName":      p.Spec.SchedulerName,
		"spec.serviceAccountName": p.Spec.ServiceAccountName,
		"spec.hostNetwork":        strconv.FormatBool(p.Spec.HostNetwork),
		"status.phase":            string(p.Status.Phase),
		"status.podIP":            ip,
		// Accepted, and never matched by an address.
		"status.podIPs":            "",
		"status.nominatedNodeName": p.Status.NominatedNodeName,
	}
}

// podGracePeriod returns the grace period of a deletion: 0 unless a kubelet must stop the pod.
func podGracePeriod(obj api.Object, requested *int64) int64 {
	p := obj.(*corev1.Pod)
	var period int64
	switch {
	case p.Spec.NodeName == "", p.Status.Phase == corev1.PodFailed, p.Status.Phase == corev1.PodSucceeded:
		return 0
	case requested != nil:
		period = *requested
	case p.Spec.TerminationGracePeriodSeconds != nil:
		period = *p.Spec.TerminationGracePeriodSeconds
	}
	if period < 0 {
		return 1
	}
	return period
}
