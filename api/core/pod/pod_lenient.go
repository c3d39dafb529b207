package pod

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/api/validation"
)

// podLeniency has the rules that are not applied to an update because the stored pod violates
// them. The rules were added later than the pod may have been created.
type podLeniency struct {
	selectors, nodeValues, spread, hugePages, tokenPaths, hostSysctls bool
	// volumeDevices: a pod with a user namespace may have block devices. hostNetworkUsers: it
	// may use the network of the node.
	volumeDevices, hostNetworkUsers bool
	// comparisons: tolerations may compare numbers.
	comparisons bool
	// emptyImages: image volumes may have no reference. sysAdmins: containers that must not escalate
	// privileges may have CAP_SYS_ADMIN.
	emptyImages, sysAdmins bool
}

// podFailings returns the later rules that a stored pod violates.
func podFailings(s *corev1.PodSpec) podLeniency {
	strict := podCheck{spec: s}
	breaks := func(rules func(at *validation.Path)) bool { return len(validation.Check(rules)) > 0 }
	var l podLeniency
	if a := s.Affinity; a != nil {
		l.selectors = breaks(func(at *validation.Path) {
			podTerms(a, func(t *corev1.PodAffinityTerm) {
				validation.SelectorRules(at, t.LabelSelector)
				validation.SelectorRules(at, t.NamespaceSelector)
			})
		})
		if n := a.NodeAffinity; n != nil && n.RequiredDuringSchedulingIgnoredDuringExecution != nil {
			l.nodeValues = breaks(func(at *validation.Path) {
				validation.NodeSelectorRules(at, n.RequiredDuringSchedulingIgnoredDuringExecution, false)
			})
		}
	}
	for i := range s.TopologySpreadConstraints {
		l.spread = l.spread || breaks(func(at *validation.Path) { validation.SelectorRules(at, s.TopologySpreadConstraints[i].LabelSelector) })
	}
	if s.SecurityContext != nil && len(s.SecurityContext.Sysctls) > 0 {
		l.hostSysctls = breaks(func(at *validation.Path) {
			for _, sysctl := range s.SecurityContext.Sysctls {
				at.Add(strict.hostSysctl(at, sysctl.Name)...)
			}
		})
	}
	if s.HostUsers != nil && !*s.HostUsers {
		l.hostNetworkUsers = s.HostNetwork
		eachContainerOf(s, func(ctr *corev1.Container) { l.volumeDevices = l.volumeDevices || len(ctr.VolumeDevices) > 0 })
	}
	l.comparisons = slices.ContainsFunc(s.Tolerations, func(t corev1.Toleration) bool { return comparesNumbers(t.Operator) })
	eachContainerOf(s, func(ctr *corev1.Container) {
		c := ctr.SecurityContext
		l.sysAdmins = l.sysAdmins || c != nil && c.AllowPrivilegeEscalation != nil && !*c.AllowPrivilegeEscalation &&
			c.Capabilities != nil && slices.Contains(c.Capabilities.Add, capSysAdmin)
	})
	for i := range s.Volumes {
		l.emptyImages = l.emptyImages || s.Volumes[i].Image != nil && s.Volumes[i].Image.Reference == ""
		l.tokenPaths = l.tokenPaths || strayToken(s.Volumes[i].Projected)
	}
	for _, list := range [][]corev1.Container{s.Containers, s.InitContainers} {
		for i := range list {
			l.hugePages = l.hugePages || oddPages(&list[i].Resources)
		}
	}
	return l
}

func strayToken(p *corev1.ProjectedVolumeSource) bool {
	if p == nil {
		return false
	}
	for _, s := range p.Sources {
		if t := s.ServiceAccountToken; t != nil && (strings.HasPrefix(t.Path, "/") || strings.HasPrefix(t.Path, "..") || hasParentSegment(t.Path)) {
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
