package noderestriction

import (
	"context"
	"fmt"
	"slices"
	"strings"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	podkind "github.com/miniapiserver/miniapiserver/kinds/core/pod"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// podCertificateVerb is the verb that authorizes nodes to request certificates of a signer for a
// service account. The signer takes the place of the resource, the service account that of the name.
const podCertificateVerb = "request-serviceaccounts-podcertificate-signer"

// podCertificate allows a node to request certificates only for pods bound to it, with matching
// attributes, and only of signers that a volume of the pod names or an authorizer allows. A
// mismatch that may be due to a stale cache is an internal error rather than a rejection, so that
// the node retries.
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
		return fmt.Errorf("PodCertificateRequest for pod %q names node UID %q, inconsistent with the running node (%q)",
			name, s.NodeUID, machine.UID)
	}
	pod, err := n.pods.GetSingular(ctx, a.Namespace, s.PodName)
	switch {
	case err != nil:
		return forbiddenUnlessMissing(a, err, "while retrieving pod %q named in the PodCertificateRequest", name)
	case pod.UID != s.PodUID:
		return fmt.Errorf("PodCertificateRequest for pod %q contains pod UID (%q) which differs from running pod %q",
			name, s.PodUID, string(pod.UID))
	case pod.Spec.NodeName != node:
		return admission.Forbiddenf(a, "pod %q is not running on node %q named in the PodCertificateRequest", name, s.NodeName)
	case podkind.IsMirrorPod(pod):
		return admission.Forbiddenf(a, "pod %q is a mirror pod", name)
	case pod.Spec.ServiceAccountName != s.ServiceAccountName:
		return admission.Forbiddenf(a, "PodCertificateRequest for pod %q contains serviceAccountName (%q) that differs from running pod (%q)",
			name, s.ServiceAccountName, pod.Spec.ServiceAccountName)
	}
	account, err := n.accounts.GetSingular(ctx, a.Namespace, s.ServiceAccountName)
	switch {
	case err != nil:
		return forbiddenUnlessMissing(a, err,
			"while retrieving service account %q named in the PodCertificateRequest", a.Namespace+"/"+
				s.ServiceAccountName)
	case account.UID != s.ServiceAccountUID:
		return fmt.Errorf("PodCertificateRequest for pod %q names service account UID %q, which differs from the running service account (%q)",
			name, s.ServiceAccountUID, account.UID)
	case requiresCertificate(pod, s.SignerName):
		return nil
	}
	ok, _, err := n.allowed(ctx, a.User, &request.Info{
		IsResource: true, Verb: podCertificateVerb, Group: a.Version.Group, Version: a.Version.Version,
		// A resource has no slash in RBAC.
		Resource: strings.ReplaceAll(s.SignerName, "/", ":"), Namespace: a.Namespace, Name: s.ServiceAccountName,
	})
	switch {
	case ok:
		return nil
	case err != nil:
		return admission.Forbiddenf(a, "error authorizing %s to request podcertificaterequests for signer %q: %w", a.User.Name, s.SignerName, err)
	}
	return admission.Forbiddenf(a, "pod %q does not mount a podCertificate projected volume for signer %q", name, s.SignerName)
}

// requiresCertificate reports whether a projected volume of the pod has a certificate of a signer.
func requiresCertificate(pod *corev1.Pod, signer string) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(s corev1.VolumeProjection) bool {
			return s.PodCertificate != nil && s.PodCertificate.SignerName == signer
		})
	})
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
