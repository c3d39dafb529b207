package api

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// service is a name and an address for pods that do the same.
func service() *Resource {
	return &Resource{
		Name: "services", Singular: "service", Kind: "Service",
		ShortNames:          []string{"svc"},
		Categories:          []string{"all"},
		Namespaced:          true,
		Versions:            selectable(served(corev1.SchemeGroupVersion), nameLabel, namespaceLabel, "spec.clusterIP", "spec.type"),
		New:                 func() Object { return &corev1.Service{} },
		Rows:                &Table{Columns: serviceColumns, Cells: serviceCells},
		Prefix:              "services/specs",
		MetadataRevalidated: true,
		ReturnDeletedObject: true,
		ValidateName:        labelName,
		AllowCreateOnUpdate: true,
		HasStatus:           true,
		Subresources:        []*Subresource{serviceProxy()},
		Default:             defaultService,
		ObjectWarnings:      serviceWarnings,
		Allocate:            allocateService,
		Held: func(obj Object) ([]netip.Addr, []int32) {
			s := &obj.(*corev1.Service).Spec
			return addresses(s), nodePorts(s)
		},
		Release:              releaseService,
		PrepareCreate:        func(obj Object) { alignClusterIPs(&obj.(*corev1.Service).Spec, nil) },
		PrepareUpdate:        prepareServiceUpdate,
		Validate:             rulesOf(newServiceRules),
		ValidateUpdate:       changesOf(serviceChanges),
		WholeUpdate:          true,
		ValidateStatusUpdate: changesOf(serviceStatusChanges),
		Fields: func(obj Object) map[string]string {
			s := obj.(*corev1.Service)
			return map[string]string{"spec.clusterIP": s.Spec.ClusterIP, "spec.type": string(s.Spec.Type)}
		},
	}
}

func prepareServiceUpdate(obj, old Object) {
	s, was := &obj.(*corev1.Service).Spec, &old.(*corev1.Service).Spec
	if was.Type == corev1.ServiceTypeLoadBalancer && s.Type != was.Type {
		obj.(*corev1.Service).Status.LoadBalancer = corev1.LoadBalancerStatus{}
	}
	keepAddresses(s, was)
	dropUnneeded(s, was)
	trimSecond(s, was)
}

func defaultService(obj Object) {
	svc := obj.(*corev1.Service)
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
	if reachable(s) && s.ExternalTrafficPolicy == "" {
		s.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster
	}
	if among(s.Type, corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer) {
		setDefault(&s.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster)
	}
	if s.Type != corev1.ServiceTypeLoadBalancer {
		return
	}
	setDefault(&s.AllocateLoadBalancerNodePorts, true)
	for i := range svc.Status.LoadBalancer.Ingress {
		if in := &svc.Status.LoadBalancer.Ingress[i]; in.IP != "" {
			setDefault(&in.IPMode, corev1.LoadBalancerIPModeVIP)
		}
	}
}

// defaultAffinity: clients stay with a pod for some hours, if at all.
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

// alignClusterIPs makes the one address and the first of all addresses the
// same. old is nil for a new service; otherwise a client that changed only one
// of the two fields has the other follow.
func alignClusterIPs(s, old *corev1.ServiceSpec) {
	switch {
	case s.ClusterIP != "" && len(s.ClusterIPs) == 0:
		s.ClusterIPs = []string{s.ClusterIP}
	case old == nil || len(s.ClusterIPs) == 0:
	case s.ClusterIP == "" && s.ClusterIP != old.ClusterIP && s.ClusterIPs[0] == old.ClusterIP:
		s.ClusterIPs = nil
	}
}

// keepAddresses gives an update that says nothing of addresses the ones that
// the service has, as far as its type still needs them.
func keepAddresses(s, old *corev1.ServiceSpec) {
	needs := func(t corev1.ServiceType) bool { return t != corev1.ServiceTypeExternalName }
	if needs(s.Type) && needs(old.Type) {
		if s.ClusterIP == "" && len(s.ClusterIPs) == 0 {
			s.ClusterIP, s.ClusterIPs = old.ClusterIP, old.ClusterIPs
		}
		alignClusterIPs(s, old)
	}
	nodes := func(t corev1.ServiceType) bool {
		return t == corev1.ServiceTypeNodePort || t == corev1.ServiceTypeLoadBalancer
	}
	if !nodes(s.Type) || !nodes(old.Type) {
		return
	}
	type port struct {
		protocol corev1.Protocol
		number   int32
	}
	had := map[port]int32{}
	for _, p := range old.Ports {
		had[port{p.Protocol, p.Port}] = p.NodePort
	}
	for i := range s.Ports {
		if p := &s.Ports[i]; p.NodePort == 0 {
			p.NodePort = had[port{p.Protocol, p.Port}]
		}
	}
}
