package admission

import (
	"context"
	"fmt"
	"strings"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

// podCertificate lets a node ask for certificates for the pods that run on it, as
// they are. What may be but a matter of time is an error and no refusal, so that the
// node asks again.
func (n restriction) podCertificate(ctx context.Context, a *registry.Attributes, node string) error {
	switch {
	case a.Verb != api.VerbCreate:
		return forbid(a, "unexpected operation %s", strings.ToUpper(a.Verb))
	case a.Subresource != "":
		return forbid(a, "unexpected subresource %s", a.Subresource)
	}
	s := &a.Object.(*certificatesv1beta1.PodCertificateRequest).Spec
	if string(s.NodeName) != node {
		return forbid(a, "PodCertificateRequest.Spec.NodeName=%q, which is not the requesting node %q", s.NodeName, node)
	}
	machine, err := n.nodes.listed(ctx, "", node)
	if err != nil {
		return unlessMissing(a, err, "while retrieving node %q named in the PodCertificateRequest", node)
	}
	name := a.Namespace + "/" + s.PodName
	if machine.UID != s.NodeUID {
		return fmt.Errorf("PodCertificateRequest for pod %q names node UID %q, inconsistent with the running node (%q)", name, s.NodeUID, machine.UID)
	}
	pod, err := n.pods.listed(ctx, a.Namespace, s.PodName)
	mirrored := func() bool { _, is := pod.Annotations[corev1.MirrorPodAnnotationKey]; return is }
	switch {
	case err != nil:
		return unlessMissing(a, err, "while retrieving pod %q named in the PodCertificateRequest", name)
	case pod.UID != s.PodUID:
		return fmt.Errorf("PodCertificateRequest for pod %q contains pod UID (%q) which differs from running pod %q", name, s.PodUID, string(pod.UID))
	case pod.Spec.NodeName != node:
		return forbid(a, "pod %q is not running on node %q named in the PodCertificateRequest", name, s.NodeName)
	case mirrored():
		return forbid(a, "pod %q is a mirror pod", name)
	case pod.Spec.ServiceAccountName != s.ServiceAccountName:
		return forbid(a, "PodCertificateRequest for pod %q contains serviceAccountName (%q) that differs from running pod (%q)", name, s.ServiceAccountName, pod.Spec.ServiceAccountName)
	}
	account, err := n.accounts.listed(ctx, a.Namespace, s.ServiceAccountName)
	switch {
	case err != nil:
		return unlessMissing(a, err, "while retrieving service account %q named in the PodCertificateRequest", a.Namespace+"/"+s.ServiceAccountName)
	case account.UID != s.ServiceAccountUID:
		return fmt.Errorf("PodCertificateRequest for pod %q names service account UID %q, which differs from the running service account (%q)", name, s.ServiceAccountUID, account.UID)
	}
	return nil
}

// unlessMissing refuses the request, unless an object is not there (yet).
func unlessMissing(a *registry.Attributes, err error, format, name string) error {
	told := fmt.Errorf(format+": %w", name, err)
	if apierrors.IsNotFound(err) {
		return told
	}
	return forbidden(a, told)
}
