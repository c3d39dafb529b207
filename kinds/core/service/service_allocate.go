package service

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// Allocate allocates the addresses and node ports that a service of its type has, and
// releases the others. It runs before validation, and so validates the fields that it depends on.
func Allocate(ctx context.Context, gates features.Gates, from Allocator, svc, old *corev1.Service) error {
	var stored corev1.ServiceSpec
	if old != nil {
		stored = old.Spec
	}
	errs := validation.CheckWith(gates, func(at *validation.Path) { clusterIPRules(at.Child("spec"), &svc.Spec, stored.ClusterIPs) })
	if len(errs) == 0 {
		errs = chooseFamilies(from, &svc.Spec, &stored)
	}
	var err error
	if len(errs) == 0 {
		errs, err = allocateAddresses(ctx, from, svc, &stored, old == nil)
		if err == nil {
			var more field.ErrorList
			more, err = allocatePorts(ctx, from, svc, &stored, old == nil)
			errs = append(errs, more...)
		}
	}
	if err != nil {
		return err
	}
	if len(errs) > 0 {
		return validation.NewInvalid(corev1.SchemeGroupVersion.WithKind("Service").GroupKind(), svc.Name, errs)
	}
	return nil
}

// Allocated returns the addresses and node ports that Allocate allocated to a service.
func Allocated(svc *corev1.Service) ([]netip.Addr, []int32) {
	return clusterIPs(&svc.Spec), nodePorts(&svc.Spec)
}

// Release releases the addresses and ports of a deleted service.
func Release(from Allocator, svc *corev1.Service) {
	ips, ports := Allocated(svc)
	for _, ip := range ips {
		from.ReleaseIP(ip, svc)
	}
	for _, p := range ports {
		from.ReleasePort(p)
	}
}

// chooseFamilies sets the address families of a service, or returns errors for families that
// the server does not have. A service that prefers two families gets the second one only when
// its addresses or families change.
func chooseFamilies(from Allocator, s, old *corev1.ServiceSpec) field.ErrorList {
	if s.Type == corev1.ServiceTypeExternalName || prefersDual(s) && prefersDual(old) && s.Type == old.Type &&
		slices.Equal(s.ClusterIPs, old.ClusterIPs) && slices.Equal(s.IPFamilies, old.IPFamilies) {
		return nil
	}
	available := from.Families()
	// The endpoints of such a service are not written by a controller, and may have any
	// family.
	anyFamily := isHeadless(s) && len(s.Selector) == 0
	switch {
	case s.IPFamilyPolicy != nil:
	case old.IPFamilyPolicy != nil:
		s.IPFamilyPolicy = new(*old.IPFamilyPolicy)
	case anyFamily:
		s.IPFamilyPolicy = new(corev1.IPFamilyPolicyRequireDualStack)
	default:
		// Two families or addresses do not imply a policy: the client must ask for it.
		s.IPFamilyPolicy = new(corev1.IPFamilyPolicySingleStack)
	}
	trimSecond(s, old)
	errs := append(reducedFamilies(s, old), namedFamilies(s, available)...)
	if len(errs) > 0 {
		return errs
	}
	if !anyFamily {
		if errs := knownFamilies(s, available); len(errs) > 0 {
			return errs
		}
	}
	if len(s.IPFamilies) == 0 {
		addFamily(s, available[0])
	}
	if *s.IPFamilyPolicy != corev1.IPFamilyPolicySingleStack && (anyFamily || len(available) > 1) {
		addFamily(s, "IPv4")
		addFamily(s, "IPv6")
	}
	return nil
}

func prefersDual(s *corev1.ServiceSpec) bool {
	return s.IPFamilyPolicy != nil && *s.IPFamilyPolicy == corev1.IPFamilyPolicyPreferDualStack
}

// reducedFamilies refuses to release the second address or family of a service unless
// its policy is SingleStack.
func reducedFamilies(s, old *corev1.ServiceSpec) (errs field.ErrorList) {
	if *s.IPFamilyPolicy == corev1.IPFamilyPolicySingleStack {
		return nil
	}
	at := field.NewPath("spec", "ipFamilyPolicy")
	if len(s.ClusterIPs) > 0 && len(s.ClusterIPs) < len(old.ClusterIPs) {
		errs = append(errs, field.Invalid(at, s.IPFamilyPolicy, "must be 'SingleStack' to release the secondary cluster IP"))
	}
	if len(s.IPFamilies) > 0 && len(s.IPFamilies) < len(old.IPFamilies) {
		errs = append(errs, field.Invalid(at, s.IPFamilyPolicy, "must be 'SingleStack' to release the secondary IP family"))
	}
	return errs
}

// namedFamilies adds the families of the addresses in clusterIPs.
func namedFamilies(s *corev1.ServiceSpec, available []string) (errs field.ErrorList) {
	at := field.NewPath("spec")
	if *s.IPFamilyPolicy == corev1.IPFamilyPolicySingleStack {
		for _, list := range []struct {
			name string
			size int
		}{{"cluster IPs", len(s.ClusterIPs)}, {"IP families", len(s.IPFamilies)}} {
			if list.size == 2 {
				errs = append(errs, field.Invalid(at.Child("ipFamilyPolicy"), s.IPFamilyPolicy,
					fmt.Sprintf("must be 'RequireDualStack' or 'PreferDualStack' when multiple %s are specified", list.name)))
			}
		}
	}
	for i, ip := range clusterIPs(s) {
		switch family := FamilyOf(ip); {
		case i < len(s.IPFamilies): // validation compares the address with the family
		case !slices.Contains(available, family):
			errs = append(errs, field.Invalid(at.Child("clusterIPs").Index(i), s.ClusterIPs, family+" is not configured on this cluster"))
		default:
			addFamily(s, family)
		}
	}
	return errs
}

// knownFamilies refuses families for which there is no service CIDR.
func knownFamilies(s *corev1.ServiceSpec, available []string) (errs field.ErrorList) {
	at := field.NewPath("spec")
	if *s.IPFamilyPolicy == corev1.IPFamilyPolicyRequireDualStack && len(available) < 2 {
		errs = append(errs, field.Invalid(at.Child("ipFamilyPolicy"), s.IPFamilyPolicy, "this cluster is not configured for dual-stack services"))
	}
	for i, family := range s.IPFamilies {
		if !slices.Contains(available, string(family)) {
			errs = append(errs, field.Invalid(at.Child("ipFamilies").Index(i), family, "not configured on this cluster"))
		}
	}
	return errs
}

func addFamily(s *corev1.ServiceSpec, family string) {
	if f := corev1.IPFamily(family); !slices.Contains(s.IPFamilies, f) {
		s.IPFamilies = append(s.IPFamilies, f)
	}
}

func isHeadless(s *corev1.ServiceSpec) bool { return s.ClusterIP == corev1.ClusterIPNone }

// clusterIPs returns the cluster IPs of a service.
func clusterIPs(s *corev1.ServiceSpec) []netip.Addr {
	if s.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	var out []netip.Addr
	for _, text := range s.ClusterIPs {
		// Leading zeros have no effect, and an IPv4-mapped address is the IPv4 address.
		if ip, ok := netip.AddrFromSlice(netutils.ParseIPSloppy(text)); ok {
			out = append(out, ip.Unmap())
		}
	}
	return out
}

// allocateAddresses allocates an address of each family, and releases the old addresses that the
// service no longer has. A service that a write of its status created has no address, and an update
// gives it none.
func allocateAddresses(ctx context.Context, from Allocator, svc *corev1.Service, old *corev1.ServiceSpec,
	isNew bool) (field.ErrorList, error) {
	s := &svc.Spec
	had, have := clusterIPs(old), clusterIPs(s)
	for _, ip := range had {
		if !slices.Contains(have, ip) {
			from.ReleaseIP(ip, svc)
		}
	}
	if s.Type == corev1.ServiceTypeExternalName || isHeadless(s) ||
		!isNew && old.Type != corev1.ServiceTypeExternalName && len(s.ClusterIPs) == 0 {
		return nil, nil
	}
	at := field.NewPath("spec", "clusterIPs")
	for i, family := range s.IPFamilies {
		if !lacksAddress(i, old) {
			continue
		}
		var requested netip.Addr
		text := ""
		if i < len(have) {
			requested, text = have[i], " "+s.ClusterIPs[i]
		}
		if requested.IsValid() && slices.Contains(had, requested) {
			continue
		}
		ip, err := from.AllocateIP(ctx, string(family), requested, svc)
		if reason := refusal(err); reason != "" {
			shown := s.ClusterIPs
			for len(shown) < len(s.IPFamilies) {
				shown = append(shown, "") // where kube-apiserver marks the addresses to allocate
			}
			return field.ErrorList{field.Invalid(at, shown, fmt.Sprintf("failed to allocate IP%s: %s", text, reason))}, nil
		}
		if err != nil {
			return nil, apierrors.NewInternalError(fmt.Errorf("failed to allocate a serviceIP for Service %q: %w", svc.Name, err))
		}
		if !requested.IsValid() {
			s.ClusterIPs = append(s.ClusterIPs, ip.String())
		}
	}
	if len(s.ClusterIPs) > 0 {
		s.ClusterIP = s.ClusterIPs[0]
	}
	return nil, nil
}

// lacksAddress reports whether a service that was old, or is new, needs an address of its family with
// index i. Like kube-apiserver, it does not need one only because it has none, which a service that a
// write of its status created does not have.
func lacksAddress(i int, old *corev1.ServiceSpec) bool {
	return old.Type == "" || old.Type == corev1.ServiceTypeExternalName || i > 0 && len(old.IPFamilies) == 1
}

// refusal returns why an address cannot be allocated, or "" if err is no refusal. An IPAddress cannot
// refer to a service without a name.
func refusal(err error) string {
	var refused *AllocationError
	switch {
	case errors.As(err, &refused):
		return refused.Reason
	case apierrors.IsInvalid(err):
		return err.Error()
	}
	return ""
}

// wantsNodePorts reports whether a service has node ports.
func wantsNodePorts(s *corev1.ServiceSpec) bool {
	return s.Type == corev1.ServiceTypeNodePort || s.Type == corev1.ServiceTypeLoadBalancer &&
		(s.AllocateLoadBalancerNodePorts == nil || *s.AllocateLoadBalancerNodePorts)
}

// nodePorts returns the node ports of a service, each once.
func nodePorts(s *corev1.ServiceSpec) []int32 {
	var out []int32
	add := func(p int32) {
		if p != 0 && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	for _, p := range s.Ports {
		add(p.NodePort)
	}
	add(s.HealthCheckNodePort)
	return out
}

// wantsHealthPort reports whether a service has a node port for health checks of load
// balancers.
func wantsHealthPort(s *corev1.ServiceSpec) bool {
	return s.Type == corev1.ServiceTypeLoadBalancer && s.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}

// allocatePorts allocates the node ports that the service needs, and releases the old ones
// that it no longer has.
func allocatePorts(ctx context.Context, from Allocator, svc *corev1.Service, old *corev1.ServiceSpec, isNew bool) (field.ErrorList, error) {
	s, at := &svc.Spec, field.NewPath("spec")
	var err error
	switch {
	case s.Type != corev1.ServiceTypeNodePort && s.Type != corev1.ServiceTypeLoadBalancer:
		// Validation forbids node ports of services of other types.
	case isNew:
		err = allocateNewPorts(ctx, from, s, at.Child("ports"))
	default:
		err = allocateChangedPorts(ctx, from, s, old, at.Child("ports"))
	}
	// Validation refuses to change the port for health checks.
	if err == nil && wantsHealthPort(s) && (s.HealthCheckNodePort == 0 || !wantsHealthPort(old)) {
		err = allocatePort(ctx, from, &s.HealthCheckNodePort, at.Child("healthCheckNodePort"))
	}
	var bad *field.Error
	switch {
	case errors.As(err, &bad):
		return field.ErrorList{bad}, nil
	case err != nil:
		return nil, err
	}
	have := nodePorts(s)
	for _, port := range nodePorts(old) {
		if !slices.Contains(have, port) {
			from.ReleasePort(port)
		}
	}
	return nil, nil
}

// allocatePort allocates the requested port or, if that is 0, any. The error is a *field.Error if the
// port cannot be had.
func allocatePort(ctx context.Context, from Allocator, port *int32, at *field.Path) error {
	got, err := from.AllocatePort(ctx, *port)
	var refused *AllocationError
	switch {
	case errors.As(err, &refused):
		return field.Invalid(at, *port, refused.Reason)
	case err != nil:
		return apierrors.NewInternalError(fmt.Errorf("failed to allocate a nodePort: %w", err))
	}
	*port = got
	return nil
}

// allocateNewPorts allocates the node ports of a new service. Ports of one number, which differ in
// their protocols, share a node port unless they request different ones.
func allocateNewPorts(ctx context.Context, from Allocator, s *corev1.ServiceSpec, at *field.Path) error {
	requested, shared := map[int32]int32{}, map[int32]int32{} // node ports by port
	for _, p := range slices.Backward(s.Ports) {
		if p.NodePort != 0 {
			requested[p.Port] = p.NodePort // the first one
		}
	}
	for i := range s.Ports {
		p := &s.Ports[i]
		nodePort, known := shared[p.Port]
		switch {
		case p.NodePort == 0 && !wantsNodePorts(s):
			continue
		case known && (p.NodePort == 0 || p.NodePort == nodePort):
			p.NodePort = nodePort
			continue
		case !known:
			p.NodePort = requested[p.Port]
		}
		if err := allocatePort(ctx, from, &p.NodePort, at.Index(i).Child("nodePort")); err != nil {
			return err
		}
		if !known {
			shared[p.Port] = p.NodePort
		}
	}
	return nil
}

// allocateChangedPorts allocates the node ports that a service did not have before. A number that several ports request
// is allocated once; validation then refuses it if two of the ports have the same protocol.
func allocateChangedPorts(ctx context.Context, from Allocator, s, old *corev1.ServiceSpec, at *field.Path) error {
	have := map[int32]bool{}
	for i := range old.Ports {
		have[old.Ports[i].NodePort] = true
	}
	for i := range s.Ports {
		p := &s.Ports[i]
		if p.NodePort == 0 && !wantsNodePorts(s) || p.NodePort != 0 && have[p.NodePort] {
			continue
		}
		if err := allocatePort(ctx, from, &p.NodePort, at.Index(i).Child("nodePort")); err != nil {
			return err
		}
		have[p.NodePort] = true
	}
	return nil
}
