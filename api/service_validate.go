package api

import (
	"fmt"
	"net"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	netutils "k8s.io/utils/net"
)

func newServiceRules(at *place, s *corev1.Service) { serviceRules(at, s, &corev1.Service{}) }

// serviceRules are for a service. was is the stored one, or an empty one.
func serviceRules(at *place, svc, was *corev1.Service) {
	metadata, spec, s := at.of("metadata"), at.of("spec"), &svc.Spec
	hints, hinted := svc.Annotations[corev1.DeprecatedAnnotationTopologyAwareHints]
	if mode, ok := svc.Annotations[corev1.AnnotationTopologyMode]; ok && hinted && mode != hints {
		metadata.of("annotations").key(corev1.AnnotationTopologyMode).invalid(mode,
			fmt.Sprintf("must match annotations[%s] when both are specified", corev1.DeprecatedAnnotationTopologyAwareHints))
	}
	if len(s.Ports) == 0 && !onlyHeadless(s) && s.Type != corev1.ServiceTypeExternalName {
		spec.of("ports").required("")
	}
	serviceTypeRules(spec, s)
	var names unique[string]
	for i := range s.Ports {
		servicePortRules(spec.of("ports").item(i), &s.Ports[i], len(s.Ports) > 1, &names)
	}
	labelRules(spec.of("selector"), s.Selector)
	enum(spec.of("sessionAffinity"), s.SessionAffinity, corev1.ServiceAffinityClientIP, corev1.ServiceAffinityNone)
	affinityConfigRules(spec.of("sessionAffinityConfig"), s)
	clusterIPRules(spec, s, was.Spec.ClusterIPs)
	for i, ip := range s.ExternalIPs {
		if knownAddress(spec.of("externalIPs").item(i), ip, was.Spec.ExternalIPs) {
			ordinaryAddress(spec.of("externalIPs").item(i), ip)
		}
	}
	enum(spec.of("type"), s.Type, corev1.ServiceTypeClusterIP, corev1.ServiceTypeExternalName, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort)
	portNumbersOnce(spec.of("ports"), s, was.Name == "")
	sourceRangeRules(at, svc, was)
	balancer := s.Type == corev1.ServiceTypeLoadBalancer
	if s.AllocateLoadBalancerNodePorts != nil && !balancer {
		spec.of("allocateLoadBalancerNodePorts").forbidden("may only be used when `type` is 'LoadBalancer'")
	}
	if balancer && s.AllocateLoadBalancerNodePorts == nil {
		at.of("allocateLoadBalancerNodePorts").required("")
	}
	balancerClassRules(spec.of("loadBalancerClass"), s)
	trafficRules(spec, s)
}

// onlyHeadless tells of a service that says to have no address.
func onlyHeadless(s *corev1.ServiceSpec) bool {
	return len(s.ClusterIPs) == 1 && s.ClusterIPs[0] == corev1.ClusterIPNone
}

func serviceTypeRules(at *place, s *corev1.ServiceSpec) {
	switch s.Type {
	case corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort:
		if onlyHeadless(s) {
			at.of("clusterIPs").item(0).invalid(s.ClusterIPs[0], fmt.Sprintf("may not be set to 'None' for %s services", s.Type))
		}
	case corev1.ServiceTypeExternalName:
		const no = "may not be set for ExternalName services"
		if len(s.ClusterIPs) > 0 {
			at.of("clusterIPs").forbidden(no)
		}
		if len(s.IPFamilies) > 0 {
			at.of("ipFamilies").forbidden(no)
		}
		if s.IPFamilyPolicy != nil {
			at.of("ipFamilyPolicy").forbidden(no)
		}
		// A dot at the end says that a name is complete.
		needs(at.of("externalName"), strings.TrimSuffix(s.ExternalName, "."), dnsSubdomain)
	}
}

func servicePortRules(at *place, p *corev1.ServicePort, named bool, names *unique[string]) {
	switch {
	case p.Name == "":
		if named {
			at.of("name").required("")
		}
	default:
		format(at.of("name"), p.Name, dnsLabel)
		names.add(at.of("name"), p.Name)
	}
	portNumber(at.of("port"), p.Port)
	protocol(at.of("protocol"), p.Protocol)
	numberOrName(at.of("targetPort"), p.TargetPort)
	if p.AppProtocol != nil {
		format(at.of("appProtocol"), *p.AppProtocol, qualifiedName)
	}
}

// maxAffinitySeconds is a day.
const maxAffinitySeconds = corev1.DefaultClientIPServiceAffinitySeconds * 8

func affinityConfigRules(at *place, s *corev1.ServiceSpec) {
	const when = "when session affinity type is ClientIP"
	c := s.SessionAffinityConfig
	switch {
	case s.SessionAffinity == corev1.ServiceAffinityNone:
		if c != nil {
			at.forbidden("must not be set when session affinity is None")
		}
	case s.SessionAffinity != corev1.ServiceAffinityClientIP:
	case c == nil:
		at.required(when)
	case c.ClientIP == nil:
		at.of("clientIP").required(when)
	case c.ClientIP.TimeoutSeconds == nil:
		at.of("clientIP").of("timeoutSeconds").required(when)
	default:
		if n := *c.ClientIP.TimeoutSeconds; n <= 0 || n > maxAffinitySeconds {
			at.of("clientIP").of("timeoutSeconds").invalid(n, fmt.Sprintf("must be greater than 0 and less than %d", maxAffinitySeconds))
		}
	}
}

// clusterIPRules: addresses and their families say the same.
func clusterIPRules(at *place, s *corev1.ServiceSpec, known []string) {
	if s.Type == corev1.ServiceTypeExternalName {
		return
	}
	ips, families := at.of("clusterIPs"), at.of("ipFamilies")
	switch {
	case s.ClusterIP == "":
		if len(s.ClusterIPs) > 0 {
			ips.invalid(s.ClusterIPs, "must be empty when `clusterIP` is not specified")
		}
	case len(s.ClusterIPs) == 0:
		ips.required("")
	case s.ClusterIPs[0] != s.ClusterIP:
		ips.invalid(s.ClusterIPs, "first value must match `clusterIP`")
	}
	var seen unique[corev1.IPFamily]
	for i, f := range s.IPFamilies {
		oneOf(families.item(i), f, corev1.IPv4Protocol, corev1.IPv6Protocol)
		seen.add(families.item(i), f)
	}
	optionalEnum(at.of("ipFamilyPolicy"), s.IPFamilyPolicy,
		corev1.IPFamilyPolicyPreferDualStack, corev1.IPFamilyPolicyRequireDualStack, corev1.IPFamilyPolicySingleStack)
	valid := true
	for i, ip := range s.ClusterIPs {
		if i == 0 && ip == corev1.ClusterIPNone {
			if len(s.ClusterIPs) > 1 {
				valid = false
				ips.invalid(s.ClusterIPs, "'None' must be the first and only value")
			}
			continue
		}
		valid = knownAddress(ips.item(i), ip, known) && valid
	}
	if len(s.ClusterIPs) > 2 {
		ips.invalid(s.ClusterIPs, "may only hold up to 2 values")
	}
	if valid {
		familyRules(ips, s)
	}
}

func familyRules(ips *place, s *corev1.ServiceSpec) {
	if len(s.ClusterIPs) > 1 {
		if dual, err := netutils.IsDualStackIPStrings(s.ClusterIPs); err != nil || !dual {
			ips.invalid(s.ClusterIPs, "may specify no more than one IP for each IP family")
		}
	}
	if onlyHeadless(s) {
		return
	}
	for i, ip := range s.ClusterIPs[:min(len(s.ClusterIPs), len(s.IPFamilies))] {
		switch v6 := netutils.IsIPv6String(ip); {
		case s.IPFamilies[i] == corev1.IPv4Protocol && v6:
			ips.item(i).invalid(ip, fmt.Sprintf("expected an IPv4 value as indicated by `ipFamilies[%d]`", i))
		case s.IPFamilies[i] == corev1.IPv6Protocol && !v6:
			ips.item(i).invalid(ip, fmt.Sprintf("expected an IPv6 value as indicated by `ipFamilies[%d]`", i))
		}
	}
}

// ordinaryAddress refuses addresses that mean something particular.
func ordinaryAddress(at *place, value string) {
	ip := netutils.ParseIPSloppy(value)
	for _, f := range []struct {
		is      func(net.IP) bool
		message string
	}{
		{func(ip net.IP) bool { return ip == nil }, "must be a valid IP address"},
		{net.IP.IsUnspecified, fmt.Sprintf("may not be unspecified (%v)", value)},
		{net.IP.IsLoopback, "may not be in the loopback range (127.0.0.0/8, ::1/128)"},
		{net.IP.IsLinkLocalUnicast, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"},
		{net.IP.IsLinkLocalMulticast, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"},
	} {
		if f.is(ip) {
			at.invalid(value, f.message)
		}
		if ip == nil {
			return
		}
	}
}

// portNumbersOnce: a number and a protocol lead to one place.
//
// Of the ports of nodes, a new service's are looked at when they are taken.
func portNumbersOnce(at *place, s *corev1.ServiceSpec, isNew bool) {
	if s.Type == corev1.ServiceTypeClusterIP {
		for i := range s.Ports {
			if s.Ports[i].NodePort != 0 {
				at.item(i).of("nodePort").forbidden("may not be used when `type` is 'ClusterIP'")
			}
		}
	}
	type key struct {
		protocol corev1.Protocol
		number   int32
	}
	var ofNodes, own unique[key]
	for i, p := range s.Ports {
		if p.NodePort == 0 || isNew && wantsNodePorts(s) {
			continue
		}
		k := key{p.Protocol, p.NodePort}
		if ofNodes.has(k) {
			at.item(i).of("nodePort").duplicate(p.NodePort)
		}
		ofNodes.put(k)
	}
	for i, p := range s.Ports {
		k := key{p.Protocol, p.Port}
		if own.has(k) {
			at.item(i).duplicate(corev1.ServicePort{Protocol: p.Protocol, Port: p.Port, TargetPort: intstr.IntOrString{}})
		}
		own.put(k)
	}
}

// sourceRangeRules: who may come through a load balancer is said in a field, or
// in an annotation where the field is empty.
func sourceRangeRules(at *place, svc, was *corev1.Service) {
	const only = "may only be used when `type` is 'LoadBalancer'"
	balancer := svc.Spec.Type == corev1.ServiceTypeLoadBalancer
	if ranges := svc.Spec.LoadBalancerSourceRanges; len(ranges) > 0 {
		at := at.of("spec").of("LoadBalancerSourceRanges")
		if !balancer {
			at.forbidden(only)
		}
		known := trimmed(was.Spec.LoadBalancerSourceRanges)
		for i, r := range ranges {
			knownNetwork(at.item(i), strings.TrimSpace(r), known)
		}
		return
	}
	value, ok := svc.Annotations[corev1.AnnotationLoadBalancerSourceRangesKey]
	if !ok {
		return
	}
	at = at.of("metadata").of("annotations").key(corev1.AnnotationLoadBalancerSourceRangesKey)
	if !balancer {
		at.forbidden(only)
	}
	if value = strings.TrimSpace(value); value != "" {
		known := trimmed(strings.Split(was.Annotations[corev1.AnnotationLoadBalancerSourceRangesKey], ","))
		for _, r := range strings.Split(value, ",") {
			knownNetwork(at, strings.TrimSpace(r), known)
		}
	}
}

func trimmed(list []string) []string {
	list = slices.Clone(list)
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

func balancerClassRules(at *place, s *corev1.ServiceSpec) {
	switch {
	case s.LoadBalancerClass == nil:
	case s.Type == corev1.ServiceTypeLoadBalancer:
		format(at, *s.LoadBalancerClass, qualifiedName)
	default:
		at.forbidden("may only be used when `type` is 'LoadBalancer'")
	}
}

// reachable tells whether a service is reached from outside.
func reachable(s *corev1.ServiceSpec) bool {
	return s.Type == corev1.ServiceTypeLoadBalancer || s.Type == corev1.ServiceTypeNodePort ||
		s.Type == corev1.ServiceTypeClusterIP && len(s.ExternalIPs) > 0
}

func trafficRules(at *place, s *corev1.ServiceSpec) {
	external := at.of("externalTrafficPolicy")
	switch {
	case reachable(s):
		enum(external, s.ExternalTrafficPolicy, corev1.ServiceExternalTrafficPolicyCluster, corev1.ServiceExternalTrafficPolicyLocal)
	case s.ExternalTrafficPolicy != "":
		external.invalid(s.ExternalTrafficPolicy, "may only be set for externally-accessible services")
	}
	// A port that is called for and not there yet is allocated later.
	if p := s.HealthCheckNodePort; p != 0 {
		if wantsHealthPort(s) {
			portNumber(at.of("healthCheckNodePort"), p)
		} else {
			at.of("healthCheckNodePort").invalid(p, "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'")
		}
	}
	internal := at.of("internalTrafficPolicy")
	if s.InternalTrafficPolicy == nil {
		if among(s.Type, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeClusterIP) {
			internal.required("")
		}
	} else {
		oneOf(internal, *s.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster, corev1.ServiceInternalTrafficPolicyLocal)
	}
	optionalEnum(at.of("trafficDistribution"), s.TrafficDistribution,
		corev1.ServiceTrafficDistributionPreferClose, corev1.ServiceTrafficDistributionPreferSameZone, corev1.ServiceTrafficDistributionPreferSameNode)
}
