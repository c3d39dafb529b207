package api

import (
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
		Prefix:              "services/specs",
		MetadataRevalidated: true,
		ReturnDeletedObject: true,
		ValidateName:        labelName,
		AllowCreateOnUpdate: true,
		HasStatus:           true,
		Default:             defaultService,
		PrepareCreate:       func(obj Object) { alignClusterIPs(&obj.(*corev1.Service).Spec, nil) },
		PrepareUpdate: func(obj, old Object) {
			keepAddresses(&obj.(*corev1.Service).Spec, &old.(*corev1.Service).Spec)
		},
		Fields: func(obj Object) map[string]string {
			s := obj.(*corev1.Service)
			return map[string]string{"spec.clusterIP": s.Spec.ClusterIP, "spec.type": string(s.Spec.Type)}
		},
	}
}

func defaultService(obj Object) {
	s := &obj.(*corev1.Service).Spec
	if s.Type == "" {
		s.Type = corev1.ServiceTypeClusterIP
	}
	if s.SessionAffinity == "" {
		s.SessionAffinity = corev1.ServiceAffinityNone
	}
	for i := range s.Ports {
		p := &s.Ports[i]
		if p.Protocol == "" {
			p.Protocol = corev1.ProtocolTCP
		}
		if p.TargetPort == (intstr.IntOrString{}) || p.TargetPort == intstr.FromString("") {
			p.TargetPort = intstr.FromInt32(p.Port)
		}
	}
	if s.Type != corev1.ServiceTypeExternalName {
		setDefault(&s.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster)
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
