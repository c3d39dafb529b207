package certificates

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/mail"
	"strings"
	"time"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api/validation"
)

// Limits of the times in a certificate.
const (
	maxCertificateSkew = 5 * time.Minute
	refreshMargin      = 10 * time.Minute
	minCertificateLife = time.Hour
)

// finalCertificateConditions returns the types of conditions that complete a request.
func finalCertificateConditions() []string {
	return []string{
		certificatesv1beta1.PodCertificateRequestConditionTypeIssued,
		certificatesv1beta1.PodCertificateRequestConditionTypeDenied,
		certificatesv1beta1.PodCertificateRequestConditionTypeFailed,
	}
}

// certificateDecision returns the type of the condition that completed a request; empty if it
// is pending.
func certificateDecision(r *certificatesv1beta1.PodCertificateRequest) string {
	for _, c := range r.Status.Conditions {
		if c.Status == metav1.ConditionTrue && validation.IsOneOf(c.Type, finalCertificateConditions()...) {
			return c.Type
		}
	}
	return ""
}

// podCertificateStatusChanges validates an update of status, which is immutable once the
// request is complete.
func podCertificateStatusChanges(now func() time.Time) func(at *validation.Path, obj, old *certificatesv1beta1.PodCertificateRequest) {
	return func(at *validation.Path, obj, old *certificatesv1beta1.PodCertificateRequest) {
		status := at.Child("status")
		if !decisionRules(status.Child("conditions"), obj.Status.Conditions) {
			return
		}
		unchanged := equality.Semantic.DeepEqual(obj.Status, old.Status)
		switch decision := certificateDecision(obj); {
		case certificateDecision(old) != "":
			if !unchanged {
				status.Invalid(field.OmitValueType{}, "immutable after PodCertificateRequest is issued, denied, or failed")
			}
		case decision == certificatesv1beta1.PodCertificateRequestConditionTypeIssued:
			issuedRules(status, obj, old, now())
		case decision != "":
			only := certificatesv1beta1.PodCertificateRequestStatus{Conditions: obj.Status.Conditions}
			if !equality.Semantic.DeepEqual(obj.Status, only) {
				status.Invalid(field.OmitValueType{}, "non-condition status fields must be empty when denying or failing the PodCertificateRequest")
			}
		case !unchanged:
			status.Invalid(field.OmitValueType{}, `status is immutable unless transitioning to "Issued", "Denied", or "Failed"`)
		}
	}
}

// decisionRules validates that a request has one final condition. Paths of errors have a dot
// before the index, as in kube-apiserver.
func decisionRules(at *validation.Path, conditions []metav1.Condition) bool {
	before, ended := at.ErrorCount(), false
	for i, c := range conditions {
		at := at.Child(fmt.Sprintf("[%d]", i))
		if !validation.OneOf(at.Child("type"), c.Type, finalCertificateConditions()...) {
			continue
		}
		if ended {
			at.Child("type").Invalid(c.Type, `There may be at most one condition with type "Issued", "Denied", or "Failed"`)
		}
		ended = true
		validation.OneOf(at.Child("status"), c.Status, metav1.ConditionTrue)
	}
	validation.ConditionRules(at, conditions)
	return at.ErrorCount() == before
}

// issuedRules validates the issued certificates, and that the times in status are those of the
// first one.
func issuedRules(at *validation.Path, obj, old *certificatesv1beta1.PodCertificateRequest, now time.Time) {
	chain, s := at.Child("certificateChain"), &obj.Status
	if len(s.CertificateChain) > maxCertificates {
		chain.TooLong(maxCertificates)
		return
	}
	leaf, rest := leafOf(chain, s.CertificateChain)
	if leaf == nil {
		return
	}
	before := at.ErrorCount()
	leafNameRules(chain, leaf)
	if !issuedToKey(at, leaf, &old.Spec, s.CertificateChain) {
		return
	}
	if s.NotBefore == nil {
		at.Child("notBefore").Required("must be present and consistent with the issued certificate")
	}
	if s.NotAfter == nil {
		at.Child("notAfter").Required("must be present and consistent with the issued certificate")
	}
	if s.BeginRefreshAt == nil {
		at.Child("beginRefreshAt").Required("must be present and in the range [notbefore+10min, notafter-10min]")
	}
	if at.ErrorCount() > before || !validityRules(at, s, leaf, now) ||
		!lifeRules(chain, leaf, *obj.Spec.MaxExpirationSeconds) || !refreshRules(at.Child("beginRefreshAt"), s) {
		return
	}
	issuerRules(chain, s.CertificateChain, rest)
}

// leafOf returns the first certificate of a chain, or nil, and the rest of the chain.
func leafOf(at *validation.Path, chain string) (leaf *x509.Certificate, rest []byte) {
	block, rest := pem.Decode([]byte(chain))
	if block == nil {
		at.Invalid(chain, "issued certificate chain must contain at least one certificate")
		return nil, nil
	}
	if block.Type != "CERTIFICATE" {
		at.Invalid(chain, "issued certificate chain must consist entirely of CERTIFICATE PEM blocks")
		return nil, nil
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		at.Invalid(chain, "leaf certificate does not parse as valid X.509")
		return nil, nil
	}
	return leaf, rest
}

func leafNameRules(at *validation.Path, leaf *x509.Certificate) {
	for _, name := range leaf.DNSNames {
		if name == "" {
			at.Invalid(name, "leaf certificate should not contain empty DNSName")
		}
		if strings.Contains(name, "..") {
			at.Invalid(name, "leaf certificate's DNSName should not contain '..'")
		}
		if strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".") {
			at.Invalid(name, "leaf certificate's DNSName should not start or end with '.'")
		}
	}
	for _, address := range leaf.EmailAddresses {
		if _, err := mail.ParseAddress(address); err != nil {
			at.Invalid(address, "leaf certificate should not contain invalid EmailAddress")
		}
	}
}

// issuedToKey validates that a certificate is for the public key in the request.
func issuedToKey(status *validation.Path, leaf *x509.Certificate, s *certificatesv1beta1.PodCertificateRequestSpec, chain string) bool {
	var key crypto.PublicKey
	if len(s.StubPKCS10Request) > 0 {
		stub, err := x509.ParseCertificateRequest(s.StubPKCS10Request)
		if err != nil {
			status.Parent.Child("spec").Child("stubPKCS10Request").Invalid(field.OmitValueType{}, "must be a valid PKCS#10 CSR")
			return false
		}
		key = stub.PublicKey
	} else {
		var err error
		if key, err = x509.ParsePKIXPublicKey(s.PKIXPublicKey); err != nil {
			status.Parent.Child("spec").Child("pkixPublicKey").Invalid(field.OmitValueType{}, "must be a valid PKIX-serialized public key")
			return false
		}
	}
	if comparable, ok := key.(interface{ Equal(crypto.PublicKey) bool }); ok && !comparable.Equal(leaf.PublicKey) {
		status.Child("certificateChain").Invalid(chain, "leaf certificate was not issued to the requested public key")
		return false
	}
	return true
}

func validityRules(at *validation.Path, s *certificatesv1beta1.PodCertificateRequestStatus, leaf *x509.Certificate, now time.Time) bool {
	start, end := s.NotBefore.Time, s.NotAfter.Time
	switch {
	case !start.Equal(leaf.NotBefore):
		at.Child("notBefore").Invalid(start, "must be set to the NotBefore time encoded in the leaf certificate")
	case !start.After(now.Add(-maxCertificateSkew)) || !start.Before(now.Add(maxCertificateSkew)):
		at.Child("notBefore").Invalid(start, "must be set to within 5 minutes of kube-apiserver's current time")
	case !end.Equal(leaf.NotAfter):
		at.Child("notAfter").Invalid(end, "must be set to the NotAfter time encoded in the leaf certificate")
	default:
		return true
	}
	return false
}

func lifeRules(at *validation.Path, leaf *x509.Certificate, most int32) bool {
	life := leaf.NotAfter.Sub(leaf.NotBefore)
	switch {
	case life < minCertificateLife:
		at.Invalid(life, "leaf certificate lifetime must be >= 1 hour")
	case life > time.Duration(most)*time.Second:
		at.Invalid(life, fmt.Sprintf("leaf certificate lifetime must be <= spec.maxExpirationSeconds (%d)", most))
	default:
		return true
	}
	return false
}

func refreshRules(at *validation.Path, s *certificatesv1beta1.PodCertificateRequestStatus) bool {
	refresh := s.BeginRefreshAt.Time
	switch {
	case refresh.Before(s.NotBefore.Add(refreshMargin)):
		at.Invalid(refresh, "must be at least 10 minutes after status.notBefore")
	case refresh.After(s.NotAfter.Add(-refreshMargin)):
		at.Invalid(refresh, "must be at least 10 minutes before status.notAfter")
	default:
		return true
	}
	return false
}

// issuerRules validates the certificates after the first one. It does not verify the chain,
// which clients do.
func issuerRules(at *validation.Path, chain string, rest []byte) {
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return
		}
		if block.Type != "CERTIFICATE" {
			at.Invalid(chain, "issued certificate chain must consist entirely of CERTFICATE PEM blocks")
			return
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			at.Invalid(chain, "intermediate certificate does not parse as valid X.509")
			return
		}
	}
}
