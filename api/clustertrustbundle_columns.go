package api

import (
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func clusterTrustBundleColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		nameColumn(), textColumn("SignerName", doc(certificatesv1beta1.ClusterTrustBundleSpec{}, "signerName")),
	}
}

func clusterTrustBundleCells(obj Object) []any {
	b := obj.(*certificatesv1beta1.ClusterTrustBundle)
	return []any{b.Name, orElse(b.Spec.SignerName, cellNone)}
}
