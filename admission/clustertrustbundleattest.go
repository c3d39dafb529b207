package admission

import (
	"context"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

// clusterTrustBundleAttest lets bundles speak for a signer only where the user
// may. It does nothing unless the kind is served.
func clusterTrustBundleAttest(o *Objects, allowed Allowed) Plugin {
	bundles := certificatesv1beta1.Resource("clustertrustbundles")
	if !o.serves(bundles) {
		return Plugin{}
	}
	return Plugin{
		Handles: on([]groupResource{bundles}, api.VerbCreate, api.VerbUpdate),
		Validate: func(ctx context.Context, a *registry.Attributes) error {
			bundle, ok := a.Object.(*certificatesv1beta1.ClusterTrustBundle)
			if !ok || bundle.Spec.SignerName == "" {
				return nil
			}
			if old, ok := a.Old.(*certificatesv1beta1.ClusterTrustBundle); ok && equality.Semantic.DeepEqual(old.Spec, bundle.Spec) {
				return nil
			}
			if allowed.maySigner(ctx, a.User, "attest", bundle.Spec.SignerName) {
				return nil
			}
			return forbid(a, "user not permitted to attest for signerName %q", bundle.Spec.SignerName)
		},
	}
}
