package noderestriction

import (
	"context"
	"fmt"
	"strings"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	podkind "github.com/miniapiserver/miniapiserver/api/core/pod"
	"github.com/miniapiserver/miniapiserver/registry"
)

// podCertificate allows a node to request certificates only for pods bound to it, with matching
// attributes. A mismatch that may be due to a stale cache is an internal error rather than a
// rejection, so that the node retries.
func (n nodeRestrictionPlugin) podCertificate(ctx context.Context, a *registry.Attributes, node string) error {
	switch {
	case a.Verb != api.VerbCreate:
		return admission.Forbiddenf(a, "unexpected operation %s", strings.ToUpper(a.Verb))
	case a.Subresource != "":
		return admission.Forbiddenf(a, "unexpected subresource %s", a.Subresource)
	}
	s := &a.Object.(*certificatesv1beta1.PodCertificateRequest).Spec
	if string(s.NodeName) != node {
		return admission.Forbiddenf(a, "PodCertificateRequest.Spec.NodeName=%q, which is not the requesting node %q", s.NodeName, node)
	}
	machine, err := n.nodes.GetSingular(ctx, "", node)
	if err != nil {
		return forbiddenUnlessMissing(a, err, "while retrieving node %q named in the PodCertificateRequest", node)
	}
	name := a.Namespace + "/" + s.PodName
	if machine.UID != s.NodeUID {
		return fmt.Errorf("PodCertificateRequest for pod %q names node UID %q, inconsistent with the running node (%q)", name, s.NodeUID, machine.UID)
	}
	pod, err := n.pods.GetSingular(ctx, a.Namespace, s.PodName)
	switch {
	case err != nil:
		return forbiddenUnlessMissing(a, err, "while retrieving pod %q named in the PodCertificateRequest", name)
	case pod.UID != s.PodUID:
		return fmt.Errorf("PodCertificateRequest for pod %q contains pod UID (%q) which differs from running pod %q", name, s.PodUID, string(pod.UID))
	case pod.Spec.NodeName != node:
		return admission.Forbiddenf(a, "pod %q is not running on node %q named in the PodCertificateRequest", name, s.NodeName)
	case podkind.IsMirrorPod(pod):
		return admission.Forbiddenf(a, "pod %q is a mirror pod", name)
	case pod.Spec.ServiceAccountName != s.ServiceAccountName:
		return admission.Forbiddenf(a, "PodCertificateRequest for pod %q contains serviceAccountName (%q) that differs from running pod (%q)", name, s.ServiceAccountName, pod.Spec.ServiceAccountName)
	}
	account, err := n.accounts.GetSingular(ctx, a.Namespace, s.ServiceAccountName)
	switch {
	case err != nil:
		return forbiddenUnlessMissing(a, err, "while retrieving service account %q named in the PodCertificateRequest", a.Namespace+"/"+s.ServiceAccountName)
	case account.UID != s.ServiceAccountUID:
		return fmt.Errorf("PodCertificateRequest for pod %q names service account UID %q, which differs from the running service account (%q)", name, s.ServiceAccountUID, account.UID)
	}
	return nil
}

// forbiddenUnlessMissing returns a rejection, or the plain error if an object is missing, since it
// may not be in the cache yet.
func forbiddenUnlessMissing(a *registry.Attributes, err error, format, name string) error {
	err = fmt.Errorf(format+": %w", name, err)
	if apierrors.IsNotFound(err) {
		return err
	}
	return admission.Forbidden(a, err)
}
