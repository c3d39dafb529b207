package service

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/miniapiserver/miniapiserver/api/validation"
)

// dropUnneeded clears fields that the new type of a service does not have, so that a client
// can change the type alone. It leaves fields that the client also changed, which validation
// refuses.
func dropUnneeded(s, old *corev1.ServiceSpec) {
	hasIP := func(s *corev1.ServiceSpec) bool { return s.Type != corev1.ServiceTypeExternalName }
	if hasIP(old) && !hasIP(s) {
		if s.ClusterIP == old.ClusterIP && slices.Equal(s.ClusterIPs, old.ClusterIPs) {
			s.ClusterIP, s.ClusterIPs = "", nil
		}
		if slices.Equal(s.IPFamilies, old.IPFamilies) {
			s.IPFamilies = nil
		}
		if equality.Semantic.DeepEqual(s.IPFamilyPolicy, old.IPFamilyPolicy) {
			s.IPFamilyPolicy = nil
		}
		if equality.Semantic.DeepEqual(s.InternalTrafficPolicy, old.InternalTrafficPolicy) {
			s.InternalTrafficPolicy = nil
		}
	}
	onNodes := func(s *corev1.ServiceSpec) bool {
		return s.Type == corev1.ServiceTypeNodePort || s.Type == corev1.ServiceTypeLoadBalancer
	}
	if onNodes(old) && !onNodes(s) && !hasNewNodePort(s, old) {
		for i := range s.Ports {
			s.Ports[i].NodePort = 0
		}
	}
	if wantsHealthPort(old) && !wantsHealthPort(s) && s.HealthCheckNodePort == old.HealthCheckNodePort {
		s.HealthCheckNodePort = 0
	}
	balancer := func(s *corev1.ServiceSpec) bool { return s.Type == corev1.ServiceTypeLoadBalancer }
	if balancer(old) && !balancer(s) {
		if equality.Semantic.DeepEqual(s.AllocateLoadBalancerNodePorts, old.AllocateLoadBalancerNodePorts) {
			s.AllocateLoadBalancerNodePorts = nil
		}
		if equality.Semantic.DeepEqual(s.LoadBalancerClass, old.LoadBalancerClass) {
			s.LoadBalancerClass = nil
		}
	}
	if isReachable(old) && !isReachable(s) && s.ExternalTrafficPolicy == old.ExternalTrafficPolicy {
		s.ExternalTrafficPolicy = ""
	}
}

// dropTrafficPolicy clears a valid policy of a type without endpoints, which kube-apiserver does not
// show because the policy was once a default of all types. Validation refuses an invalid one.
func dropTrafficPolicy(s *corev1.ServiceSpec) {
	if p := s.InternalTrafficPolicy; s.Type == corev1.ServiceTypeExternalName && p != nil &&
		validation.IsOneOf(*p, corev1.ServiceInternalTrafficPolicyCluster, corev1.ServiceInternalTrafficPolicyLocal) {
		s.InternalTrafficPolicy = nil
	}
}

// hasNewNodePort reports whether a service has a node port that its old state did not have.
func hasNewNodePort(s, old *corev1.ServiceSpec) bool {
	return slices.ContainsFunc(s.Ports, func(p corev1.ServicePort) bool {
		return p.NodePort != 0 && !slices.ContainsFunc(old.Ports, func(o corev1.ServicePort) bool { return o.NodePort == p.NodePort })
	})
}

// trimSecond removes the second address and family of a service whose policy becomes
// SingleStack, if the client changed only the policy.
func trimSecond(s, old *corev1.ServiceSpec) {
	if !singleStack(s) || singleStack(old) {
		return
	}
	if len(s.ClusterIPs) > 1 && slices.Equal(s.ClusterIPs, old.ClusterIPs) {
		s.ClusterIPs = s.ClusterIPs[:1]
	}
	if len(s.IPFamilies) > 1 && slices.Equal(s.IPFamilies, old.IPFamilies) {
		s.IPFamilies = s.IPFamilies[:1]
	}
}
