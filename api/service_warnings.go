package api

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// Warnings are for what is accepted and will not do what was meant.

func endpointSliceWarnings(obj Object) []string {
	if obj.(*discoveryv1.EndpointSlice).AddressType == discoveryv1.AddressTypeFQDN {
		return []string{"spec.addressType: FQDN endpoints are deprecated"}
	}
	return nil
}

func serviceWarnings(obj Object) []string {
	var out []string
	s := obj.(*corev1.Service)
	if _, ok := s.Annotations[corev1.DeprecatedAnnotationTopologyAwareHints]; ok {
		out = append(out, fmt.Sprintf("annotation %s is deprecated, please use %s instead",
			corev1.DeprecatedAnnotationTopologyAwareHints, corev1.AnnotationTopologyMode))
	}
	if len(s.Spec.ExternalIPs) > 0 {
		out = append(out, "spec.externalIPs is deprecated and may no longer be implemented in some clusters")
	}
	if onlyHeadless(&s.Spec) {
		if s.Spec.LoadBalancerIP != "" {
			out = append(out, "spec.loadBalancerIP is ignored for headless services")
		}
		if s.Spec.SessionAffinity != corev1.ServiceAffinityNone {
			out = append(out, "spec.SessionAffinity is ignored for headless services")
		}
	}
	return out
}
