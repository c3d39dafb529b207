package networking

import (
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/miniapiserver/miniapiserver/api/validation"
)

func ingressWarnings(i *networkingv1.Ingress) []string {
	if _, ok := i.Annotations[classAnnotation]; !ok || i.Spec.IngressClassName != nil {
		return nil
	}
	return []string{fmt.Sprintf("annotation %q is deprecated, please use 'spec.ingressClassName' instead", classAnnotation)}
}

func networkPolicyWarnings(obj *networkingv1.NetworkPolicy) []string {
	s := &obj.Spec
	return validation.Warn(func(at *validation.Path) {
		blocks := func(at *validation.Path, peers []networkingv1.NetworkPolicyPeer) {
			for i := range peers {
				if b := peers[i].IPBlock; b != nil {
					block := at.Index(i).Child("ipBlock")
					validation.WarnCIDRForm(block.Child("cidr"), b.CIDR)
					for j, except := range b.Except {
						validation.WarnCIDRForm(block.Child("except").Index(j), except)
					}
				}
			}
		}
		for i := range s.Ingress {
			blocks(at.Child("spec").Child("ingress").Index(i).Child("from"), s.Ingress[i].From)
		}
		for i := range s.Egress {
			blocks(at.Child("spec").Child("egress").Index(i).Child("to"), s.Egress[i].To)
		}
	})
}

// ingressStatusWarnings warns about addresses that are not in canonical form.
func ingressStatusWarnings(i *networkingv1.Ingress) []string {
	return validation.Warn(func(at *validation.Path) {
		for n, in := range i.Status.LoadBalancer.Ingress {
			validation.WarnIPForm(at.Child("status").Child("loadBalancer").Child("ingress").Index(n), in.IP)
		}
	})
}
