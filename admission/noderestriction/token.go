package noderestriction

import (
	"context"
	"fmt"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// token allows a node to request only tokens bound to a pod on the node and, if audiences are
// restricted, for an audience that a volume of the pod requires.
func (n nodeRestrictionPlugin) token(ctx context.Context, a *registry.Attributes, node string) error {
	tr, ok := a.Object.(*authenticationv1.TokenRequest)
	if !ok || a.Verb != api.VerbCreate {
		return nil
	}
	ref := tr.Spec.BoundObjectRef
	switch {
	case ref == nil || ref.APIVersion != "v1" || ref.Kind != "Pod" || ref.Name == "":
		return admission.Forbiddenf(a, "node requested token not bound to a pod")
	case ref.UID == "":
		return admission.Forbiddenf(a, "node requested token with a pod binding without a uid")
	}
	pod, err := n.pods.GetSingular(ctx, a.Namespace, ref.Name)
	switch {
	case err != nil:
		return err
	case ref.UID != pod.UID:
		return admission.Forbiddenf(a, "the UID in the bound object reference (%s) does not match the UID in record. The object might have been deleted and then recreated", ref.UID)
	case pod.Spec.NodeName != node:
		return admission.Forbiddenf(a, "node requested token bound to a pod scheduled on a different node")
	}
	if !n.restrictsAudience {
		return nil
	}
	if err := n.audience(ctx, a, tr.Spec.Audiences, pod); err != nil {
		return admission.Forbidden(a, err)
	}
	return nil
}

// tokenAudienceVerb is the verb that authorizes nodes to request tokens. The audience takes the
// place of the resource, the service account that of the name.
const tokenAudienceVerb = "request-serviceaccounts-token-audience"

// audience returns an error unless the pod or an authorizer allows the node a token for the
// audience. No audience means the one of the API server.
func (n nodeRestrictionPlugin) audience(ctx context.Context, a *registry.Attributes, audiences []string, pod *corev1.Pod) error {
	audience := ""
	switch len(audiences) {
	case 0:
	case 1:
		audience = audiences[0]
	default:
		return fmt.Errorf("node may only request 0 or 1 audiences")
	}
	found, err := n.requiresAudience(ctx, pod, audience)
	switch {
	case err != nil:
		return fmt.Errorf("error validating audience %q: %w", audience, err)
	case found:
		return nil
	}
	ok, _, err := n.allowed(ctx, a.User, &request.Info{
		IsResource: true, Verb: tokenAudienceVerb, Version: "v1", Resource: audience, Namespace: a.Namespace, Name: a.Name,
	})
	switch {
	case ok:
		return nil
	case err != nil:
		return fmt.Errorf("error authorizing %s to request tokens for audience %q: %w", a.User.Name, audience, err)
	}
	return fmt.Errorf("%s is not authorized to request tokens for audience %q", a.User.Name, audience)
}

// requiresAudience reports whether a volume of the pod requires a token for an audience: a
// projected token, or a CSI volume whose driver requests one. It returns errors of other volumes
// only if no volume requires the audience.
func (n nodeRestrictionPlugin) requiresAudience(ctx context.Context, pod *corev1.Pod, audience string) (bool, error) {
	var errs []error
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if p := v.Projected; p != nil && slices.ContainsFunc(p.Sources, func(s corev1.VolumeProjection) bool {
			return s.ServiceAccountToken != nil && s.ServiceAccountToken.Audience == audience
		}) {
			return true, nil
		}
		driver, err := n.driverOf(ctx, pod, v)
		if err == nil && driver != "" {
			var d *storagev1.CSIDriver
			if d, err = n.drivers.GetSingular(ctx, "", driver); err == nil && slices.ContainsFunc(d.Spec.TokenRequests, func(r storagev1.TokenRequest) bool {
				return r.Audience == audience
			}) {
				return true, nil
			}
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return false, utilerrors.NewAggregate(errs)
}

// driverOf returns the CSI driver of a volume, or "" if it has none.
func (n nodeRestrictionPlugin) driverOf(ctx context.Context, pod *corev1.Pod, v *corev1.Volume) (string, error) {
	switch {
	case v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil:
		return n.driverOfClaim(ctx, pod.Namespace, pod.Name+"-"+v.Name)
	case v.PersistentVolumeClaim != nil:
		return n.driverOfClaim(ctx, pod.Namespace, v.PersistentVolumeClaim.ClaimName)
	case v.CSI != nil:
		return v.CSI.Driver, nil
	case v.GCEPersistentDisk != nil:
		return gceDiskDriver, nil
	case v.AWSElasticBlockStore != nil:
		return awsDiskDriver, nil
	case v.Cinder != nil:
		return cinderDriver, nil
	case v.AzureDisk != nil:
		return azureDiskDriver, nil
	case v.AzureFile != nil:
		return azureFileDriver, nil
	case v.VsphereVolume != nil:
		return vsphereDriver, nil
	case v.PortworxVolume != nil:
		return portworxDriver, nil
	}
	return "", nil
}

func (n nodeRestrictionPlugin) driverOfClaim(ctx context.Context, namespace, name string) (string, error) {
	claim, err := n.claims.GetSingular(ctx, namespace, name)
	if err != nil {
		return "", err
	}
	volume, err := n.volumes.GetSingular(ctx, "", claim.Spec.VolumeName)
	if err != nil {
		return "", err
	}
	switch s := &volume.Spec.PersistentVolumeSource; {
	case s.CSI != nil:
		return s.CSI.Driver, nil
	case s.GCEPersistentDisk != nil:
		return gceDiskDriver, nil
	case s.AWSElasticBlockStore != nil:
		return awsDiskDriver, nil
	case s.Cinder != nil:
		return cinderDriver, nil
	case s.AzureDisk != nil:
		return azureDiskDriver, nil
	case s.AzureFile != nil:
		return azureFileDriver, nil
	case s.VsphereVolume != nil:
		return vsphereDriver, nil
	case s.PortworxVolume != nil:
		return portworxDriver, nil
	}
	return "", nil
}

// The CSI drivers to which in-tree volume types have been migrated.
const (
	gceDiskDriver   = "pd.csi.storage.gke.io"
	awsDiskDriver   = "ebs.csi.aws.com"
	cinderDriver    = "cinder.csi.openstack.org"
	azureDiskDriver = "disk.csi.azure.com"
	azureFileDriver = "file.csi.azure.com"
	vsphereDriver   = "csi.vsphere.vmware.com"
	portworxDriver  = "pxd.portworx.com"
)
