package pod

import (
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

func newPodRules(at *validation.Path, pod *corev1.Pod) {
	podRules(at, pod, nil)
	podCreateRules(at, pod)
}

// podRules validates a pod that is not a template. old is the stored pod, or nil for a new one.
func podRules(at *validation.Path, pod, old *corev1.Pod) {
	c := podCheck{spec: &pod.Spec, pod: pod}
	if old != nil {
		c.lenient = podStoredViolations(at, old.Annotations, &old.Spec)
	}
	annotationRules(at.Child("metadata").Child("annotations"), pod.Annotations, &pod.Spec, c.lenient.annotationLeniency)
	c.specRules(at.Child("spec"))
	if pod.Spec.ServiceAccountName == "" {
		noTokens(at.Child("spec").Child("volumes"), pod.Spec.Volumes)
	}
	trimmedImages(at.Child("spec").Child("containers"), pod.Spec.Containers)
	trimmedImages(at.Child("spec").Child("initContainers"), pod.Spec.InitContainers)
}

// podCreateRules forbids fields that a new pod cannot have.
func podCreateRules(at *validation.Path, pod *corev1.Pod) {
	spec := at.Child("spec")
	if len(pod.Spec.EphemeralContainers) > 0 {
		spec.Child("ephemeralContainers").Forbidden("cannot be set on create")
	}
	if pod.Spec.NodeName != "" && len(pod.Spec.SchedulingGates) > 0 {
		spec.Child("nodeName").Forbidden("cannot be set until all schedulingGates have been cleared")
	}
	profileAnnotationRules(spec, pod.Annotations, &pod.Spec)
}

// noTokens forbids token projections in a pod without a service account.
func noTokens(at *validation.Path, volumes []corev1.Volume) {
	for i := range volumes {
		if volumes[i].Projected == nil {
			continue
		}
		for j, source := range volumes[i].Projected.Sources {
			if source.ServiceAccountToken != nil {
				at.Index(i).Child("projected").Child("sources").Index(j).Child("serviceAccountToken").
					Forbidden("must not be specified when serviceAccountName is not set")
			}
		}
	}
}

func trimmedImages(at *validation.Path, containers []corev1.Container) {
	for i := range containers {
		trimmedImage(at.Index(i), containers[i].Image)
	}
}

func trimmedImage(at *validation.Path, image string) {
	if strings.TrimSpace(image) != image {
		at.Child("image").Invalid(image, "must not have leading or trailing whitespace")
	}
}

// TemplateRules validates a pod template. old is the stored template, or nil.
func TemplateRules(at *validation.Path, t, old *corev1.PodTemplateSpec) {
	c := podCheck{spec: &t.Spec}
	if old != nil {
		c.lenient = podStoredViolations(at, old.Annotations, &old.Spec)
	}
	validation.LabelRules(at.Child("labels"), t.Labels)
	validation.AnnotationRules(at.Child("annotations"), t.Annotations)
	annotationRules(at.Child("annotations"), t.Annotations, &t.Spec, c.lenient.annotationLeniency)
	c.specRules(at.Child("spec"))
	profileAnnotationRules(at.Child("spec"), t.Annotations, &t.Spec)
	if len(t.Spec.EphemeralContainers) > 0 {
		at.Child("spec").Child("ephemeralContainers").Forbidden("ephemeral containers not allowed in pod template")
	}
}

// podCheck is the context for the validation of parts of a pod.
type podCheck struct {
	spec *corev1.PodSpec
	// pod is nil for a template.
	pod *corev1.Pod
	// volumes are the valid volumes; containers can mount only these.
	volumes validation.Index[*corev1.Volume, string]
	// claimNames is a message with the names of the resource claims, made when it is first needed.
	claimNames string
	lenient    podRatchet
}

// specRules validates the spec of a pod. The order of the rules is the order of the errors.
func (c *podCheck) specRules(at *validation.Path) {
	s := c.spec
	if s.TerminationGracePeriodSeconds == nil {
		at.Child("terminationGracePeriodSeconds").Required("")
	}
	c.volumeListRules(at.Child("volumes"))
	podClaimRules(at.Child("resourceClaims"), s.ResourceClaims)
	c.containerListRules(at.Child("containers"))
	c.initContainerListRules(at.Child("initContainers"))
	c.ephemeralContainerListRules(at.Child("ephemeralContainers"))
	podResourceRules(at.Child("resources"), s)
	c.hostNetworkRules(at)
	validation.Enum(at.Child("restartPolicy"), s.RestartPolicy, corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure,
		corev1.RestartPolicyNever)
	validation.Enum(at.Child("dnsPolicy"), s.DNSPolicy, corev1.DNSClusterFirstWithHostNet, corev1.DNSClusterFirst,
		corev1.DNSDefault, corev1.DNSNone)
	validation.LabelRules(at.Child("nodeSelector"), s.NodeSelector)
	if s.SecurityContext != nil {
		c.podSecurityRules(at.Child("securityContext"), s.SecurityContext)
	}
	if share := s.ShareProcessNamespace; share != nil && *share && s.HostPID {
		at.Child("shareProcessNamespace").Invalid(*share, "ShareProcessNamespace and HostPID cannot both be enabled")
	}
	c.affinityRules(at.Child("affinity"), s.Affinity)
	dnsConfigRules(at.Child("dnsConfig"), s)
	for i, gate := range s.ReadinessGates {
		validation.Format(at.Child("readinessGates").Index(i).Child("conditionType"), string(gate.ConditionType), validation.QualifiedName)
	}
	schedulingGateRules(at.Child("schedulingGates"), s.SchedulingGates)
	c.spreadListRules(at.Child("topologySpreadConstraints"), s.TopologySpreadConstraints)
	hostProcessRules(at, s)
	hostUsersRules(at, s, &c.lenient)
	hostnameOverrideRules(at, s)
	c.identityRules(at)
	osRules(at, s)
	if s.SchedulingGroup != nil {
		schedulingGroupRules(at.Child("schedulingGroup"), s.SchedulingGroup)
		if len(s.EvictionResponders) > 0 {
			at.Child("schedulingGroup").Forbidden("may not be set when evictionResponders is set")
		}
	}
	fileVolumeRules(at, s)
}

// identityRules validates names and other fields that don't depend on the rest of the spec.
func (c *podCheck) identityRules(at *validation.Path) {
	s := c.spec
	validation.OptionalFormat(at.Child("serviceAccountName"), s.ServiceAccountName, validation.DNSSubdomain)
	validation.OptionalFormat(at.Child("nodeName"), s.NodeName, validation.DNSSubdomain)
	if d := s.ActiveDeadlineSeconds; d != nil {
		validation.InRange(at.Child("activeDeadlineSeconds"), *d, 1, math.MaxInt32)
	}
	validation.OptionalFormat(at.Child("hostname"), s.Hostname, validation.DNSLabel)
	validation.OptionalFormat(at.Child("subdomain"), s.Subdomain, validation.DNSLabel)
	TolerationRules(at.Child("tolerations"), s.Tolerations, c.lenient.comparisons || at.Enabled(features.TaintTolerationComparisonOperators))
	for i, alias := range s.HostAliases {
		host := at.Child("hostAliases").Index(i)
		validation.IP(host.Child("ip"), alias.IP)
		for j, name := range alias.Hostnames {
			validation.Format(host.Child("hostnames").Index(j), name, validation.DNSSubdomain)
		}
	}
	validation.OptionalFormat(at.Child("priorityClassName"), s.PriorityClassName, validation.DNSSubdomain)
	if s.RuntimeClassName != nil {
		validation.Format(at.Child("runtimeClassName"), *s.RuntimeClassName, validation.DNSSubdomain)
	}
	if s.PreemptionPolicy != nil {
		validation.Enum(at.Child("preemptionPolicy"), *s.PreemptionPolicy, corev1.PreemptLowerPriority, corev1.PreemptNever)
	}
	c.overheadRules(at.Child("overhead"), s.Overhead)
}

// schedulingGroupRules validates the union schedulingGroup, which has one member.
func schedulingGroupRules(at *validation.Path, g *corev1.PodSchedulingGroup) {
	name := at.Child("podGroupName")
	if g.PodGroupName == nil {
		name.Invalid(nil, "must specify one of: `podGroupName`")
		return
	}
	validation.Format(name, *g.PodGroupName, validation.DNSSubdomain)
}

// hostnameOverrideRules validates hostnameOverride, which excludes hostNetwork and
// setHostnameAsFQDN.
func hostnameOverrideRules(at *validation.Path, s *corev1.PodSpec) {
	if s.HostnameOverride == nil {
		return
	}
	name := at.Child("hostnameOverride")
	if s.SetHostnameAsFQDN != nil && *s.SetHostnameAsFQDN {
		name.Forbidden("may not be specified when setHostnameAsFQDN is true")
	}
	if s.HostNetwork {
		name.Forbidden("may not be specified when hostNetwork is true")
	}
	if len(*s.HostnameOverride) > maxHostname {
		name.TooLong(maxHostname)
	}
	validation.Format(name, *s.HostnameOverride, validation.DNSSubdomain)
}

// maxHostname is the maximum length of a host name in Linux.
const maxHostname = 64

// hostNetworkRules validates that host ports of pods with hostNetwork equal the container
// ports. A template may omit them, because they are set when the pod is created.
func (c *podCheck) hostNetworkRules(at *validation.Path) {
	if !c.spec.HostNetwork {
		return
	}
	for i := range c.spec.Containers {
		for j, p := range c.spec.Containers[i].Ports {
			if (c.pod != nil || p.HostPort != 0) && p.HostPort != p.ContainerPort {
				at.Child("containers").Index(i).Child("ports").Index(j).Child("hostPort").
					Invalid(p.HostPort, "must match `containerPort` when `hostNetwork` is true")
			}
		}
	}
}

func schedulingGateRules(at *validation.Path, gates []corev1.PodSchedulingGate) {
	var seen validation.Unique[string]
	for i, gate := range gates {
		validation.Format(at.Index(i), gate.Name, validation.QualifiedName)
		seen.Add(at.Index(i), gate.Name)
	}
}

// podClaimRules validates the resource claims of a pod.
func podClaimRules(at *validation.Path, claims []corev1.PodResourceClaim) {
	var seen validation.Unique[string]
	for i := range claims {
		claim, at := &claims[i], at.Index(i)
		if validation.Required(at.Child("name"), claim.Name) && seen.Add(at.Child("name"), claim.Name) {
			validation.Format(at.Child("name"), claim.Name, validation.DNSLabel)
		}
		switch {
		case claim.ResourceClaimName != nil && claim.ResourceClaimTemplateName != nil:
			at.Invalid(*claim, "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified")
		case claim.ResourceClaimName == nil && claim.ResourceClaimTemplateName == nil:
			at.Invalid(*claim, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`")
		}
		if claim.ResourceClaimName != nil {
			validation.Format(at.Child("resourceClaimName"), *claim.ResourceClaimName, validation.DNSSubdomain)
		}
		if claim.ResourceClaimTemplateName != nil {
			validation.Format(at.Child("resourceClaimTemplateName"), *claim.ResourceClaimTemplateName, validation.DNSSubdomain)
		}
	}
}
