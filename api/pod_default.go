package api

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
)

// defaultGracePeriod is how long the containers of a pod have to stop.
const defaultGracePeriod = corev1.DefaultTerminationGracePeriodSeconds

func defaultPod(obj Object) {
	p := obj.(*corev1.Pod)
	dropInitContainerAnnotations(&p.Annotations)
	defaultPodSpec(&p.Spec)
	// A negative period is not refused, and no pod is ever seen with one.
	if grace := p.Spec.TerminationGracePeriodSeconds; *grace < 0 {
		p.Spec.TerminationGracePeriodSeconds = new(int64(1))
	}
	setDefault(&p.Spec.EnableServiceLinks, corev1.DefaultEnableServiceLinks)
	for _, list := range [][]corev1.Container{p.Spec.Containers, p.Spec.InitContainers} {
		for i := range list {
			requestLimits(&list[i].Resources)
			if p.Spec.HostNetwork {
				hostPorts(list[i].Ports)
			}
		}
	}
	defaultPodResources(&p.Spec)
	wholeMillisOfStatus(&p.Status)
	if p.Status.PodIP == "" && len(p.Status.PodIPs) > 0 {
		p.Status.PodIP = p.Status.PodIPs[0].IP
	}
	if p.Status.PodIP != "" && (len(p.Status.PodIPs) == 0 || p.Status.PodIPs[0].IP != p.Status.PodIP) {
		p.Status.PodIPs = []corev1.PodIP{{IP: p.Status.PodIP}}
	}
}

// wholeMillisOfStatus rounds the quantities that a status tells.
func wholeMillisOfStatus(s *corev1.PodStatus) {
	resources := func(r *corev1.ResourceRequirements) {
		if r != nil {
			wholeMillis(r.Limits)
			wholeMillis(r.Requests)
		}
	}
	wholeMillis(s.AllocatedResources)
	resources(s.Resources)
	for _, list := range [][]corev1.ContainerStatus{s.ContainerStatuses, s.InitContainerStatuses, s.EphemeralContainerStatuses} {
		for i := range list {
			wholeMillis(list[i].AllocatedResources)
			resources(list[i].Resources)
		}
	}
}

// requestLimits: what a container may use at most is what it asks for, where it
// asks for nothing.
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

// hostPorts: on the network of the node, the port of a container is the node's.
func hostPorts(ports []corev1.ContainerPort) {
	for i := range ports {
		if ports[i].HostPort == 0 {
			ports[i].HostPort = ports[i].ContainerPort
		}
	}
}

// defaultPodResources: a pod that limits itself asks for what its containers
// together ask for, or for what it may use where they ask for nothing.
func defaultPodResources(s *corev1.PodSpec) {
	r := s.Resources
	if r == nil || !anyPodWide(r.Limits) && !anyPodWide(r.Requests) {
		return
	}
	total := containerRequests(s)
	set := func(name corev1.ResourceName) {
		q, asked := total[name]
		if !asked {
			q, asked = r.Limits[name]
		}
		if _, ok := r.Requests[name]; ok || !asked {
			return
		}
		if r.Requests == nil {
			r.Requests = corev1.ResourceList{}
		}
		r.Requests[name] = q.DeepCopy()
	}
	for name := range total {
		if podWide(name) && !hugePages(name) {
			set(name)
		}
	}
	for name := range r.Limits {
		if podWide(name) {
			set(name)
		}
	}
	for name, q := range r.Requests {
		if _, ok := r.Limits[name]; hugePages(name) && !ok {
			if r.Limits == nil {
				r.Limits = corev1.ResourceList{}
			}
			r.Limits[name] = q.DeepCopy()
		}
	}
}

func anyPodWide(list corev1.ResourceList) bool {
	for name := range list {
		if podWide(name) {
			return true
		}
	}
	return false
}

// podWide tells of resources that a pod can have as a whole.
func podWide(name corev1.ResourceName) bool {
	return name == corev1.ResourceCPU || name == corev1.ResourceMemory || hugePages(name)
}

// defaultTemplate is for the pods that a controller makes.
func defaultTemplate(t *corev1.PodTemplateSpec) {
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

// defaultPodSpec fills in what pods of every origin have.
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
	setDefault(&s.TerminationGracePeriodSeconds, defaultGracePeriod)
	setDefault(&s.SecurityContext, corev1.PodSecurityContext{})
	// The account has two fields, of which the older one only repeats the other.
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
	wholeMillis(s.Overhead)
	if s.Resources != nil {
		wholeMillis(s.Resources.Limits)
		wholeMillis(s.Resources.Requests)
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
				setDefault(&from.FileKeyRef.Optional, false)
			}
		}
	}
	wholeMillis(c.Resources.Limits)
	wholeMillis(c.Resources.Requests)
	defaultProbe(c.LivenessProbe)
	defaultProbe(c.ReadinessProbe)
	defaultProbe(c.StartupProbe)
	if c.Lifecycle != nil {
		defaultHook(c.Lifecycle.PostStart)
		defaultHook(c.Lifecycle.PreStop)
	}
}

// defaultPullPolicy: an image that is named without a version may be a new one
// each time.
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

// Defaults of a probe.
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
		setDefault(&p.GRPC.Service, "")
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
