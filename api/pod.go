package api

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/internal/features"
)

// pod is containers that run together on a node.
func pod() *Resource {
	versions := selectable(served(corev1.SchemeGroupVersion), nameLabel, namespaceLabel,
		"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
		"status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName")
	// The first clients wrote it like this.
	versions[0].FieldLabels["spec.host"] = "spec.nodeName"
	return &Resource{
		Name: "pods", Singular: "pod", Kind: "Pod",
		ShortNames:           []string{"po"},
		Categories:           []string{"all"},
		Namespaced:           true,
		Versions:             versions,
		New:                  func() Object { return &corev1.Pod{} },
		ObjectWarnings:       podWarnings,
		Rows:                 &Table{Columns: podColumns, Cells: podCells, Conditions: podConditions},
		Prefix:               "pods",
		ReturnDeletedObject:  true,
		Subresources:         podSubresources(),
		Generation:           true,
		HasStatus:            true,
		Default:              defaultPod,
		PrepareCreate:        preparePod,
		dropDisabled:         dropDisabledOfPod,
		PrepareStatusUpdate:  preparePodStatus,
		ResetFields:          map[string][]string{"status": {"metadata.deletionTimestamp", "metadata.ownerReferences", "spec"}},
		MetadataRevalidated:  true,
		Validate:             validatePod,
		ValidateUpdate:       validatePodUpdate,
		WholeUpdate:          true,
		ValidateStatusUpdate: validatePodStatus,
		Fields:               podFields,
		Indexed:              []string{"spec.nodeName"},
		GracePeriodSeconds:   podGracePeriod,
	}
}

func preparePod(obj Object) {
	p := obj.(*corev1.Pod)
	p.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: podQOS(&p.Spec)}
	if len(p.Spec.SchedulingGates) > 0 {
		p.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated,
			Message: "Scheduling is blocked due to non-empty scheduling gates", LastTransitionTime: p.CreationTimestamp,
		}}
	}
	mergeLabelKeys(p)
}

func dropDisabledOfPod(gates features.Gates, obj, old Object) {
	var was *corev1.PodSpec
	if old != nil {
		was = &old.(*corev1.Pod).Spec
	}
	dropDisabledPodFields(gates, &obj.(*corev1.Pod).Spec, was)
}

// mergeLabelKeys makes part of a selector what it takes from the labels of the pod
// itself, so that schedulers need not know of it.
func mergeLabelKeys(p *corev1.Pod) {
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
	for i := range p.Spec.TopologySpreadConstraints {
		c := &p.Spec.TopologySpreadConstraints[i]
		merge(c.LabelSelector, c.MatchLabelKeys, metav1.LabelSelectorOpIn)
	}
}

// podTerms goes through all that a pod says of other pods.
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

// preparePodStatus keeps what kubelets leave out or get wrong: owners, the
// class of service, and the generations that were observed.
func preparePodStatus(obj, old Object) {
	p, was := obj.(*corev1.Pod), old.(*corev1.Pod)
	p.OwnerReferences = was.OwnerReferences
	if p.Status.QOSClass == "" {
		p.Status.QOSClass = was.Status.QOSClass
	}
	if p.Status.ObservedGeneration == 0 {
		p.Status.ObservedGeneration = was.Status.ObservedGeneration
	}
	// A type of condition may be there more than once.
	observed := map[corev1.PodConditionType][]int64{}
	for _, c := range was.Status.Conditions {
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
	dropDisabledPodStatus(&p.Status, &was.Status)
}

func podFields(obj Object) map[string]string {
	p := obj.(*corev1.Pod)
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

// podGracePeriod lets a pod stay only where a kubelet has to stop it.
func podGracePeriod(obj Object, asked *int64) int64 {
	p := obj.(*corev1.Pod)
	var period int64
	switch {
	case p.Spec.NodeName == "", p.Status.Phase == corev1.PodFailed, p.Status.Phase == corev1.PodSucceeded:
		return 0
	case asked != nil:
		period = *asked
	case p.Spec.TerminationGracePeriodSeconds != nil:
		period = *p.Spec.TerminationGracePeriodSeconds
	}
	if period < 0 {
		return 1
	}
	return period
}
