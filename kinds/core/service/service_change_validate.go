package service

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	netutils "k8s.io/utils/net"

	"github.com/miniapiserver/miniapiserver/api/validation"
)

// serviceChanges validates an update: the primary cluster IP is immutable, a secondary one can
// be added and removed.
func serviceChanges(at *validation.Path, obj, old *corev1.Service) {
	spec := at.Child("spec")
	named := obj.Spec.Type != corev1.ServiceTypeExternalName && old.Spec.Type != corev1.ServiceTypeExternalName
	if named && !(onlyHeadless(&obj.Spec) && onlyHeadless(&old.Spec)) {
		addressesKept(spec, &obj.Spec, &old.Spec)
	}
	if named && !onlyHeadless(&obj.Spec) && !onlyHeadless(&old.Spec) {
		familiesKept(spec, &obj.Spec, &old.Spec)
	}
	if obj.Spec.Type == corev1.ServiceTypeLoadBalancer && old.Spec.Type == obj.Spec.Type &&
		!equality.Semantic.DeepEqual(obj.Spec.LoadBalancerClass, old.Spec.LoadBalancerClass) {
		spec.Child("loadBalancerClass").Invalid(obj.Spec.LoadBalancerClass, "may not change once set")
	}
	balancerClassRules(spec.Child("loadBalancerClass"), &obj.Spec)
	if wantsHealthPort(&obj.Spec) && wantsHealthPort(&old.Spec) && obj.Spec.HealthCheckNodePort != old.Spec.HealthCheckNodePort {
		spec.Child("healthCheckNodePort").Forbidden("field is immutable")
	}
	serviceRules(at, obj, old)
}

// once is the message for fields that can be set only once.
const once = "may not change once set"

func singleStack(s *corev1.ServiceSpec) bool {
	return s.IPFamilyPolicy != nil && *s.IPFamilyPolicy == corev1.IPFamilyPolicySingleStack
}

func addressesKept(at *validation.Path, spec, old *corev1.ServiceSpec) {
	ips := at.Child("clusterIPs")
	switch now, before := spec.ClusterIPs, old.ClusterIPs; {
	case len(now) == len(before):
		for i := range before {
			if now[i] != before[i] {
				ips.Index(i).Invalid(now, once)
			}
		}
	case len(now) == 0:
		ips.Index(0).Invalid(now, "primary clusterIP can not be unset")
	case len(before) > 0 && now[0] != before[0]:
		ips.Index(0).Invalid(now, once)
		fallthrough
	default:
		if len(now) < len(before) && len(now) == 1 && !singleStack(spec) {
			at.Child("ipFamilyPolicy").Invalid(spec.IPFamilyPolicy, "must be set to 'SingleStack' when releasing the secondary clusterIP")
		}
	}
}

// familiesKept validates changes of ipFamilies like addressesKept. Some errors show the
// addresses, as in kube-apiserver.
func familiesKept(at *validation.Path, spec, old *corev1.ServiceSpec) {
	families := at.Child("ipFamilies")
	now, before := spec.IPFamilies, old.IPFamilies
	if len(now) == len(before) {
		for i := range before {
			if now[i] != before[i] {
				families.Index(0).Invalid(now, once)
			}
		}
		return
	}
	if len(now) < len(before) && len(spec.ClusterIPs) == 0 {
		families.Index(0).Invalid(now, "primary ipFamily can not be unset")
	}
	if len(now) > 0 && len(before) > 0 && now[0] != before[0] {
		families.Index(0).Invalid(spec.ClusterIPs, once)
	}
	if len(now) < len(before) && len(now) == 1 && !singleStack(spec) {
		at.Child("ipFamilyPolicy").Invalid(spec.IPFamilyPolicy, "must be set to 'SingleStack' when releasing the secondary ipFamily")
	}
}

func serviceStatusChanges(at *validation.Path, obj, old *corev1.Service) {
	var known []string
	for _, in := range old.Status.LoadBalancer.Ingress {
		known = append(known, in.IP)
	}
	at = at.Child("status").Child("loadBalancer").Child("ingress")
	list := obj.Status.LoadBalancer.Ingress
	if obj.Spec.Type != corev1.ServiceTypeLoadBalancer && len(list) > 0 {
		at.Forbidden("may only be used when `spec.type` is 'LoadBalancer'")
		return
	}
	for i, in := range list {
		at := at.Index(i)
		if in.IP != "" {
			validation.IPOrStored(at.Child("ip"), in.IP, known)
		}
		switch mode := at.Child("ipMode"); {
		case in.IPMode == nil:
			if in.IP != "" {
				mode.Required("must be specified when `ip` is set")
			}
		case in.IP == "":
			mode.Forbidden("may not be specified when `ip` is not set")
		default:
			validation.OneOf(mode, *in.IPMode, corev1.LoadBalancerIPModeProxy, corev1.LoadBalancerIPModeVIP)
		}
		LoadBalancerHostname(at.Child("hostname"), in.Hostname)
	}
}

// LoadBalancerHostname validates the host name of a load balancer, which must not be an IP
// address.
func LoadBalancerHostname(at *validation.Path, name string) {
	if name == "" {
		return
	}
	validation.Format(at, name, utilvalidation.IsDNS1123Subdomain)
	if netutils.ParseIPSloppy(name) != nil {
		at.Invalid(name, "must be a DNS name, not an IP address")
	}
}
