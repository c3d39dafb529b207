package api

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// Warnings are for what is accepted and will not do what was meant.

func endpointSliceWarnings(obj, _ Object) []string {
	slice := obj.(*discoveryv1.EndpointSlice)
	if slice.AddressType == discoveryv1.AddressTypeFQDN {
		return []string{"spec.addressType: FQDN endpoints are deprecated"}
	}
	return warn(func(at *place) {
		for i := range slice.Endpoints {
			for j, ip := range slice.Endpoints[i].Addresses {
				plainIP(at.of("endpoints").item(i).of("addresses").item(j), ip)
			}
		}
	})
}

func endpointsWarnings(obj, _ Object) []string {
	return warn(func(at *place) {
		for i, s := range obj.(*corev1.Endpoints).Subsets {
			subset := at.of("subsets").item(i)
			for j, a := range s.Addresses {
				plainIP(subset.of("addresses").item(j).of("ip"), a.IP)
			}
			for j, a := range s.NotReadyAddresses {
				plainIP(subset.of("notReadyAddresses").item(j).of("ip"), a.IP)
			}
		}
	})
}

func serviceWarnings(obj, _ Object) []string {
	svc := obj.(*corev1.Service)
	return warn(func(at *place) {
		if _, ok := svc.Annotations[corev1.DeprecatedAnnotationTopologyAwareHints]; ok {
			at.warnings([]string{fmt.Sprintf("annotation %s is deprecated, please use %s instead",
				corev1.DeprecatedAnnotationTopologyAwareHints, corev1.AnnotationTopologyMode)})
		}
		serviceSpecWarnings(at, at.of("spec"), &svc.Spec)
	})
}

func serviceSpecWarnings(at, spec *place, s *corev1.ServiceSpec) {
	if s.Type != corev1.ServiceTypeExternalName && !headless(s) {
		for i, ip := range s.ClusterIPs {
			plainIP(spec.of("clusterIPs").item(i), ip)
		}
	}
	external := s.Type == corev1.ServiceTypeExternalName
	ignored := func(set bool, name, when string) {
		if set {
			at.warnings([]string{"spec." + name + " is ignored " + when})
		}
	}
	if onlyHeadless(s) {
		ignored(s.LoadBalancerIP != "", "loadBalancerIP", "for headless services")
		ignored(len(s.ExternalIPs) > 0, "externalIPs", "for headless services")
		ignored(s.SessionAffinity != corev1.ServiceAffinityNone, "SessionAffinity", "for headless services")
	}
	for i, ip := range s.ExternalIPs {
		plainIP(spec.of("externalIPs").item(i), ip)
	}
	if len(s.ExternalIPs) > 0 && !onlyHeadless(s) && !external {
		at.warnings([]string{"spec.externalIPs is deprecated and may no longer be implemented in some clusters"})
	}
	plainIP(spec.of("loadBalancerIP"), s.LoadBalancerIP)
	for i, cidr := range s.LoadBalancerSourceRanges {
		plainCIDR(spec.of("loadBalancerSourceRanges").item(i), cidr)
	}
	ignored(external && len(s.ExternalIPs) > 0, "externalIPs", `when spec.type is "ExternalName"`)
	ignored(!external && s.ExternalName != "", "externalName", `when spec.type is not "ExternalName"`)
	if d := s.TrafficDistribution; d != nil && *d == corev1.ServiceTrafficDistributionPreferClose {
		spec.of("trafficDistribution").warn(fmt.Sprintf("%q is deprecated; use %q", *d, corev1.ServiceTrafficDistributionPreferSameZone))
	}
}

func ingressWarnings(obj, old Object) []string {
	i := obj.(*networkingv1.Ingress)
	if _, ok := i.Annotations[classAnnotation]; !ok || i.Spec.IngressClassName != nil || old != nil {
		return nil
	}
	return []string{fmt.Sprintf("annotation %q is deprecated, please use 'spec.ingressClassName' instead", classAnnotation)}
}

func networkPolicyWarnings(obj, _ Object) []string {
	s := &obj.(*networkingv1.NetworkPolicy).Spec
	return warn(func(at *place) {
		blocks := func(at *place, peers []networkingv1.NetworkPolicyPeer) {
			for i := range peers {
				if b := peers[i].IPBlock; b != nil {
					block := at.item(i).of("ipBlock")
					plainCIDR(block.of("cidr"), b.CIDR)
					for j, except := range b.Except {
						plainCIDR(block.of("except").item(j), except)
					}
				}
			}
		}
		for i := range s.Ingress {
			blocks(at.of("spec").of("ingress").item(i).of("from"), s.Ingress[i].From)
		}
		for i := range s.Egress {
			blocks(at.of("spec").of("egress").item(i).of("to"), s.Egress[i].To)
		}
	})
}
