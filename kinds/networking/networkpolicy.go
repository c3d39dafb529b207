package networking

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	netutils "k8s.io/utils/net"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/kinds/workload"
)

// NetworkPolicy describes the kind NetworkPolicy, which restricts the traffic of pods.
func NetworkPolicy(gates features.Gates) *api.Resource {
	return api.NewResource(api.Kind[*networkingv1.NetworkPolicy]{
		Names: api.Names{
			Name: "networkpolicies", Singular: "networkpolicy", Kind: "NetworkPolicy",
			ShortNames: []string{"netpol"},
			Namespaced: true,
		},
		Versions:        api.Served(networkingv1.SchemeGroupVersion),
		RemovedVersions: api.RemovedVersions("extensions/v1beta1"),
		Default:         defaultNetworkPolicy,
		Storage:         api.Storage{Prefix: "networkpolicies"},
		Checks: api.Checks(
			api.Metadata,
			api.OnCreate(api.Rules(networkPolicyRules)),
			api.Changes(networkPolicyChanges),
			api.Declared,
			api.Warn(networkPolicyWarnings),
		),
		Generation: api.BodyDiffers[*networkingv1.NetworkPolicy],
		Table:      api.Rows(networkPolicyRow),
	})
}

func networkPolicyRow(row *table.Row, p *networkingv1.NetworkPolicy) {
	row.Name(p.Name)
	row.Text("Pod-Selector", ".spec.podSelector", metav1.FormatLabelSelector(&p.Spec.PodSelector))
	row.Age(p)
}

// defaultNetworkPolicy sets the policy types: Ingress, and Egress if there are egress
// rules.
func defaultNetworkPolicy(obj *networkingv1.NetworkPolicy) {
	s := &obj.Spec
	if len(s.PolicyTypes) == 0 {
		s.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
		if len(s.Egress) > 0 {
			s.PolicyTypes = append(s.PolicyTypes, networkingv1.PolicyTypeEgress)
		}
	}
	ports := func(list []networkingv1.NetworkPolicyPort) {
		for i := range list {
			api.SetDefault(&list[i].Protocol, corev1.ProtocolTCP)
		}
	}
	for i := range s.Ingress {
		ports(s.Ingress[i].Ports)
	}
	for i := range s.Egress {
		ports(s.Egress[i].Ports)
	}
}

func networkPolicyRules(at *validation.Path, p *networkingv1.NetworkPolicy) {
	policySpecRules(at.Child("spec"), &p.Spec, policyLeniency{})
}

func networkPolicyChanges(at *validation.Path, obj, old *networkingv1.NetworkPolicy) {
	c := policyLeniency{lenient: workload.HasInvalidSelectorValues(&old.Spec.PodSelector)}
	peers := func(list []networkingv1.NetworkPolicyPeer) {
		for _, p := range list {
			if p.IPBlock != nil {
				c.known = append(append(c.known, p.IPBlock.CIDR), p.IPBlock.Except...)
			}
		}
	}
	for i := range old.Spec.Ingress {
		peers(old.Spec.Ingress[i].From)
	}
	for i := range old.Spec.Egress {
		peers(old.Spec.Egress[i].To)
	}
	policySpecRules(at.Child("spec"), &obj.Spec, c)
}

// policyLeniency has the invalid values of the stored policy that an update may keep.
type policyLeniency struct {
	lenient bool
	known   []string
}

func policySpecRules(at *validation.Path, s *networkingv1.NetworkPolicySpec, c policyLeniency) {
	validation.LenientSelectorRules(at.Child("podSelector"), &s.PodSelector, c.lenient)
	for i, r := range s.Ingress {
		at := at.Child("ingress").Index(i)
		validation.Each(at.Child("ports"), r.Ports, policyPortRules)
		validation.Each(at.Child("from"), r.From, c.peerRules)
	}
	for i, r := range s.Egress {
		at := at.Child("egress").Index(i)
		validation.Each(at.Child("ports"), r.Ports, policyPortRules)
		validation.Each(at.Child("to"), r.To, c.peerRules)
	}
	if len(s.PolicyTypes) > 2 {
		at.Child("policyTypes").Invalid(s.PolicyTypes, "may not specify more than two policyTypes")
		return
	}
	for i, t := range s.PolicyTypes {
		validation.OneOf(at.Child("policyTypes").Index(i), t, networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress)
	}
}

func policyPortRules(at *validation.Path, p *networkingv1.NetworkPolicyPort) {
	validation.OptionalEnum(at.Child("protocol"), p.Protocol, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)
	end := at.Child("endPort")
	switch {
	case p.Port == nil:
		if p.EndPort != nil {
			end.Invalid(*p.EndPort, "may not be specified when `port` is not specified")
		}
	case p.Port.Type == intstr.Int:
		validation.PortNumber(at.Child("port"), p.Port.IntVal)
		if p.EndPort != nil {
			if *p.EndPort < p.Port.IntVal {
				end.Invalid(*p.EndPort, "must be greater than or equal to `port`")
			}
			validation.PortNumber(end, *p.EndPort)
		}
	default:
		if p.EndPort != nil {
			end.Invalid(*p.EndPort, "may not be specified when `port` is non-numeric")
		}
		validation.Format(at.Child("port"), p.Port.StrVal, validation.PortName)
	}
}

func (c policyLeniency) peerRules(at *validation.Path, p *networkingv1.NetworkPolicyPeer) {
	pods := p.PodSelector != nil || p.NamespaceSelector != nil
	validation.LenientSelectorRules(at.Child("podSelector"), p.PodSelector, c.lenient)
	validation.LenientSelectorRules(at.Child("namespaceSelector"), p.NamespaceSelector, c.lenient)
	if p.IPBlock != nil {
		c.blockRules(at.Child("ipBlock"), p.IPBlock)
	}
	switch {
	case !pods && p.IPBlock == nil:
		at.Required("must specify a peer")
	case pods && p.IPBlock != nil:
		at.Forbidden("may not specify both ipBlock and another peer")
	}
}

func (c policyLeniency) blockRules(at *validation.Path, b *networkingv1.IPBlock) {
	if !validation.Required(at.Child("cidr"), b.CIDR) {
		return
	}
	validation.CIDROrStored(at.Child("cidr"), b.CIDR, c.known)
	_, block, err := netutils.ParseCIDRSloppy(b.CIDR)
	if err != nil {
		return
	}
	for i, text := range b.Except {
		except := at.Child("except").Index(i)
		validation.CIDROrStored(except, text, c.known)
		_, part, err := netutils.ParseCIDRSloppy(text)
		if err != nil {
			continue
		}
		size, _ := block.Mask.Size()
		partSize, _ := part.Mask.Size()
		if !block.Contains(part.IP) || size >= partSize {
			except.Invalid(text, "must be a strict subset of `cidr`")
		}
	}
}
