package api

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
)

// csrV1beta1 lets out who is to sign, and the status of conditions.
func csrV1beta1() Version {
	return unlike(certificatesv1beta1.SchemeGroupVersion,
		func(hub *certificatesv1.CertificateSigningRequest, old *certificatesv1beta1.CertificateSigningRequest) {
			hub.Spec.SignerName = certificatesv1beta1.LegacyUnknownSignerName
			if signer := old.Spec.SignerName; signer != nil {
				hub.Spec.SignerName = *signer
			}
			if old.Spec.Usages == nil {
				hub.Spec.Usages = []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment}
			}
			// Copied, since the list may be that of old.
			hub.Status.Conditions = append([]certificatesv1.CertificateSigningRequestCondition(nil), hub.Status.Conditions...)
			for i := range hub.Status.Conditions {
				if c := &hub.Status.Conditions[i]; c.Status == "" {
					c.Status = corev1.ConditionTrue
				}
			}
		},
		func(old *certificatesv1beta1.CertificateSigningRequest, hub *certificatesv1.CertificateSigningRequest) {
			old.Spec.SignerName = &hub.Spec.SignerName
		})
}
