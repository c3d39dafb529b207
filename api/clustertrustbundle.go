package api

import (
	certificatesv1alpha1 "k8s.io/api/certificates/v1alpha1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"

	"github.com/miniapiserver/miniapiserver/internal/features"
)

// clusterTrustBundle holds certificate authorities that pods may trust, those of
// one signer or of nobody in particular.
func clusterTrustBundle() *Resource {
	return &Resource{
		Name: "clustertrustbundles", Singular: "clustertrustbundle", Kind: "ClusterTrustBundle",
		Versions: older(
			selectable(preview[certificatesv1beta1.ClusterTrustBundle](certificatesv1beta1.SchemeGroupVersion, features.ClusterTrustBundle),
				nameLabel, "spec.signerName"),
			alike[certificatesv1beta1.ClusterTrustBundle, certificatesv1alpha1.ClusterTrustBundle](certificatesv1alpha1.SchemeGroupVersion)),
		New:    func() Object { return &certificatesv1beta1.ClusterTrustBundle{} },
		Rows:   &Table{Columns: clusterTrustBundleColumns, Cells: clusterTrustBundleCells},
		Prefix: "clustertrustbundles",
		// The name depends on the signer: the rules check it.
		ValidateName:           func(string, bool) []string { return nil },
		ValidateCreate:         rulesOf(trustBundleRules),
		ValidateUpdate:         changesOf(trustBundleChanges),
		MetadataRevalidated:    true,
		RequireResourceVersion: true,
		Fields: func(obj Object) map[string]string {
			return map[string]string{"spec.signerName": obj.(*certificatesv1beta1.ClusterTrustBundle).Spec.SignerName}
		},
	}
}
