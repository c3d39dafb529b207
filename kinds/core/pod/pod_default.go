package pod

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

// defaultGracePeriod is the default of terminationGracePeriodSeconds.
const defaultGracePeriod = corev1.DefaultTerminationGracePeriodSeconds

func defaultPod(p *corev1.Pod) {
	dropInitContainerAnnotations(&p.Annotations)
	defaultPodSpec(&p.Spec)
	// A negative period is valid in a request, but is stored as 1.
	if grace := p.Spec.TerminationGracePeriodSeconds; *grace < 0 {
		p.Spec.TerminationGracePeriodSeconds = new(int64(1))
	}
	api.SetDefault(&p.Spec.EnableServiceLinks, corev1.DefaultEnableServiceLinks)
	for _, list := range [][]corev1.Container{p.Spec.Containers, p.Spec.InitContainers} {
		for i := range list {
			requestLimits(&list[i].Resources)
			if p.Spec.HostNetwork {
				hostPorts(list[i].Ports)
			}
		}
	}
	wholeMillisOfStatus(&p.Status)
	if p.Status.PodIP == "" && len(p.Status.PodIPs) > 0 {
		p.Status.PodIP = p.Status.PodIPs[0].IP
	}
	if p.Status.PodIP != "" && (len(p.Status.PodIPs) == 0 || p.Status.PodIPs[0].IP != p.Status.PodIP) {
		p.Status.PodIPs = []corev1.PodIP{{IP: p.Status.PodIP}}
	}
}

// wholeMillisOfStatus rounds the quantities in a status up to thousandths.
func wholeMillisOfStatus(s *corev1.PodStatus) {
	resources := func(r *corev1.ResourceRequirements) {
		if r != nil {
			validation.RoundToMillis(r.Limits)
			validation.RoundToMillis(r.Requests)
		}
	}
	validation.RoundToMillis(s.AllocatedResources)
	resources(s.Resources)
	for _, list := range [][]corev1.ContainerStatus{s.ContainerStatuses, s.InitContainerStatuses, s.EphemeralContainerStatuses} {
		for i := range list {
			validation.RoundToMillis(list[i].AllocatedResources)
			resources(list[i].Resources)
		}
	}
}

// requestLimits sets missing requests of a container to its limits.
func requestLimits(r *corev1.ResourceRequirements) {
	if r.Limits != nil && r.Requests == nil {
		r.Requests = make(corev1.ResourceList, len(r.Limits))
	}
	for name, limit := range r.Limits {
		if _, ok := r.Requests[name]; !ok {
			r.Requests[name] = limit.DeepCopy()
		}
	}
}

// hostPorts sets missing host ports to the container ports, for pods with hostNetwork.
func hostPorts(ports []corev1.ContainerPort) {
	for i := range ports {
		if ports[i].HostPort == 0 {
			ports[i].HostPort = ports[i].ContainerPort
		}
	}
}

// DefaultTemplate sets the defaults of a pod template.
func DefaultTemplate(t *corev1.PodTemplateSpec) {
	dropInitContainerAnnotations(&t.Annotations)
	defaultPodSpec(&t.Spec)
}

// dropInitContainerAnnotations removes the annotations in which pods of old versions
// of Kubernetes had their init containers. Others may read the map and the field, so
// neither is written unless there is something to remove.
func dropInitContainerAnnotations(annotations *map[string]string) {
	old := [...]string{
		"pod.beta.kubernetes.io/init-containers", "pod.alpha.kubernetes.io/init-containers",
		"pod.beta.kubernetes.io/init-container-statuses", "pod.alpha.kubernetes.io/init-container-statuses",
	}
	for _, key := range old {
		if _, ok := (*annotations)[key]; ok {
			rest := maps.Clone(*annotations)
			for _, key := range old {
				delete(rest, key)
			}
			*annotations = rest
			return
		}
	}
}

// defaultPodSpec sets the defaults that pods and pod templates share.
func defaultPodSpec(s *corev1.PodSpec) {
	if s.RestartPolicy == "" {
		s.RestartPolicy = corev1.RestartPolicyAlways
	}
	if s.DNSPolicy == "" {
		s.DNSPolicy = corev1.DNSClusterFirst
	}
	if s.SchedulerName == "" {
		s.SchedulerName = corev1.DefaultSchedulerName
	}
	api.SetDefault(&s.TerminationGracePeriodSeconds, defaultGracePeriod)
	api.SetDefault(&s.SecurityContext, corev1.PodSecurityContext{})
	// The deprecated field serviceAccount is always equal to serviceAccountName.
	if s.ServiceAccountName == "" {
		s.ServiceAccountName = s.DeprecatedServiceAccount
	}
	if s.DeprecatedServiceAccount != s.ServiceAccountName {
		s.DeprecatedServiceAccount = s.ServiceAccountName
	}
	for i := range s.Volumes {
		defaultVolume(&s.Volumes[i])
	}
	for i := range s.InitContainers {
		defaultContainer(&s.InitContainers[i])
	}
	for i := range s.Containers {
		defaultContainer(&s.Containers[i])
	}
	for i := range s.EphemeralContainers {
		defaultContainer((*corev1.Container)(&s.EphemeralContainers[i].EphemeralContainerCommon))
	}
	validation.RoundToMillis(s.Overhead)
	if s.Resources != nil {
		validation.RoundToMillis(s.Resources.Limits)
		validation.RoundToMillis(s.Resources.Requests)
	}
}

func defaultContainer(c *corev1.Container) {
	defaultPullPolicy(&c.ImagePullPolicy, c.Image)
	if c.TerminationMessagePath == "" {
		c.TerminationMessagePath = corev1.TerminationMessagePathDefault
	}
	if c.TerminationMessagePolicy == "" {
		c.TerminationMessagePolicy = corev1.TerminationMessageReadFile
	}
	for i := range c.Ports {
		if c.Ports[i].Protocol == "" {
			c.Ports[i].Protocol = corev1.ProtocolTCP
		}
	}
	for i := range c.Env {
		if from := c.Env[i].ValueFrom; from != nil {
			defaultFieldRef(from.FieldRef)
			if from.FileKeyRef != nil {
				api.SetDefault(&from.FileKeyRef.Optional, false)
			}
		}
	}
	validation.RoundToMillis(c.Resources.Limits)
	validation.RoundToMillis(c.Resources.Requests)
	defaultProbe(c.LivenessProbe)
	defaultProbe(c.ReadinessProbe)
	defaultProbe(c.StartupProbe)
	if c.Lifecycle != nil {
		defaultHook(c.Lifecycle.PostStart)
		defaultHook(c.Lifecycle.PreStop)
	}
}

// defaultPullPolicy sets Always for the tag latest, whose image may change, else IfNotPresent.
func defaultPullPolicy(policy *corev1.PullPolicy, image string) {
	switch {
	case *policy != "":
	case imageTag(image) == "latest":
		*policy = corev1.PullAlways
	default:
		*policy = corev1.PullIfNotPresent
	}
}

func defaultFieldRef(r *corev1.ObjectFieldSelector) {
	if r != nil && r.APIVersion == "" {
		r.APIVersion = corev1.SchemeGroupVersion.Version
	}
}

// Defaults of probe fields.
const (
	probeTimeout   = 1
	probePeriod    = 10
	probeSuccesses = 1
	probeFailures  = 3
)

func defaultProbe(p *corev1.Probe) {
	if p == nil {
		return
	}
	orElse := func(value *int32, other int32) {
		if *value == 0 {
			*value = other
		}
	}
	orElse(&p.TimeoutSeconds, probeTimeout)
	orElse(&p.PeriodSeconds, probePeriod)
	orElse(&p.SuccessThreshold, probeSuccesses)
	orElse(&p.FailureThreshold, probeFailures)
	defaultHTTPGet(p.HTTPGet)
	if p.GRPC != nil {
		api.SetDefault(&p.GRPC.Service, "")
	}
}

func defaultHook(h *corev1.LifecycleHandler) {
	if h != nil {
		defaultHTTPGet(h.HTTPGet)
	}
}

func defaultHTTPGet(h *corev1.HTTPGetAction) {
	if h == nil {
		return
	}
	if h.Path == "" {
		h.Path = "/"
	}
	if h.Scheme == "" {
		h.Scheme = corev1.URISchemeHTTP
	}
}

// defaultProtocols sets the protocol of HTTP probes and hooks.
func defaultProtocols(s *corev1.PodSpec) {
	set := func(h *corev1.HTTPGetAction) {
		if h != nil {
			api.SetDefault(&h.Protocol, corev1.HTTPProtocolHTTP1)
		}
	}
	eachContainerOf(s, func(ctr *corev1.Container) {
		for _, p := range []*corev1.Probe{ctr.LivenessProbe, ctr.ReadinessProbe, ctr.StartupProbe} {
			if p != nil {
				set(p.HTTPGet)
			}
		}
		if ctr.Lifecycle == nil {
			return
		}
		for _, h := range []*corev1.LifecycleHandler{ctr.Lifecycle.PostStart, ctr.Lifecycle.PreStop} {
			if h != nil {
				set(h.HTTPGet)
			}
		}
	})
}
