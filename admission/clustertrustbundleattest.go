package admission

import (
	"context"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/registry"
)

// clusterTrustBundleAttest lets bundles speak for a signer only where the user
// may. Without the feature gate of the kind there is nothing to do.
func clusterTrustBundleAttest(allowed Allowed, gates features.Gates) Plugin {
	if !gates.Enabled(features.ClusterTrustBundle) {
		return Plugin{}
	}
	return Plugin{
		Handles: on([]groupResource{certificatesv1beta1.Resource("clustertrustbundles")}, api.VerbCreate, api.VerbUpdate),
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
