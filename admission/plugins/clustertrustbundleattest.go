package plugins

import (
	"context"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/admission"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

// clusterTrustBundleAttest restricts bundles of a signer to users with the verb attest on the
// signer. It does nothing unless ClusterTrustBundles are served.
func clusterTrustBundleAttest(o *admission.Objects, allowed admission.Allowed) admission.Plugin {
	bundles := certificatesv1.Resource("clustertrustbundles")
	if !o.Serves(bundles) {
		return admission.Plugin{}
	}
	return admission.Plugin{
		Handles: admission.HandlesFor([]schema.GroupResource{bundles}, api.VerbCreate, api.VerbUpdate),
		Validate: func(ctx context.Context, a *registry.Attributes) error {
			bundle, ok := a.Object.(*certificatesv1.ClusterTrustBundle)
			if !ok || bundle.Spec.SignerName == "" {
				return nil
			}
			if old, ok := a.Old.(*certificatesv1.ClusterTrustBundle); ok && equality.Semantic.DeepEqual(old.Spec, bundle.Spec) {
				return nil
			}
			if maySigner(ctx, allowed, a.User, "attest", bundle.Spec.SignerName) {
				return nil
			}
			return admission.Forbiddenf(a, "user not permitted to attest for signerName %q", bundle.Spec.SignerName)
		},
	}
}
