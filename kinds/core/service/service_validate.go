package service

import (
	"fmt"
	"net"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	netutils "k8s.io/utils/net"

	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

func newServiceRules(at *validation.Path, s *corev1.Service) { serviceRules(at, s, &corev1.Service{}) }

// serviceRules validates a service. old is the stored service, or an empty one.
func serviceRules(at *validation.Path, svc, old *corev1.Service) {
	metadata, spec, s := at.Child("metadata"), at.Child("spec"), &svc.Spec
	hints, hinted := svc.Annotations[corev1.DeprecatedAnnotationTopologyAwareHints]
	if mode, ok := svc.Annotations[corev1.AnnotationTopologyMode]; ok && hinted && mode != hints {
		metadata.Child("annotations").Key(corev1.AnnotationTopologyMode).Invalid(mode,
			fmt.Sprintf("must match annotations[%s] when both are specified", corev1.DeprecatedAnnotationTopologyAwareHints))
	}
	if len(s.Ports) == 0 && !onlyHeadless(s) && s.Type != corev1.ServiceTypeExternalName {
		spec.Child("ports").Required("")
	}
	serviceTypeRules(spec, s)
	var names validation.Unique[string]
	for i := range s.Ports {
		servicePortRules(spec.Child("ports").Index(i), &s.Ports[i], len(s.Ports) > 1, &names)
	}
	validation.LabelRules(spec.Child("selector"), s.Selector)
	validation.Enum(spec.Child("sessionAffinity"), s.SessionAffinity, corev1.ServiceAffinityClientIP, corev1.ServiceAffinityNone)
	affinityConfigRules(spec.Child("sessionAffinityConfig"), s)
	clusterIPRules(spec, s, old.Spec.ClusterIPs)
	for i, ip := range s.ExternalIPs {
		if validation.IPOrStored(spec.Child("externalIPs").Index(i), ip, old.Spec.ExternalIPs) {
			EndpointAddress(spec.Child("externalIPs").Index(i), ip)
		}
	}
	validation.Enum(spec.Child("type"), s.Type, corev1.ServiceTypeClusterIP, corev1.ServiceTypeExternalName,
		corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort)
	portNumbersOnce(spec.Child("ports"), s)
	sourceRangeRules(at, svc, old)
	balancer := s.Type == corev1.ServiceTypeLoadBalancer
	if s.AllocateLoadBalancerNodePorts != nil && !balancer {
		spec.Child("allocateLoadBalancerNodePorts").Forbidden("may only be used when `type` is 'LoadBalancer'")
	}
	if balancer && s.AllocateLoadBalancerNodePorts == nil {
		at.Child("allocateLoadBalancerNodePorts").Required("")
	}
	balancerClassRules(spec.Child("loadBalancerClass"), s)
	trafficRules(spec, s)
}

// onlyHeadless reports whether None is the only cluster IP.
func onlyHeadless(s *corev1.ServiceSpec) bool {
	return len(s.ClusterIPs) == 1 && s.ClusterIPs[0] == corev1.ClusterIPNone
}

func serviceTypeRules(at *validation.Path, s *corev1.ServiceSpec) {
	switch s.Type {
	case corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort:
		if onlyHeadless(s) {
			at.Child("clusterIPs").Index(0).Invalid(s.ClusterIPs[0], fmt.Sprintf("may not be set to 'None' for %s services", s.Type))
		}
	case corev1.ServiceTypeExternalName:
		const no = "may not be set for ExternalName services"
		if len(s.ClusterIPs) > 0 {
			at.Child("clusterIPs").Forbidden(no)
		}
		if len(s.IPFamilies) > 0 {
			at.Child("ipFamilies").Forbidden(no)
		}
		if s.IPFamilyPolicy != nil {
			at.Child("ipFamilyPolicy").Forbidden(no)
		}
		// A trailing dot marks a fully qualified name.
		validation.RequiredFormat(at.Child("externalName"), strings.TrimSuffix(s.ExternalName, "."), validation.DNSSubdomain)
	}
}

func servicePortRules(at *validation.Path, p *corev1.ServicePort, named bool, names *validation.Unique[string]) {
	switch {
	case p.Name == "":
		if named {
			at.Child("name").Required("")
		}
	default:
		validation.Format(at.Child("name"), p.Name, validation.DNSLabel)
		names.Add(at.Child("name"), p.Name)
	}
	validation.PortNumber(at.Child("port"), p.Port)
	validation.Protocol(at.Child("protocol"), p.Protocol)
	validation.PortNumberOrName(at.Child("targetPort"), p.TargetPort)
	if p.AppProtocol != nil {
		validation.Format(at.Child("appProtocol"), *p.AppProtocol, validation.QualifiedName)
	}
}

// maxAffinitySeconds is the maximum timeout of session affinity: one day.
const maxAffinitySeconds = corev1.DefaultClientIPServiceAffinitySeconds * 8

func affinityConfigRules(at *validation.Path, s *corev1.ServiceSpec) {
	const when = "when session affinity type is ClientIP"
	c := s.SessionAffinityConfig
	switch {
	case s.SessionAffinity == corev1.ServiceAffinityNone:
		if c != nil {
			at.Forbidden("must not be set when session affinity is None")
		}
	case s.SessionAffinity != corev1.ServiceAffinityClientIP:
	case c == nil:
		at.Required(when)
	case c.ClientIP == nil:
		at.Child("clientIP").Required(when)
	case c.ClientIP.TimeoutSeconds == nil:
		at.Child("clientIP").Child("timeoutSeconds").Required(when)
	default:
		if n := *c.ClientIP.TimeoutSeconds; n <= 0 || n > maxAffinitySeconds {
			at.Child("clientIP").Child("timeoutSeconds").Invalid(n, fmt.Sprintf("must be greater than 0 and less than %d", maxAffinitySeconds))
		}
	}
}

// clusterIPRules validates cluster IPs and that they match the IP families.
func clusterIPRules(at *validation.Path, s *corev1.ServiceSpec, known []string) {
	if s.Type == corev1.ServiceTypeExternalName {
		return
	}
	ips, families := at.Child("clusterIPs"), at.Child("ipFamilies")
	switch {
	case s.ClusterIP == "":
		if len(s.ClusterIPs) > 0 {
			ips.Invalid(s.ClusterIPs, "must be empty when `clusterIP` is not specified")
		}
	case len(s.ClusterIPs) == 0:
		ips.Required("")
	case s.ClusterIPs[0] != s.ClusterIP:
		ips.Invalid(s.ClusterIPs, "first value must match `clusterIP`")
	}
	var seen validation.Unique[corev1.IPFamily]
	for i, f := range s.IPFamilies {
		validation.OneOf(families.Index(i), f, corev1.IPv4Protocol, corev1.IPv6Protocol)
		seen.Add(families.Index(i), f)
	}
	validation.OptionalEnum(at.Child("ipFamilyPolicy"), s.IPFamilyPolicy,
		corev1.IPFamilyPolicyPreferDualStack, corev1.IPFamilyPolicyRequireDualStack, corev1.IPFamilyPolicySingleStack)
	valid := true
	for i, ip := range s.ClusterIPs {
		if i == 0 && ip == corev1.ClusterIPNone {
			if len(s.ClusterIPs) > 1 {
				valid = false
				ips.Invalid(s.ClusterIPs, "'None' must be the first and only value")
			}
			continue
		}
		valid = validation.IPOrStored(ips.Index(i), ip, known) && valid
	}
	if len(s.ClusterIPs) > 2 {
		ips.Invalid(s.ClusterIPs, "may only hold up to 2 values")
	}
	if valid {
		familyRules(ips, s)
	}
}

func familyRules(ips *validation.Path, s *corev1.ServiceSpec) {
	if len(s.ClusterIPs) > 1 {
		if !validation.IsDualStack(ips, s.ClusterIPs) {
			ips.Invalid(s.ClusterIPs, "may specify no more than one IP for each IP family")
		}
	}
	if onlyHeadless(s) {
		return
	}
	for i, ip := range s.ClusterIPs[:min(len(s.ClusterIPs), len(s.IPFamilies))] {
		switch v6 := netutils.IsIPv6String(ip); {
		case s.IPFamilies[i] == corev1.IPv4Protocol && v6:
			ips.Index(i).Invalid(ip, fmt.Sprintf("expected an IPv4 value as indicated by `ipFamilies[%d]`", i))
		case s.IPFamilies[i] == corev1.IPv6Protocol && !v6:
			ips.Index(i).Invalid(ip, fmt.Sprintf("expected an IPv6 value as indicated by `ipFamilies[%d]`", i))
		}
	}
}

// EndpointAddress validates that an IP address is not unspecified, loopback or link-local.
func EndpointAddress(at *validation.Path, value string) {
	ip := netutils.ParseIPSloppy(value)
	for _, f := range []struct {
		matches func(net.IP) bool
		message string
	}{
		{func(ip net.IP) bool { return ip == nil }, "must be a valid IP address"},
		{net.IP.IsUnspecified, fmt.Sprintf("may not be unspecified (%v)", value)},
		{net.IP.IsLoopback, "may not be in the loopback range (127.0.0.0/8, ::1/128)"},
		{net.IP.IsLinkLocalUnicast, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"},
		{net.IP.IsLinkLocalMulticast, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"},
	} {
		if f.matches(ip) {
			at.Invalid(value, f.message)
		}
		if ip == nil {
			return
		}
	}
}

// portNumbersOnce validates that ports are unique by number and protocol.
func portNumbersOnce(at *validation.Path, s *corev1.ServiceSpec) {
	if s.Type == corev1.ServiceTypeClusterIP {
		for i := range s.Ports {
			if s.Ports[i].NodePort != 0 {
				at.Index(i).Child("nodePort").Forbidden("may not be used when `type` is 'ClusterIP'")
			}
		}
	}
	type key struct {
		protocol corev1.Protocol
		number   int32
	}
	var ofNodes, own validation.Unique[key]
	for i, p := range s.Ports {
		if p.NodePort == 0 {
			continue
		}
		k := key{p.Protocol, p.NodePort}
		if ofNodes.Has(k) {
			at.Index(i).Child("nodePort").Duplicate(p.NodePort)
		}
		ofNodes.Insert(k)
	}
	for i, p := range s.Ports {
		k := key{p.Protocol, p.Port}
		if own.Has(k) {
			at.Index(i).Duplicate(corev1.ServicePort{Protocol: p.Protocol, Port: p.Port, TargetPort: intstr.IntOrString{}})
		}
		own.Insert(k)
	}
}

// sourceRangeRules validates the source ranges of a load balancer in the field or, if it is
// empty, in the annotation.
func sourceRangeRules(at *validation.Path, svc, old *corev1.Service) {
	const only = "may only be used when `type` is 'LoadBalancer'"
	balancer := svc.Spec.Type == corev1.ServiceTypeLoadBalancer
	if ranges := svc.Spec.LoadBalancerSourceRanges; len(ranges) > 0 {
		at := at.Child("spec").Child("LoadBalancerSourceRanges")
		if !balancer {
			at.Forbidden(only)
		}
		known := trimmedSpaces(old.Spec.LoadBalancerSourceRanges)
		for i, r := range ranges {
			validation.CIDROrStored(at.Index(i), strings.TrimSpace(r), known)
		}
		return
	}
	value, ok := svc.Annotations[corev1.AnnotationLoadBalancerSourceRangesKey]
	if !ok {
		return
	}
	at = at.Child("metadata").Child("annotations").Key(corev1.AnnotationLoadBalancerSourceRangesKey)
	if !balancer {
		at.Forbidden(only)
	}
	if before, ok := old.Annotations[corev1.AnnotationLoadBalancerSourceRangesKey]; ok && before == value {
		return
	}
	if value = strings.TrimSpace(value); value != "" {
		for _, r := range strings.Split(value, ",") {
			validation.CIDROrStored(at, strings.TrimSpace(r), nil)
		}
	}
}

func trimmedSpaces(list []string) []string {
	list = slices.Clone(list)
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

func balancerClassRules(at *validation.Path, s *corev1.ServiceSpec) {
	switch {
	case s.LoadBalancerClass == nil:
	case s.Type == corev1.ServiceTypeLoadBalancer:
		validation.Format(at, *s.LoadBalancerClass, validation.QualifiedName)
	default:
		at.Forbidden("may only be used when `type` is 'LoadBalancer'")
	}
}

// isReachable reports whether a service can be reached from outside the cluster.
func isReachable(s *corev1.ServiceSpec) bool {
	return s.Type == corev1.ServiceTypeLoadBalancer || s.Type == corev1.ServiceTypeNodePort ||
		s.Type == corev1.ServiceTypeClusterIP && len(s.ExternalIPs) > 0
}

func trafficRules(at *validation.Path, s *corev1.ServiceSpec) {
	external := at.Child("externalTrafficPolicy")
	switch {
	case isReachable(s):
		validation.Enum(external, s.ExternalTrafficPolicy, corev1.ServiceExternalTrafficPolicyCluster, corev1.ServiceExternalTrafficPolicyLocal)
	case s.ExternalTrafficPolicy != "":
		external.Invalid(s.ExternalTrafficPolicy, "may only be set for externally-accessible services")
	}
	// A missing port is allocated later.
	if p := s.HealthCheckNodePort; p != 0 {
		if wantsHealthPort(s) {
			validation.PortNumber(at.Child("healthCheckNodePort"), p)
		} else {
			at.Child("healthCheckNodePort").Invalid(p, "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'")
		}
	}
	internal := at.Child("internalTrafficPolicy")
	if s.InternalTrafficPolicy == nil {
		if validation.IsOneOf(s.Type, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeClusterIP) {
			internal.Required("")
		}
	} else {
		validation.OneOf(internal, *s.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster, corev1.ServiceInternalTrafficPolicyLocal)
	}
	distributions := []string{corev1.ServiceTrafficDistributionPreferClose, corev1.ServiceTrafficDistributionPreferSameZone,
		corev1.ServiceTrafficDistributionPreferSameNode}
	if !at.Enabled(features.PreferSameTrafficDistribution) {
		distributions = distributions[:1]
	}
	validation.OptionalEnum(at.Child("trafficDistribution"), s.TrafficDistribution, distributions...)
}
