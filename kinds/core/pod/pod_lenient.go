package pod

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// podRatchet has the rules that are not applied to an update because the stored pod violates
// them. The rules were added later than the pod may have been created.
type podRatchet struct {
	selectors, nodeValues, spread, hugePages, tokenPaths, hostSysctls bool
	// volumeDevices: a pod with a user namespace may have block devices. hostNetworkUsers: it
	// may use the network of the node.
	volumeDevices, hostNetworkUsers bool
	// emptyImages: image volumes may have no reference. sysAdmins: containers that must not escalate
	// privileges may have CAP_SYS_ADMIN.
	emptyImages, sysAdmins bool
	// spreadKeys: matchLabelKeys of topology spread constraints follow the rule of a server on which the
	// gate MatchLabelKeysInPodTopologySpreadSelectorMerge has the other value.
	spreadKeys bool
	// selinuxPolicies: any policy for changing SELinux labels is valid. envFiles: environment variables
	// may be read from files. restartAll: a container that exits may restart all containers.
	selinuxPolicies, envFiles, restartAll bool
	// restartOnResize: a resize may restart an init container that is no sidecar.
	restartOnResize bool
	annotationLeniency
}

// annotationLeniency has the rules for annotations that are not applied to an update.
type annotationLeniency struct {
	// deletionCost: the cost of deleting the pod need not be a number. comparisons: tolerations, also
	// those of the spec, may compare numbers.
	deletionCost, comparisons bool
}

// annotationFailings returns the later rules for annotations that a stored pod or template violates.
func annotationFailings(annotations map[string]string, s *corev1.PodSpec) annotationLeniency {
	return annotationLeniency{
		deletionCost: hasInvalidDeletionCost(annotations),
		comparisons:  slices.ContainsFunc(s.Tolerations, func(t corev1.Toleration) bool { return comparesNumbers(t.Operator) }),
	}
}

// podStoredViolations returns the later rules that a stored pod or template violates. at has the gates of the
// server.
func podStoredViolations(at *validation.Path, annotations map[string]string, s *corev1.PodSpec) podRatchet {
	spreadKeyRules := unmergedKeyRules
	if at.Enabled(features.MatchLabelKeysInPodTopologySpreadSelectorMerge) {
		spreadKeyRules = mergedKeyRules
	}
	strict := podCheck{spec: s}
	breaks := func(rules func(at *validation.Path)) bool { return len(validation.Check(rules)) > 0 }
	l := podRatchet{annotationLeniency: annotationFailings(annotations, s)}
	if a := s.Affinity; a != nil {
		l.selectors = breaks(func(at *validation.Path) {
			podTerms(a, func(t *corev1.PodAffinityTerm) {
				validation.SelectorRules(at, t.LabelSelector)
				validation.SelectorRules(at, t.NamespaceSelector)
			})
		})
		if n := a.NodeAffinity; n != nil && n.RequiredDuringSchedulingIgnoredDuringExecution != nil {
			l.nodeValues = validation.HasInvalidNodeLabelValues(n.RequiredDuringSchedulingIgnoredDuringExecution)
		}
	}
	for i := range s.TopologySpreadConstraints {
		c := &s.TopologySpreadConstraints[i]
		l.spread = l.spread || breaks(func(at *validation.Path) { validation.SelectorRules(at, c.LabelSelector) })
		l.spreadKeys = l.spreadKeys || breaks(func(at *validation.Path) { spreadKeyRules(at, c.MatchLabelKeys, c.LabelSelector) })
	}
	if s.SecurityContext != nil && len(s.SecurityContext.Sysctls) > 0 {
		l.hostSysctls = breaks(func(at *validation.Path) {
			for _, sysctl := range s.SecurityContext.Sysctls {
				at.Add(strict.hostSysctl(at, sysctl.Name)...)
			}
		})
	}
	l.selinuxPolicies = s.SecurityContext != nil && s.SecurityContext.SELinuxChangePolicy != nil
	if s.HostUsers != nil && !*s.HostUsers {
		l.hostNetworkUsers = s.HostNetwork
		eachContainerOf(s, func(ctr *corev1.Container) { l.volumeDevices = l.volumeDevices || len(ctr.VolumeDevices) > 0 })
	}
	eachContainerOf(s, func(ctr *corev1.Container) {
		c := ctr.SecurityContext
		// As in kube-apiserver, a stored container that says nothing of escalation counts.
		l.sysAdmins = l.sysAdmins || c != nil && (c.AllowPrivilegeEscalation == nil || !*c.AllowPrivilegeEscalation) &&
			c.Capabilities != nil && slices.Contains(c.Capabilities.Add, capSysAdmin)
		l.hugePages = l.hugePages || oddPages(&ctr.Resources)
		l.envFiles = l.envFiles || slices.ContainsFunc(ctr.Env, func(v corev1.EnvVar) bool {
			return v.ValueFrom != nil && v.ValueFrom.FileKeyRef != nil
		})
		l.restartAll = l.restartAll || slices.ContainsFunc(ctr.RestartPolicyRules, restartsAll)
	})
	l.hugePages = l.hugePages || oddPages(&corev1.ResourceRequirements{Limits: s.Overhead})
	// The rules of sidecars belong to the same feature.
	l.restartAll = l.restartAll || slices.ContainsFunc(s.InitContainers, func(ctr corev1.Container) bool {
		return IsSidecar(&ctr) && len(ctr.RestartPolicyRules) > 0
	})
	l.restartOnResize = slices.ContainsFunc(s.InitContainers,
		func(ctr corev1.Container) bool { return !IsSidecar(&ctr) && restartsOnResize(&ctr) })
	for i := range s.Volumes {
		l.emptyImages = l.emptyImages || s.Volumes[i].Image != nil && s.Volumes[i].Image.Reference == ""
		l.tokenPaths = l.tokenPaths || strayToken(s.Volumes[i].Projected)
	}
	return l
}

func strayToken(p *corev1.ProjectedVolumeSource) bool {
	if p == nil {
		return false
	}
	for _, s := range p.Sources {
		if t := s.ServiceAccountToken; t != nil && (strings.HasPrefix(t.Path, "/") || strings.HasPrefix(t.Path, "..") ||
			hasParentSegment(t.Path)) {
			return true
		}
	}
	return false
}

func oddPages(r *corev1.ResourceRequirements) bool {
	var strict podCheck
	return len(validation.Check(func(at *validation.Path) {
		for _, list := range []corev1.ResourceList{r.Limits, r.Requests} {
			for n, q := range list {
				if validation.IsHugePages(n) {
					strict.hugePageRules(at, n, q)
				}
			}
		}
	})) > 0
}
