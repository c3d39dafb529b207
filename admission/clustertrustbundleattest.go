package admission

import (
	"context"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
)

// clusterTrustBundleAttest restricts bundles of a signer to users with the verb attest on the
// signer. It does nothing unless ClusterTrustBundles are served.
func clusterTrustBundleAttest(o *Objects, allowed Allowed) Plugin {
	bundles := certificatesv1beta1.Resource("clustertrustbundles")
	if !o.serves(bundles) {
		return Plugin{}
	}
	return Plugin{
		Handles: handle([]groupResource{bundles}, api.VerbCreate, api.VerbUpdate),
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
			return forbiddenf(a, "user not permitted to attest for signerName %q", bundle.Spec.SignerName)
		},
	}
}
