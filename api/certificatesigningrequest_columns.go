package api

import (
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

func certificateSigningRequestColumns() []metav1.TableColumnDefinition {
	// kube-apiserver describes these columns with the texts of v1beta1.
	spec := certificatesv1beta1.CertificateSigningRequestSpec{}
	return []metav1.TableColumnDefinition{
		nameColumn(),
		ageColumn(),
		textColumn("SignerName", doc(spec, "signerName")),
		textColumn("Requestor", doc(spec, "request")),
		textColumn("RequestedDuration", doc(spec, "expirationSeconds")),
		textColumn("Condition", doc(certificatesv1beta1.CertificateSigningRequestStatus{}, "conditions")),
	}
}

func certificateSigningRequestCells(obj Object) []any {
	r := obj.(*certificatesv1.CertificateSigningRequest)
	lifetime := cellNone
	if s := r.Spec.ExpirationSeconds; s != nil {
		lifetime = duration.HumanDuration(time.Duration(*s) * time.Second)
	}
	return []any{r.Name, Age(r), orElse(r.Spec.SignerName, cellNone), r.Spec.Username, lifetime, requestState(&r.Status)}
}

// requestState is what was decided about a request, and what came of it. Of a
// request both approved and denied, the refusal counts.
func requestState(s *certificatesv1.CertificateSigningRequestStatus) string {
	has := map[certificatesv1.RequestConditionType]bool{}
	for _, c := range s.Conditions {
		has[c.Type] = true
	}
	state := "Pending"
	switch {
	case has[certificatesv1.CertificateDenied]:
		state = "Denied"
	case has[certificatesv1.CertificateApproved]:
		state = "Approved"
	}
	if has[certificatesv1.CertificateFailed] {
		state += ",Failed"
	}
	if len(s.Certificate) > 0 {
		state += ",Issued"
	}
	return state
}
