package api

import (
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func podCertificateRequestColumns() []metav1.TableColumnDefinition {
	spec := certificatesv1beta1.PodCertificateRequestSpec{}
	return []metav1.TableColumnDefinition{
		nameColumn(),
		textColumn("PodName", doc(spec, "podName")),
		textColumn("ServiceAccountName", doc(spec, "serviceAccountName")),
		textColumn("NodeName", doc(spec, "nodeName")),
		textColumn("SignerName", doc(spec, "signerName")),
		textColumn("State", "Is the request Pending, Issued, Denied, or Failed?"),
		textColumn("UnverifiedUserAnnotations", doc(spec, "unverifiedUserAnnotations")),
	}
}

func podCertificateRequestCells(obj Object) []any {
	r := obj.(*certificatesv1beta1.PodCertificateRequest)
	state := "Pending"
	for _, c := range r.Status.Conditions {
		if among(c.Type, finalCertificateConditions()...) {
			state = c.Type
		}
	}
	s := &r.Spec
	return []any{r.Name, s.PodName, s.ServiceAccountName, string(s.NodeName), s.SignerName, state, labels.FormatLabels(s.UnverifiedUserAnnotations)}
}
