package api

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	netutils "k8s.io/utils/net"
)

// defaultNetworkPolicy: a policy is about what comes in, and about what goes out
// if it says something of that.
func defaultNetworkPolicy(obj Object) {
	s := &obj.(*networkingv1.NetworkPolicy).Spec
	if len(s.PolicyTypes) == 0 {
		s.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
		if len(s.Egress) > 0 {
			s.PolicyTypes = append(s.PolicyTypes, networkingv1.PolicyTypeEgress)
		}
	}
	ports := func(list []networkingv1.NetworkPolicyPort) {
		for i := range list {
			setDefault(&list[i].Protocol, corev1.ProtocolTCP)
		}
	}
	for i := range s.Ingress {
		ports(s.Ingress[i].Ports)
	}
	for i := range s.Egress {
		ports(s.Egress[i].Ports)
	}
}

func networkPolicyRules(at *place, p *networkingv1.NetworkPolicy) {
	policySpecRules(at.of("spec"), &p.Spec, policyCheck{})
}

func networkPolicyChanges(at *place, is, was *networkingv1.NetworkPolicy) {
	c := policyCheck{lenient: brokenSelector(&was.Spec.PodSelector)}
	peers := func(list []networkingv1.NetworkPolicyPeer) {
		for _, p := range list {
			if p.IPBlock != nil {
				c.known = append(append(c.known, p.IPBlock.CIDR), p.IPBlock.Except...)
			}
		}
	}
	for i := range was.Spec.Ingress {
		peers(was.Spec.Ingress[i].From)
	}
	for i := range was.Spec.Egress {
		peers(was.Spec.Egress[i].To)
	}
	policySpecRules(at.of("spec"), &is.Spec, c)
}

// policyCheck is what a stored policy excuses.
type policyCheck struct {
	lenient bool
	known   []string
}

func policySpecRules(at *place, s *networkingv1.NetworkPolicySpec, c policyCheck) {
	lenientSelectorRules(at.of("podSelector"), &s.PodSelector, c.lenient)
	for i, r := range s.Ingress {
		at := at.of("ingress").item(i)
		each(at.of("ports"), r.Ports, policyPortRules)
		each(at.of("from"), r.From, c.peerRules)
	}
	for i, r := range s.Egress {
		at := at.of("egress").item(i)
		each(at.of("ports"), r.Ports, policyPortRules)
		each(at.of("to"), r.To, c.peerRules)
	}
	if len(s.PolicyTypes) > 2 {
		at.of("policyTypes").invalid(s.PolicyTypes, "may not specify more than two policyTypes")
		return
	}
	for i, t := range s.PolicyTypes {
		oneOf(at.of("policyTypes").item(i), t, networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress)
	}
}

func policyPortRules(at *place, p *networkingv1.NetworkPolicyPort) {
	optionalEnum(at.of("protocol"), p.Protocol, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)
	end := at.of("endPort")
	switch {
	case p.Port == nil:
		if p.EndPort != nil {
			end.invalid(*p.EndPort, "may not be specified when `port` is not specified")
		}
	case p.Port.Type == intstr.Int:
		portNumber(at.of("port"), p.Port.IntVal)
		if p.EndPort != nil {
			if *p.EndPort < p.Port.IntVal {
				end.invalid(p.Port.IntVal, "must be greater than or equal to `port`")
			}
			portNumber(end, *p.EndPort)
		}
	default:
		if p.EndPort != nil {
			end.invalid(*p.EndPort, "may not be specified when `port` is non-numeric")
		}
		format(at.of("port"), p.Port.StrVal, portName)
	}
}

func (c policyCheck) peerRules(at *place, p *networkingv1.NetworkPolicyPeer) {
	pods := p.PodSelector != nil || p.NamespaceSelector != nil
	lenientSelectorRules(at.of("podSelector"), p.PodSelector, c.lenient)
	lenientSelectorRules(at.of("namespaceSelector"), p.NamespaceSelector, c.lenient)
	if p.IPBlock != nil {
		c.blockRules(at.of("ipBlock"), p.IPBlock)
	}
	switch {
	case !pods && p.IPBlock == nil:
		at.required("must specify a peer")
	case pods && p.IPBlock != nil:
		at.forbidden("may not specify both ipBlock and another peer")
	}
}

func (c policyCheck) blockRules(at *place, b *networkingv1.IPBlock) {
	if !required(at.of("cidr"), b.CIDR) {
		return
	}
	knownNetwork(at.of("cidr"), b.CIDR, c.known)
	_, block, err := netutils.ParseCIDRSloppy(b.CIDR)
	if err != nil {
		return
	}
	for i, text := range b.Except {
		except := at.of("except").item(i)
		knownNetwork(except, text, c.known)
		_, part, err := netutils.ParseCIDRSloppy(text)
		if err != nil {
			continue
		}
		size, _ := block.Mask.Size()
		partSize, _ := part.Mask.Size()
		if !block.Contains(part.IP) || size >= partSize {
			except.invalid(text, "must be a strict subset of `cidr`")
		}
	}
}
