package api

import (
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func validatePod(obj Object) field.ErrorList {
	return check(func(at *place) {
		pod := obj.(*corev1.Pod)
		podRules(at, pod, nil)
		podCreateRules(at, pod)
	})
}

// podRules are for pods that stand for themselves. old is the stored pod, or
// nil for a new one.
func podRules(at *place, pod, old *corev1.Pod) {
	c := podCheck{spec: &pod.Spec, pod: pod}
	if old != nil {
		c.lenient = podFailings(&old.Spec)
	}
	podAnnotationRules(at.of("metadata").of("annotations"), pod.Annotations, &pod.Spec)
	c.specRules(at.of("spec"))
	if pod.Spec.ServiceAccountName == "" {
		noTokens(at.of("spec").of("volumes"), pod.Spec.Volumes)
	}
	trimmedImages(at.of("spec").of("containers"), pod.Spec.Containers)
	trimmedImages(at.of("spec").of("initContainers"), pod.Spec.InitContainers)
}

// podCreateRules are for what comes into a pod later, or never.
func podCreateRules(at *place, pod *corev1.Pod) {
	spec := at.of("spec")
	if len(pod.Spec.EphemeralContainers) > 0 {
		spec.of("ephemeralContainers").forbidden("cannot be set on create")
	}
	if pod.Spec.NodeName != "" && len(pod.Spec.SchedulingGates) > 0 {
		spec.of("nodeName").forbidden("cannot be set until all schedulingGates have been cleared")
	}
	profileAnnotationRules(spec, pod.Annotations, &pod.Spec)
}

// noTokens: there is no account that a token could be for.
func noTokens(at *place, volumes []corev1.Volume) {
	for i := range volumes {
		if volumes[i].Projected == nil {
			continue
		}
		for j, source := range volumes[i].Projected.Sources {
			if source.ServiceAccountToken != nil {
				at.item(i).of("projected").of("sources").item(j).of("serviceAccountToken").
					forbidden("must not be specified when serviceAccountName is not set")
			}
		}
	}
}

func trimmedImages(at *place, containers []corev1.Container) {
	for i := range containers {
		trimmedImage(at.item(i), containers[i].Image)
	}
}

func trimmedImage(at *place, image string) {
	if strings.TrimSpace(image) != image {
		at.of("image").invalid(image, "must not have leading or trailing whitespace")
	}
}

// templateRules are for the pods that a controller makes. old is the stored
// template, or nil.
func templateRules(at *place, t, old *corev1.PodTemplateSpec) {
	c := podCheck{spec: &t.Spec}
	if old != nil {
		c.lenient = podFailings(&old.Spec)
	}
	labelRules(at.of("labels"), t.Labels)
	annotationRules(at.of("annotations"), t.Annotations)
	podAnnotationRules(at.of("annotations"), t.Annotations, &t.Spec)
	c.specRules(at.of("spec"))
	profileAnnotationRules(at.of("spec"), t.Annotations, &t.Spec)
	if len(t.Spec.EphemeralContainers) > 0 {
		at.of("spec").of("ephemeralContainers").forbidden("ephemeral containers not allowed in pod template")
	}
}

// podCheck is what the rules for parts of a pod have to know of the whole.
type podCheck struct {
	spec *corev1.PodSpec
	// pod is nil for a template.
	pod *corev1.Pod
	// volumes are those without a fault: others cannot be mounted.
	volumes []*corev1.Volume
	lenient podLeniency
}

// specRules are the rules for the spec of a pod, in the order in which faults
// are listed.
func (c *podCheck) specRules(at *place) {
	s := c.spec
	if s.TerminationGracePeriodSeconds == nil {
		at.of("terminationGracePeriodSeconds").required("")
	}
	c.volumeListRules(at.of("volumes"))
	podClaimRules(at.of("resourceClaims"), s.ResourceClaims)
	c.containerListRules(at.of("containers"))
	c.initContainerListRules(at.of("initContainers"))
	c.ephemeralContainerListRules(at.of("ephemeralContainers"))
	podResourceRules(at.of("resources"), s)
	c.hostNetworkRules(at)
	enum(at.of("restartPolicy"), s.RestartPolicy, corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)
	enum(at.of("dnsPolicy"), s.DNSPolicy, corev1.DNSClusterFirstWithHostNet, corev1.DNSClusterFirst, corev1.DNSDefault, corev1.DNSNone)
	labelRules(at.of("nodeSelector"), s.NodeSelector)
	if s.SecurityContext != nil {
		c.podSecurityRules(at.of("securityContext"), s.SecurityContext)
	}
	c.affinityRules(at.of("affinity"), s.Affinity)
	dnsConfigRules(at.of("dnsConfig"), s)
	for i, gate := range s.ReadinessGates {
		format(at.of("readinessGates").item(i).of("conditionType"), string(gate.ConditionType), qualifiedName)
	}
	schedulingGateRules(at.of("schedulingGates"), s.SchedulingGates)
	c.spreadListRules(at.of("topologySpreadConstraints"), s.TopologySpreadConstraints)
	hostProcessRules(at, s)
	hostUsersRules(at, s, &c.lenient)
	hostnameOverrideRules(at, s)
	c.identityRules(at)
	osRules(at, s)
	if s.SchedulingGroup != nil {
		schedulingGroupRules(at.of("schedulingGroup"), s.SchedulingGroup)
	}
	fileVolumeRules(at, s)
}

// identityRules are for names, and what else is looked at by itself.
func (c *podCheck) identityRules(at *place) {
	s := c.spec
	optional(at.of("serviceAccountName"), s.ServiceAccountName, dnsSubdomain)
	optional(at.of("nodeName"), s.NodeName, dnsSubdomain)
	if d := s.ActiveDeadlineSeconds; d != nil {
		between(at.of("activeDeadlineSeconds"), *d, 1, math.MaxInt32)
	}
	optional(at.of("hostname"), s.Hostname, dnsLabel)
	optional(at.of("subdomain"), s.Subdomain, dnsLabel)
	tolerationRules(at.of("tolerations"), s.Tolerations, c.lenient.comparisons)
	for i, alias := range s.HostAliases {
		host := at.of("hostAliases").item(i)
		address(host.of("ip"), alias.IP)
		for j, name := range alias.Hostnames {
			format(host.of("hostnames").item(j), name, dnsSubdomain)
		}
	}
	optional(at.of("priorityClassName"), s.PriorityClassName, dnsSubdomain)
	if s.RuntimeClassName != nil {
		format(at.of("runtimeClassName"), *s.RuntimeClassName, dnsSubdomain)
	}
	if s.PreemptionPolicy != nil {
		enum(at.of("preemptionPolicy"), *s.PreemptionPolicy, corev1.PreemptLowerPriority, corev1.PreemptNever)
	}
	c.overheadRules(at.of("overhead"), s.Overhead)
}

// schedulingGroupRules: the one way to name a group so far is by a pod group.
func schedulingGroupRules(at *place, g *corev1.PodSchedulingGroup) {
	if g.PodGroupName == nil {
		at.invalid("", "must specify one of: `podGroupName`")
		return
	}
	needs(at.of("podGroupName"), *g.PodGroupName, dnsSubdomain)
}

// hostnameOverrideRules: a host name of one's own stands against that of the
// node, and against a full one made of parts.
func hostnameOverrideRules(at *place, s *corev1.PodSpec) {
	if s.HostnameOverride == nil {
		return
	}
	name := at.of("hostnameOverride")
	if s.SetHostnameAsFQDN != nil && *s.SetHostnameAsFQDN {
		name.forbidden("may not be specified when setHostnameAsFQDN is true")
	}
	if s.HostNetwork {
		name.forbidden("may not be specified when hostNetwork is true")
	}
	if len(*s.HostnameOverride) > maxHostname {
		name.tooLong(maxHostname)
	}
	format(name, *s.HostnameOverride, dnsSubdomain)
}

// maxHostname is what Linux allows.
const maxHostname = 64

// hostNetworkRules: on the network of the node a port has one number only. A
// template may leave it out, since it is filled in when the pod is made.
func (c *podCheck) hostNetworkRules(at *place) {
	if !c.spec.HostNetwork {
		return
	}
	for i := range c.spec.Containers {
		for j, p := range c.spec.Containers[i].Ports {
			if (c.pod != nil || p.HostPort != 0) && p.HostPort != p.ContainerPort {
				at.of("containers").item(i).of("ports").item(j).of("hostPort").
					invalid(p.HostPort, "must match `containerPort` when `hostNetwork` is true")
			}
		}
	}
}

func schedulingGateRules(at *place, gates []corev1.PodSchedulingGate) {
	var seen unique[string]
	for i, gate := range gates {
		format(at.item(i), gate.Name, qualifiedName)
		seen.add(at.item(i), gate.Name)
	}
}

// podClaimRules are for the claims of devices that containers refer to.
func podClaimRules(at *place, claims []corev1.PodResourceClaim) {
	var seen unique[string]
	for i := range claims {
		claim, at := &claims[i], at.item(i)
		if required(at.of("name"), claim.Name) && seen.add(at.of("name"), claim.Name) {
			format(at.of("name"), claim.Name, dnsLabel)
		}
		switch {
		case claim.ResourceClaimName != nil && claim.ResourceClaimTemplateName != nil:
			at.invalid(*claim, "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified")
		case claim.ResourceClaimName == nil && claim.ResourceClaimTemplateName == nil:
			at.invalid(*claim, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`")
		}
		if claim.ResourceClaimName != nil {
			format(at.of("resourceClaimName"), *claim.ResourceClaimName, dnsSubdomain)
		}
		if claim.ResourceClaimTemplateName != nil {
			format(at.of("resourceClaimTemplateName"), *claim.ResourceClaimTemplateName, dnsSubdomain)
		}
	}
}
