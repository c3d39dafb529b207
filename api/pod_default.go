package api

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// defaultGracePeriod is how long the containers of a pod have to stop.
const defaultGracePeriod = corev1.DefaultTerminationGracePeriodSeconds

func defaultPod(obj Object) {
	p := obj.(*corev1.Pod)
	defaultPodSpec(&p.Spec)
	setDefault(&p.Spec.EnableServiceLinks, corev1.DefaultEnableServiceLinks)
	if p.Status.PodIP == "" && len(p.Status.PodIPs) > 0 {
		p.Status.PodIP = p.Status.PodIPs[0].IP
	}
	if p.Status.PodIP != "" && (len(p.Status.PodIPs) == 0 || p.Status.PodIPs[0].IP != p.Status.PodIP) {
		p.Status.PodIPs = []corev1.PodIP{{IP: p.Status.PodIP}}
	}
}

// defaultTemplate is for the pods that a controller makes.
func defaultTemplate(t *corev1.PodTemplateSpec) { defaultPodSpec(&t.Spec) }

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
	s.DeprecatedServiceAccount = s.ServiceAccountName
	for i := range s.InitContainers {
		defaultContainer(&s.InitContainers[i])
	}
	for i := range s.Containers {
		defaultContainer(&s.Containers[i])
	}
}

func defaultContainer(c *corev1.Container) {
	if c.ImagePullPolicy == "" {
		c.ImagePullPolicy = corev1.PullIfNotPresent
		if latest(c.Image) {
			c.ImagePullPolicy = corev1.PullAlways
		}
	}
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
}

// latest tells whether an image is named without saying which version.
func latest(image string) bool {
	if strings.Contains(image, "@") {
		return false
	}
	last := image[strings.LastIndex(image, "/")+1:]
	_, tag, ok := strings.Cut(last, ":")
	return !ok || tag == "latest"
}
