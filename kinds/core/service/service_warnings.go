package service

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/api/validation"
)

func serviceWarnings(svc *corev1.Service) []string {
	return validation.Warn(func(at *validation.Path) {
		if _, ok := svc.Annotations[corev1.DeprecatedAnnotationTopologyAwareHints]; ok {
			at.Warnings([]string{fmt.Sprintf("annotation %s is deprecated, please use %s instead",
				corev1.DeprecatedAnnotationTopologyAwareHints, corev1.AnnotationTopologyMode)})
		}
		serviceSpecWarnings(at, at.Child("spec"), &svc.Spec)
	})
}

func serviceSpecWarnings(at, spec *validation.Path, s *corev1.ServiceSpec) {
	if s.Type != corev1.ServiceTypeExternalName && !isHeadless(s) {
		for i, ip := range s.ClusterIPs {
			validation.WarnIPForm(spec.Child("clusterIPs").Index(i), ip)
		}
	}
	external := s.Type == corev1.ServiceTypeExternalName
	ignored := func(set bool, name, when string) {
		if set {
			at.Warnings([]string{"spec." + name + " is ignored " + when})
		}
	}
	if onlyHeadless(s) {
		ignored(s.LoadBalancerIP != "", "loadBalancerIP", "for headless services")
		ignored(len(s.ExternalIPs) > 0, "externalIPs", "for headless services")
		ignored(s.SessionAffinity != corev1.ServiceAffinityNone, "SessionAffinity", "for headless services")
	}
	for i, ip := range s.ExternalIPs {
		validation.WarnIPForm(spec.Child("externalIPs").Index(i), ip)
	}
	if len(s.ExternalIPs) > 0 && !onlyHeadless(s) && !external {
		at.Warnings([]string{"spec.externalIPs is deprecated and may no longer be implemented in some clusters"})
	}
	validation.WarnIPForm(spec.Child("loadBalancerIP"), s.LoadBalancerIP)
	for i, cidr := range s.LoadBalancerSourceRanges {
		validation.WarnCIDRForm(spec.Child("loadBalancerSourceRanges").Index(i), cidr)
	}
	ignored(external && len(s.ExternalIPs) > 0, "externalIPs", `when spec.type is "ExternalName"`)
	ignored(!external && s.ExternalName != "", "externalName", `when spec.type is not "ExternalName"`)
	if d := s.TrafficDistribution; d != nil && *d == corev1.ServiceTrafficDistributionPreferClose {
		spec.Child("trafficDistribution").Warn(fmt.Sprintf("%q is deprecated; use %q", *d, corev1.ServiceTrafficDistributionPreferSameZone))
	}
}

// serviceStatusWarnings warns about addresses that are not in canonical form.
func serviceStatusWarnings(svc *corev1.Service) []string {
	return validation.Warn(func(at *validation.Path) {
		for i, in := range svc.Status.LoadBalancer.Ingress {
			validation.WarnIPForm(at.Child("status").Child("loadBalancer").Child("ingress").Index(i), in.IP)
		}
	})
}
