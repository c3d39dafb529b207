package api

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	netutils "k8s.io/utils/net"
)

// serviceChanges let a second address come and go, and the first one stay.
func serviceChanges(at *place, is, was *corev1.Service) {
	spec := at.of("spec")
	named := is.Spec.Type != corev1.ServiceTypeExternalName && was.Spec.Type != corev1.ServiceTypeExternalName
	if named && !(onlyHeadless(&is.Spec) && onlyHeadless(&was.Spec)) {
		addressesKept(spec, &is.Spec, &was.Spec)
	}
	if named && !onlyHeadless(&is.Spec) && !onlyHeadless(&was.Spec) {
		familiesKept(spec, &is.Spec, &was.Spec)
	}
	if is.Spec.Type == corev1.ServiceTypeLoadBalancer && was.Spec.Type == is.Spec.Type &&
		!equality.Semantic.DeepEqual(is.Spec.LoadBalancerClass, was.Spec.LoadBalancerClass) {
		spec.of("loadBalancerClass").invalid(is.Spec.LoadBalancerClass, "may not change once set")
	}
	balancerClassRules(spec.of("loadBalancerClass"), &is.Spec)
	if wantsHealthPort(&is.Spec) && wantsHealthPort(&was.Spec) && is.Spec.HealthCheckNodePort != was.Spec.HealthCheckNodePort {
		spec.of("healthCheckNodePort").forbidden("field is immutable")
	}
	serviceRules(at, is, was)
}

// once is said of what is chosen when the service is made.
const once = "may not change once set"

func singleStack(s *corev1.ServiceSpec) bool {
	return s.IPFamilyPolicy != nil && *s.IPFamilyPolicy == corev1.IPFamilyPolicySingleStack
}

func addressesKept(at *place, is, was *corev1.ServiceSpec) {
	ips := at.of("clusterIPs")
	switch now, before := is.ClusterIPs, was.ClusterIPs; {
	case len(now) == len(before):
		for i := range before {
			if now[i] != before[i] {
				ips.item(i).invalid(now, once)
			}
		}
	case len(now) == 0:
		ips.item(0).invalid(now, "primary clusterIP can not be unset")
	case len(before) > 0 && now[0] != before[0]:
		ips.item(0).invalid(now, once)
		fallthrough
	default:
		if len(now) < len(before) && len(now) == 1 && !singleStack(is) {
			at.of("ipFamilyPolicy").invalid(is.IPFamilyPolicy, "must be set to 'SingleStack' when releasing the secondary clusterIP")
		}
	}
}

// familiesKept tells of families as addressesKept does of addresses, and shows
// the addresses for them in places.
func familiesKept(at *place, is, was *corev1.ServiceSpec) {
	families := at.of("ipFamilies")
	now, before := is.IPFamilies, was.IPFamilies
	if len(now) == len(before) {
		for i := range before {
			if now[i] != before[i] {
				families.item(0).invalid(now, once)
			}
		}
		return
	}
	if len(now) < len(before) && len(is.ClusterIPs) == 0 {
		families.item(0).invalid(now, "primary ipFamily can not be unset")
	}
	if len(now) > 0 && len(before) > 0 && now[0] != before[0] {
		families.item(0).invalid(is.ClusterIPs, once)
	}
	if len(now) < len(before) && len(now) == 1 && !singleStack(is) {
		at.of("ipFamilyPolicy").invalid(is.IPFamilyPolicy, "must be set to 'SingleStack' when releasing the secondary ipFamily")
	}
}

func serviceStatusChanges(at *place, is, was *corev1.Service) {
	var known []string
	for _, in := range was.Status.LoadBalancer.Ingress {
		known = append(known, in.IP)
	}
	at = at.of("status").of("loadBalancer").of("ingress")
	list := is.Status.LoadBalancer.Ingress
	if is.Spec.Type != corev1.ServiceTypeLoadBalancer && len(list) > 0 {
		at.forbidden("may only be used when `spec.type` is 'LoadBalancer'")
		return
	}
	for i, in := range list {
		at := at.item(i)
		if in.IP != "" {
			knownAddress(at.of("ip"), in.IP, known)
		}
		switch mode := at.of("ipMode"); {
		case in.IPMode == nil:
			if in.IP != "" {
				mode.required("must be specified when `ip` is set")
			}
		case in.IP == "":
			mode.forbidden("may not be specified when `ip` is not set")
		default:
			oneOf(mode, *in.IPMode, corev1.LoadBalancerIPModeProxy, corev1.LoadBalancerIPModeVIP)
		}
		balancerHost(at.of("hostname"), in.Hostname)
	}
}

// balancerHost is a name of a load balancer, and no address.
func balancerHost(at *place, name string) {
	if name == "" {
		return
	}
	format(at, name, utilvalidation.IsDNS1123Subdomain)
	if netutils.ParseIPSloppy(name) != nil {
		at.invalid(name, "must be a DNS name, not an IP address")
	}
}
