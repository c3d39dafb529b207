package service

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	netutils "k8s.io/utils/net"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Service describes the kind Service, which gives a set of pods a name and a stable address.
func Service(gates features.Gates) *api.Resource {
	validName := apivalidation.NameIsDNS1035Label
	if gates.Enabled(features.RelaxedServiceNameValidation) {
		validName = validation.LabelName
	}
	return api.NewResource(api.Kind[*corev1.Service]{
		Names: api.Names{
			Name: "services", Singular: "service", Kind: "Service",
			ShortNames: []string{"svc"},
			Categories: []string{"all"},
			Namespaced: true,
		},
		Versions: api.WithFieldLabels(api.Served(corev1.SchemeGroupVersion), api.NameLabel, api.NamespaceLabel,
			"spec.clusterIP", "spec.type"),
		Default:             defaultService,
		DefaultStored:       defaultStoredService,
		Storage:             api.Storage{Prefix: "services/specs"},
		ValidateName:        validName,
		AllowCreateOnUpdate: true,
		Prepare:             prepareService,
		Checks: api.Checks(
			api.Metadata,
			api.OnCreate(api.Rules(newServiceRules)),
			api.Changes(serviceChanges),
			api.Declared,
			api.Warn(serviceWarnings),
		),
		Status: api.NewStatus(
			nil,
			api.Metadata, api.Changes(serviceStatusChanges), api.Declared, api.Warn(serviceStatusWarnings),
		),
		Selectable: func(s *corev1.Service) map[string]string {
			return map[string]string{"spec.clusterIP": s.Spec.ClusterIP, "spec.type": string(s.Spec.Type)}
		},
		Subresources: []api.Subresource{serviceProxy()},
		Delete: api.Deletion{
			ReturnDeletedObject: true,
		},
		Table: api.Rows(serviceRow),
	})
}

func prepareService(w *api.Write[*corev1.Service]) {
	obj := w.Object
	s := &obj.Spec
	if w.IsNew() {
		if !w.Status { // otherwise nothing is allocated
			alignClusterIPs(s, nil)
		}
		dropTrafficPolicy(s)
		return
	}
	dropTrafficPolicy(s)
	stored := &w.Old.Spec
	if s.Type != corev1.ServiceTypeLoadBalancer {
		obj.Status.LoadBalancer = corev1.LoadBalancerStatus{}
	}
	keepAllocated(s, stored)
	dropUnneeded(s, stored)
}

func defaultService(svc *corev1.Service) {
	s := &svc.Spec
	if s.Type == "" {
		s.Type = corev1.ServiceTypeClusterIP
	}
	defaultAffinity(s)
	for i := range s.Ports {
		p := &s.Ports[i]
		if p.Protocol == "" {
			p.Protocol = corev1.ProtocolTCP
		}
		if p.TargetPort == (intstr.IntOrString{}) || p.TargetPort == intstr.FromString("") {
			p.TargetPort = intstr.FromInt32(p.Port)
		}
	}
	if isReachable(s) && s.ExternalTrafficPolicy == "" {
		s.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster
	}
	if validation.IsOneOf(s.Type, corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer) {
		api.SetDefault(&s.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster)
	}
	if s.Type != corev1.ServiceTypeLoadBalancer {
		return
	}
	api.SetDefault(&s.AllocateLoadBalancerNodePorts, true)
	for i := range svc.Status.LoadBalancer.Ingress {
		if in := &svc.Status.LoadBalancer.Ingress[i]; in.IP != "" {
			api.SetDefault(&in.IPMode, corev1.LoadBalancerIPModeVIP)
		}
	}
}

// defaultStoredService sets the plural fields of a service with an address that was stored before
// they existed, and removes the policy that older servers set for external names.
func defaultStoredService(svc *corev1.Service) {
	s := &svc.Spec
	alignClusterIPs(s, nil)
	dropTrafficPolicy(s)
	if s.Type == corev1.ServiceTypeExternalName || len(s.IPFamilies) > 0 || len(s.ClusterIPs) == 0 || s.ClusterIP == corev1.ClusterIPNone {
		return
	}
	policy := corev1.IPFamilyPolicySingleStack
	if len(s.ClusterIPs) > 1 {
		policy = corev1.IPFamilyPolicyRequireDualStack
	}
	s.IPFamilyPolicy = &policy
	for _, ip := range s.ClusterIPs {
		family := corev1.IPv4Protocol
		if netutils.IsIPv6String(ip) {
			family = corev1.IPv6Protocol
		}
		s.IPFamilies = append(s.IPFamilies, family)
	}
}

// defaultAffinity sets the timeout of session affinity by client IP, and removes it if there
// is no affinity.
func defaultAffinity(s *corev1.ServiceSpec) {
	switch s.SessionAffinity {
	case "":
		s.SessionAffinity = corev1.ServiceAffinityNone
		s.SessionAffinityConfig = nil
	case corev1.ServiceAffinityNone:
		if s.SessionAffinityConfig != nil {
			s.SessionAffinityConfig = nil
		}
	case corev1.ServiceAffinityClientIP:
		if s.SessionAffinityConfig == nil || s.SessionAffinityConfig.ClientIP == nil || s.SessionAffinityConfig.ClientIP.TimeoutSeconds == nil {
			timeout := corev1.DefaultClientIPServiceAffinitySeconds
			s.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: &timeout}}
		}
	}
}

// alignClusterIPs makes clusterIP equal to the first of clusterIPs. old is nil for a new
// service; in an update that changes only one of the two fields, the other one follows.
func alignClusterIPs(s, old *corev1.ServiceSpec) {
	switch {
	case old == nil:
		if s.ClusterIP != "" && len(s.ClusterIPs) == 0 {
			s.ClusterIPs = []string{s.ClusterIP}
		}
	case s.ClusterIP == old.ClusterIP:
		if len(s.ClusterIPs) == 0 {
			s.ClusterIPs = old.ClusterIPs
		}
	case !slices.Equal(s.ClusterIPs, old.ClusterIPs): // validation compares the two
	case s.ClusterIP == "":
		s.ClusterIPs = nil
	default:
		s.ClusterIPs = []string{s.ClusterIP}
	}
}

// keepAllocated copies addresses and ports that an update omits from the stored service, as
// far as both services have them, so that a client can send what it created the service with.
func keepAllocated(s, old *corev1.ServiceSpec) {
	if s.Type != corev1.ServiceTypeExternalName && old.Type != corev1.ServiceTypeExternalName {
		if s.ClusterIP == "" {
			s.ClusterIP = old.ClusterIP
		}
		if len(s.ClusterIPs) == 0 {
			s.ClusterIPs = old.ClusterIPs
		}
	}
	alignClusterIPs(s, old)
	if wantsNodePorts(s) && wantsNodePorts(old) {
		keepNodePorts(s.Ports, old.Ports)
	}
	if wantsHealthPort(s) && wantsHealthPort(old) && s.HealthCheckNodePort == 0 {
		s.HealthCheckNodePort = old.HealthCheckNodePort
	}
}

// keepNodePorts gives ports without a node port the one that the old port of this name had, unless
// another one has it now.
func keepNodePorts(ports, old []corev1.ServicePort) {
	kept, taken := map[string]int32{}, map[int32]bool{}
	for _, p := range old {
		kept[p.Name] = p.NodePort
	}
	for _, p := range ports {
		taken[p.NodePort] = true
	}
	for i := range ports {
		if p := &ports[i]; p.NodePort == 0 && !taken[kept[p.Name]] {
			p.NodePort = kept[p.Name]
		}
	}
}
