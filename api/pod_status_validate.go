package api

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"
)

// validatePodStatus checks what kubelets and controllers say of a pod.
func validatePodStatus(obj, old Object) field.ErrorList {
	return check(func(at *place) {
		is, was := obj.(*corev1.Pod), old.(*corev1.Pod)
		metadata, status := at.of("metadata"), at.of("status")
		podAnnotationChanges(metadata.of("annotations"), is.Annotations, was.Annotations, &is.Spec)
		podConditionRules(status.of("conditions"), is.Status.Conditions)
		if n := is.Status.NominatedNodeName; n != was.Status.NominatedNodeName && n != "" {
			format(status.of("nominatedNodeName"), n, dnsSubdomain)
			if was.Spec.NodeName != "" {
				status.of("nominatedNodeName").forbidden("may not be set on pods that are already bound to a node")
			}
		}
		if g := is.Status.ObservedGeneration; g < 0 {
			status.of("observedGeneration").invalid(g, notNegative)
		}
		fixed(status.of("qosClass"), is.Status.QOSClass, was.Status.QOSClass)
		stillEnded(status, &is.Status, was)
		podClaimStatusRules(status.of("resourceClaimStatuses"), is)
		extendedClaimRules(status.of("extendedResourceClaimStatus"), is)
		allocatableClaimRules(status.of("nodeAllocatableResourceClaimStatuses"), is)
		podAddressRules(status, &is.Status, &was.Status)
		userRules(status, is)
		allocationRules(status, is)
	})
}

const notNegative = "must be a non-negative integer"

func podConditionRules(at *place, conditions []corev1.PodCondition) {
	for i, c := range conditions {
		if c.ObservedGeneration < 0 {
			at.item(i).of("observedGeneration").invalid(c.ObservedGeneration, notNegative)
		}
		if c.Type != corev1.PodScheduled && c.Type != corev1.PodReady && c.Type != corev1.PodInitialized {
			format(at.item(i).of("Type"), string(c.Type), qualifiedName)
		}
	}
}

// stillEnded: a container that has ended and is not started again stays ended.
func stillEnded(at *place, is *corev1.PodStatus, was *corev1.Pod) {
	policy := was.Spec.RestartPolicy
	mayStart := func(s *corev1.ContainerStatus) bool {
		return s.State.Terminated == nil || policy == corev1.RestartPolicyAlways ||
			s.State.Terminated.ExitCode != 0 && policy == corev1.RestartPolicyOnFailure || ownRestart(&was.Spec, s)
	}
	never := func(s *corev1.ContainerStatus) bool { return s.State.Terminated == nil }
	ended(at.of("containerStatuses"), is.ContainerStatuses, was.Status.ContainerStatuses, mayStart)
	ended(at.of("initContainerStatuses"), is.InitContainerStatuses, was.Status.InitContainerStatuses, mayStart)
	ended(at.of("ephemeralContainerStatuses"), is.EphemeralContainerStatuses, was.Status.EphemeralContainerStatuses, never)
}

func ended(at *place, is, was []corev1.ContainerStatus, mayStart func(s *corev1.ContainerStatus) bool) {
	for i := range was {
		if mayStart(&was[i]) {
			continue
		}
		for j := range is {
			if is[j].Name == was[i].Name && is[j].State.Terminated == nil {
				at.item(i).of("state").forbidden("may not be transitioned to non-terminated state")
			}
		}
	}
}

// ownRestart tells whether a container's own policy starts it again.
func ownRestart(s *corev1.PodSpec, status *corev1.ContainerStatus) bool {
	for _, list := range [][]corev1.Container{s.Containers, s.InitContainers} {
		for i := range list {
			if list[i].Name != status.Name {
				continue
			}
			if len(list[i].RestartPolicyRules) > 0 {
				return true
			}
			p := list[i].RestartPolicy
			return p != nil && (*p == corev1.ContainerRestartPolicyAlways ||
				*p == corev1.ContainerRestartPolicyOnFailure && status.State.Terminated.ExitCode != 0)
		}
	}
	return false
}

func podClaimStatusRules(at *place, pod *corev1.Pod) {
	var seen unique[string]
	for i, s := range pod.Status.ResourceClaimStatuses {
		name := at.item(i).of("name")
		if !slices.ContainsFunc(pod.Spec.ResourceClaims, func(c corev1.PodResourceClaim) bool { return c.Name == s.Name }) {
			name.invalid(s.Name, "must match the name of an entry in `spec.resourceClaims`")
		}
		seen.add(name, s.Name)
		if s.ResourceClaimName != nil {
			format(at.item(i).of("resourceClaimName"), *s.ResourceClaimName, dnsSubdomain)
		}
	}
}

// podAddressRules: a pod and its node have at most one address of each family.
func podAddressRules(at *place, s, was *corev1.PodStatus) {
	ips := at.of("podIPs")
	var pod, known, knownHost []string
	for _, ip := range was.PodIPs {
		known = append(known, ip.IP)
	}
	for _, ip := range was.HostIPs {
		knownHost = append(knownHost, ip.IP)
	}
	for i, ip := range s.PodIPs {
		knownAddress(ips.item(i), ip.IP, known)
		pod = append(pod, ip.IP)
	}
	atMostOnePerFamily(ips, pod, s.PodIPs)
	if len(s.HostIPs) > 0 {
		hostAddressRules(at.of("hostIPs"), s, knownHost)
	}
}

func hostAddressRules(at *place, s *corev1.PodStatus, known []string) {
	if s.HostIP != s.HostIPs[0].IP {
		at.item(0).of("ip").invalid(s.HostIPs[0].IP, "must be equal to `hostIP`")
	}
	var host []string
	for i, ip := range s.HostIPs {
		knownAddress(at.item(i), ip.IP, known)
		host = append(host, ip.IP)
	}
	atMostOnePerFamily(at, host, s.HostIPs)
}

// atMostOnePerFamily refuses more than one address of a family. value is how the
// message shows the addresses.
func atMostOnePerFamily(at *place, ips []string, value any) {
	if len(ips) < 2 {
		return
	}
	dual, err := netutils.IsDualStackIPStrings(ips)
	if err != nil {
		at.add(field.InternalError(at.path(), fmt.Errorf("failed to check for dual stack with error:%v", err)))
	}
	if !dual || len(ips) > 2 {
		at.invalid(value, "may specify no more than one IP for each IP family")
	}
}

func userRules(at *place, pod *corev1.Pod) {
	windows := pod.Spec.OS != nil && pod.Spec.OS.Name == corev1.Windows
	for _, l := range statusLists(pod) {
		for i := range l.statuses {
			u := l.statuses[i].User
			if u == nil || u.Linux == nil {
				continue
			}
			at := at.of(l.name).item(i).of("linux")
			if windows {
				at.forbidden("cannot be set for a windows pod")
				continue
			}
			userID(at.of("uid"), &u.Linux.UID)
			groupID(at.of("gid"), &u.Linux.GID)
			for j := range u.Linux.SupplementalGroups {
				groupID(at.of("supplementalGroups").item(j), &u.Linux.SupplementalGroups[j])
			}
		}
	}
}

// statusList is one of the lists of the states of containers.
type statusList struct {
	name       string
	statuses   []corev1.ContainerStatus
	containers []corev1.Container
}

func statusLists(pod *corev1.Pod) [3]statusList {
	return [3]statusList{
		{"containerStatuses", pod.Status.ContainerStatuses, pod.Spec.Containers},
		{"initContainerStatuses", pod.Status.InitContainerStatuses, pod.Spec.InitContainers},
		{"ephemeralContainerStatuses", pod.Status.EphemeralContainerStatuses, nil},
	}
}

// allocationRules: health is told of resources that a container has.
func allocationRules(at *place, pod *corev1.Pod) {
	for n, l := range statusLists(pod) {
		for i := range l.statuses {
			list := l.statuses[i].AllocatedResourcesStatus
			at := at.of(l.name).item(i).of("allocatedResourcesStatus")
			if ephemeral := n == 2; ephemeral {
				if len(list) > 0 {
					at.forbidden("must not be specified in container status")
				}
				continue
			}
			for j := range list {
				knownAllocation(at.item(j).of("name"), list[j].Name, l.statuses[i].Name, l.containers)
				healthRules(at.item(j).of("resources"), list[j].Resources)
			}
		}
	}
}

func healthRules(at *place, list []corev1.ResourceHealth) {
	var seen unique[corev1.ResourceID]
	for i, r := range list {
		oneOf(at.item(i).of("health"), r.Health,
			corev1.ResourceHealthStatusHealthy, corev1.ResourceHealthStatusUnhealthy, corev1.ResourceHealthStatusUnknown)
		seen.add(at.item(i).of("resourceID"), r.ResourceID)
	}
}

func knownAllocation(at *place, name corev1.ResourceName, container string, list []corev1.Container) {
	for i := range list {
		if list[i].Name != container {
			continue
		}
		claim, ofClaim := strings.CutPrefix(string(name), "claim:")
		if !ofClaim {
			if _, ok := list[i].Resources.Requests[name]; !ok {
				at.invalid(name, "must match one of the container's resource requests")
			}
			return
		}
		for _, c := range list[i].Resources.Claims {
			if c.Name == claim && c.Request == "" || c.Request != "" && c.Name+"/"+c.Request == claim {
				return
			}
		}
		at.invalid(name, "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty")
		return
	}
}
