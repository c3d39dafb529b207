package pod

import (
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/core/claim"
)

// podStatusChanges validates an update of status and metadata by kubelets and controllers.
func podStatusChanges(at *validation.Path, obj, old *corev1.Pod) {
	metadata, status := at.Child("metadata"), at.Child("status")
	podAnnotationChanges(metadata.Child("annotations"), obj, old)
	podConditionRules(status.Child("conditions"), obj.Status.Conditions)
	if n := obj.Status.NominatedNodeName; n != old.Status.NominatedNodeName && n != "" {
		validation.Format(status.Child("nominatedNodeName"), n, validation.DNSSubdomain)
		if old.Spec.NodeName != "" {
			status.Child("nominatedNodeName").Forbidden("may not be set on pods that are already bound to a node")
		}
	}
	if g := obj.Status.ObservedGeneration; g < 0 {
		status.Child("observedGeneration").Invalid(g, notNegative)
	}
	validation.Immutable(status.Child("qosClass"), obj.Status.QOSClass, old.Status.QOSClass)
	stillEnded(status, &obj.Status, old)
	podClaimStatusRules(status.Child("resourceClaimStatuses"), obj)
	extendedClaimRules(status.Child("extendedResourceClaimStatus"), obj)
	allocatableClaimRules(status.Child("nodeAllocatableResourceClaimStatuses"), obj)
	volumeHealthRules(status.Child("volumeHealth"), obj)
	podAddressRules(status, &obj.Status, &old.Status)
	containerUserRules(status, obj)
	allocationRules(status, obj)
}

// volumeHealthRules validates the reported health of the volumes of a pod.
func volumeHealthRules(at *validation.Path, pod *corev1.Pod) {
	volumes := validation.IndexOf(pod.Spec.Volumes, func(v *corev1.Volume) string { return v.Name })
	validation.Each(at, pod.Status.VolumeHealth, func(at *validation.Path, h *corev1.PodVolumeHealth) {
		if h.Name != "" && !volumes.Has(h.Name) {
			at.Child("name").NotFound(h.Name)
		}
		claim.HealthConditionRules(at.Child("healthConditions"), h.HealthConditions)
	})
}

const notNegative = "must be a non-negative integer"

func podConditionRules(at *validation.Path, conditions []corev1.PodCondition) {
	for i, c := range conditions {
		if c.ObservedGeneration < 0 {
			at.Index(i).Child("observedGeneration").Invalid(c.ObservedGeneration, notNegative)
		}
		if c.Type != corev1.PodScheduled && c.Type != corev1.PodReady && c.Type != corev1.PodInitialized {
			validation.Format(at.Index(i).Child("Type"), string(c.Type), validation.QualifiedName)
		}
	}
}

// stillEnded validates that a container that has ended and is not restarted stays terminated.
func stillEnded(at *validation.Path, status *corev1.PodStatus, old *corev1.Pod) {
	s, never := &old.Spec, func(*corev1.ContainerStatus) bool { return false }
	restarts := restartsByPolicy
	switch hasRules := at.Enabled(features.ContainerRestartRules) || hasRestartRules(s); {
	case hasRules && mayRestartAll(s):
		restarts = func(*corev1.PodSpec, *corev1.Container, *corev1.ContainerStatus) bool { return true }
	case hasRules:
		restarts = restartsByRules
	}
	mayStart := func(containers []corev1.Container) func(*corev1.ContainerStatus) bool {
		named := validation.IndexOf(containers, containerName)
		return func(status *corev1.ContainerStatus) bool { return restarts(s, named.First(status.Name), status) }
	}
	terminatedStays(at.Child("containerStatuses"), status.ContainerStatuses, old.Status.ContainerStatuses, mayStart(s.Containers))
	terminatedStays(at.Child("initContainerStatuses"), status.InitContainerStatuses, old.Status.InitContainerStatuses,
		mayStart(s.InitContainers))
	terminatedStays(at.Child("ephemeralContainerStatuses"), status.EphemeralContainerStatuses, old.Status.EphemeralContainerStatuses, never)
}

// terminatedStays validates that those containers stay terminated which may not start again.
func terminatedStays(at *validation.Path, list, old []corev1.ContainerStatus, mayStart func(s *corev1.ContainerStatus) bool) {
	var live map[string]int
	for i := range old {
		if old[i].State.Terminated == nil || mayStart(&old[i]) {
			continue
		}
		if live == nil {
			live = liveStatuses(list)
		}
		for range live[old[i].Name] {
			at.Index(i).Child("state").Forbidden("may not be transitioned to non-terminated state")
		}
	}
}

// liveStatuses returns the number of statuses of each name that are not terminated.
func liveStatuses(list []corev1.ContainerStatus) map[string]int {
	live := make(map[string]int, len(list))
	for i := range list {
		if list[i].State.Terminated == nil {
			live[list[i].Name]++
		}
	}
	return live
}

func containerName(ctr *corev1.Container) string { return ctr.Name }

// restartsByPolicy reports whether the policy of the pod restarts a container that has ended, or the
// container, which is nil if the pod has none of its name, is a sidecar.
func restartsByPolicy(s *corev1.PodSpec, ctr *corev1.Container, status *corev1.ContainerStatus) bool {
	return s.RestartPolicy == corev1.RestartPolicyAlways ||
		s.RestartPolicy == corev1.RestartPolicyOnFailure && status.State.Terminated.ExitCode != 0 ||
		ctr != nil && isSidecar(ctr)
}

// restartsByRules reports whether the rules and the policy of a container that has ended, or else the
// policy of the pod, restart it.
func restartsByRules(s *corev1.PodSpec, ctr *corev1.Container, status *corev1.ContainerStatus) bool {
	if ctr == nil {
		return false
	}
	policy, code := s.RestartPolicy, status.State.Terminated.ExitCode
	if own := ctr.RestartPolicy; own != nil {
		policy = corev1.RestartPolicy(*own)
		if rule := matchingRule(ctr.RestartPolicyRules, code); rule != nil && rule.Action == corev1.ContainerRestartRuleActionRestart {
			return true
		}
	}
	switch policy {
	case corev1.RestartPolicyNever:
		return false
	case corev1.RestartPolicyOnFailure:
		return code != 0
	}
	return true
}

// matchingRule returns the first rule for an exit code, or nil.
func matchingRule(rules []corev1.ContainerRestartRule, code int32) *corev1.ContainerRestartRule {
	for i := range rules {
		codes := rules[i].ExitCodes
		if codes == nil {
			continue
		}
		if named := slices.Contains(codes.Values, code); named && codes.Operator == corev1.ContainerRestartRuleOnExitCodesOpIn ||
			!named && codes.Operator == corev1.ContainerRestartRuleOnExitCodesOpNotIn {
			return &rules[i]
		}
	}
	return nil
}

// mayRestartAll reports whether a rule of a container restarts all containers.
func mayRestartAll(s *corev1.PodSpec) bool {
	has := func(ctr corev1.Container) bool { return slices.ContainsFunc(ctr.RestartPolicyRules, restartsAll) }
	return slices.ContainsFunc(s.InitContainers, has) || slices.ContainsFunc(s.Containers, has)
}

func podClaimStatusRules(at *validation.Path, pod *corev1.Pod) {
	var seen validation.Unique[string]
	claims := validation.IndexOf(pod.Spec.ResourceClaims, func(c *corev1.PodResourceClaim) string { return c.Name })
	for i, s := range pod.Status.ResourceClaimStatuses {
		name := at.Index(i).Child("name")
		if !claims.Has(s.Name) {
			name.Invalid(s.Name, "must match the name of an entry in `spec.resourceClaims`")
		}
		seen.Add(name, s.Name)
		if s.ResourceClaimName != nil {
			validation.Format(at.Index(i).Child("resourceClaimName"), *s.ResourceClaimName, validation.DNSSubdomain)
		}
	}
}

// podAddressRules validates that the pod and its node have at most one address of each family.
func podAddressRules(at *validation.Path, s, old *corev1.PodStatus) {
	ips := at.Child("podIPs")
	var pod, known, knownHost []string
	for _, ip := range old.PodIPs {
		known = append(known, ip.IP)
	}
	for _, ip := range old.HostIPs {
		knownHost = append(knownHost, ip.IP)
	}
	for i, ip := range s.PodIPs {
		validation.IPOrStored(ips.Index(i), ip.IP, known)
		pod = append(pod, ip.IP)
	}
	atMostOnePerFamily(ips, pod, s.PodIPs)
	if s.PodIP == "" && len(s.PodIPs) > 0 { // the default of the one comes from the other
		ips.Invalid(s.PodIPs, "podIP and podIPs must either both be set or both be unset")
	}
	if len(s.HostIPs) > 0 {
		hostAddressRules(at.Child("hostIPs"), s, knownHost)
	}
}

func hostAddressRules(at *validation.Path, s *corev1.PodStatus, known []string) {
	if s.HostIP != s.HostIPs[0].IP {
		at.Index(0).Child("ip").Invalid(s.HostIPs[0].IP, "must be equal to `hostIP`")
	}
	var host []string
	for i, ip := range s.HostIPs {
		validation.IPOrStored(at.Index(i), ip.IP, known)
		host = append(host, ip.IP)
	}
	atMostOnePerFamily(at, host, s.HostIPs)
}

// atMostOnePerFamily refuses more than one address of a family. value is the value in the
// error.
func atMostOnePerFamily(at *validation.Path, ips []string, value any) {
	if len(ips) < 2 {
		return
	}
	if !validation.IsDualStack(at, ips) || len(ips) > 2 {
		at.Invalid(value, "may specify no more than one IP for each IP family")
	}
}

func containerUserRules(at *validation.Path, pod *corev1.Pod) {
	windows := pod.Spec.OS != nil && pod.Spec.OS.Name == corev1.Windows
	for _, l := range statusLists(pod) {
		for i := range l.statuses {
			u := l.statuses[i].User
			if u == nil || u.Linux == nil {
				continue
			}
			at := at.Child(l.name).Index(i).Child("user").Child("linux")
			if windows {
				at.Forbidden("cannot be set for a windows pod")
				continue
			}
			if uid := u.Linux.UID; uid < 0 || uid > math.MaxUint32 {
				at.Child("uid").Invalid(uid, fmt.Sprintf("must be between 0 and %d, inclusive", uint32(math.MaxUint32)))
			}
			groupID(at.Child("gid"), &u.Linux.GID)
			for j := range u.Linux.SupplementalGroups {
				groupID(at.Child("supplementalGroups").Index(j), &u.Linux.SupplementalGroups[j])
			}
		}
	}
}

// statusList is a list of container statuses and its field name.
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

// allocationRules validates that allocated resources in a status belong to the container.
func allocationRules(at *validation.Path, pod *corev1.Pod) {
	for n, l := range statusLists(pod) {
		named := validation.IndexOf(l.containers, containerName)
		for i := range l.statuses {
			list := l.statuses[i].AllocatedResourcesStatus
			at := at.Child(l.name).Index(i).Child("allocatedResourcesStatus")
			if ephemeral := n == 2; ephemeral {
				if len(list) > 0 {
					at.Forbidden("must not be specified in container status")
				}
				continue
			}
			a := newAllocations(named.First(l.statuses[i].Name), len(list), pod.Status.ExtendedResourceClaimStatus)
			for j := range list {
				a.known(at.Index(j).Child("name"), list[j].Name)
				healthRules(at.Index(j).Child("resources"), list[j].Resources)
			}
		}
	}
}

func healthRules(at *validation.Path, list []corev1.ResourceHealth) {
	var seen validation.Unique[corev1.ResourceID]
	for i, r := range list {
		validation.OneOf(at.Index(i).Child("health"), r.Health,
			corev1.ResourceHealthStatusHealthy, corev1.ResourceHealthStatusUnhealthy, corev1.ResourceHealthStatusUnknown)
		switch message := at.Index(i).Child("message"); {
		case r.Message == nil:
		case *r.Message == "":
			message.Required("must be non-empty if specified")
		case len(*r.Message) > corev1.ResourceHealthMessageMaxLength:
			message.TooLong(corev1.ResourceHealthMessageMaxLength)
		}
		seen.Add(at.Index(i).Child("resourceID"), r.ResourceID)
	}
}

// allocations are the resources that a container can have allocated.
type allocations struct {
	ctr *corev1.Container // nil if the pod does not have the container
	// claims are indexed by CLAIM/REQUEST, or CLAIM without a request. extended are the requests that were
	// made for extended resources of the container, in the claim extendedClaim.
	claims        validation.Index[corev1.ResourceClaim, string]
	extended      map[string]bool
	extendedClaim string
}

// newAllocations returns the allocations of a container for n lookups.
func newAllocations(ctr *corev1.Container, n int, extended *corev1.PodExtendedResourceClaimStatus) allocations {
	a := allocations{ctr: ctr}
	if n == 0 || ctr == nil {
		return a
	}
	a.claims = validation.IndexOf(ctr.Resources.Claims, func(c *corev1.ResourceClaim) string {
		if c.Request == "" {
			return c.Name
		}
		return c.Name + "/" + c.Request
	})
	if extended == nil {
		return a
	}
	a.extended, a.extendedClaim = map[string]bool{}, extended.ResourceClaimName
	for _, m := range extended.RequestMappings {
		if q := ctr.Resources.Requests[corev1.ResourceName(m.ResourceName)]; m.ContainerName == ctr.Name && !q.IsZero() {
			a.extended[m.RequestName] = true
		}
	}
	return a
}

// known validates that an allocated resource is one that the container requests.
func (a *allocations) known(at *validation.Path, name corev1.ResourceName) {
	if a.ctr == nil {
		return
	}
	claim, ofClaim := strings.CutPrefix(string(name), "claim:")
	if !ofClaim {
		if _, ok := a.ctr.Resources.Requests[name]; !ok {
			at.Invalid(name, "must match one of the container's resource requests")
		}
		return
	}
	extendedClaim, request, _ := strings.Cut(claim, "/")
	if isExtended := request != "" && extendedClaim == a.extendedClaim && a.extended[request]; !isExtended && !a.claims.Has(claim) {
		at.Invalid(name, "must match one of the container's resource claims as 'claim:<claimName>/<requestName>' when container.resources.claims[*].request is set or 'claim:<claimName>' when it is empty")
	}
}
