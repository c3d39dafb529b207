package controllers

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/kinds/certificates"
)

const requestSignerName = "certificatesigningrequest-signing-controller"

// CA is a certificate authority.
type CA struct {
	Certificate *x509.Certificate
	Key         crypto.Signer
}

// Limits of the lifetime of certificates. NotBefore is backdated; certificates of at least
// longLived also end earlier by that time, so that their total lifetime is as requested.
const (
	backdate           = 5 * time.Minute // for clients whose clocks are behind
	longLivedThreshold = 8 * time.Hour
	minLifetime        = 10 * time.Minute
	maxLifetime        = 365 * 24 * time.Hour // default of Config.SigningDuration
)

// requestSigner signs approved requests for Kubernetes' own signers.
type requestSigner struct{ csrController }

func newRequestSigner(c Config) Controller {
	if c.SigningCA == nil {
		return nil
	}
	if c.SigningDuration == 0 {
		c.SigningDuration = maxLifetime
	}
	s := &requestSigner{newCSRController(c)}
	return s.loop(requestSignerName, s.sync)
}

func (s *requestSigner) sync(ctx context.Context, r *certificatesv1.CertificateSigningRequest) (reconcile.Result, error) {
	check, ours := signerRules(r.Spec.SignerName)
	if !ours || !awaitsCertificate(r) {
		return reconcile.Done, nil
	}
	request, err := certificates.ParseRequest(r.Spec.Request)
	if err != nil {
		return reconcile.Done, err
	}
	r = r.DeepCopy()
	if err := check(request, r.Spec.Usages); err != nil {
		r.Status.Conditions = append(r.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
			Type: certificatesv1.CertificateFailed, Status: corev1.ConditionTrue, Reason: "SignerValidationFailure",
			Message: err.Error(), LastUpdateTime: metav1.NewTime(s.Now()),
		})
		return reconcile.Done, s.putSubresource(ctx, r, "status")
	}
	ca, err := s.SigningCA()
	if err == nil {
		r.Status.Certificate, err = ca.sign(request, r.Spec.Usages, certificateLifetime(r.Spec.ExpirationSeconds, s.SigningDuration), s.Now())
	}
	if err != nil {
		return reconcile.Done, fmt.Errorf("error auto signing csr: %w", err)
	}
	return reconcile.Done, s.putSubresource(ctx, r, "status")
}

// awaitsCertificate reports whether a request is approved and waits for its certificate.
func awaitsCertificate(r *certificatesv1.CertificateSigningRequest) bool {
	failed := csrCondition(r, certificatesv1.CertificateFailed)
	return csrCondition(r, certificatesv1.CertificateApproved) != nil && csrCondition(r, certificatesv1.CertificateDenied) == nil &&
		(failed == nil || failed.Status != corev1.ConditionTrue) && len(r.Status.Certificate) == 0
}

// certificateLifetime returns the lifetime of a certificate for the requested number of
// seconds, at most most.
func certificateLifetime(requested *int32, maximum time.Duration) time.Duration {
	if requested == nil {
		return maximum
	}
	return min(max(time.Duration(*requested)*time.Second, minLifetime), maximum)
}

// sign returns the certificate of a request in PEM. It copies the subject, the alternative
// names and the key of the request, but no other extensions.
func (ca *CA) sign(r *x509.CertificateRequest, usages []certificatesv1.KeyUsage, lifetime time.Duration, now time.Time) ([]byte, error) {
	if err := r.CheckSignature(); err != nil {
		return nil, fmt.Errorf("unable to verify certificate request signature: %w", err)
	}
	end := ca.Certificate.NotAfter
	if !now.Before(end) {
		return nil, fmt.Errorf("refusing to sign a certificate that expired in the past: NotAfter=%v", end)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 128))
	if err != nil {
		return nil, err
	}
	c := &x509.Certificate{
		SerialNumber: serial, Subject: r.Subject,
		DNSNames: r.DNSNames, IPAddresses: r.IPAddresses, EmailAddresses: r.EmailAddresses, URIs: r.URIs,
		NotBefore: now.Add(-backdate), NotAfter: now.Add(lifetime), BasicConstraintsValid: true,
	}
	if lifetime >= longLivedThreshold {
		c.NotAfter = c.NotAfter.Add(-backdate)
	}
	if c.NotAfter.After(end) {
		c.NotAfter = end
	}
	if c.KeyUsage, c.ExtKeyUsage, err = certificateUsages(usages); err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, c, ca.Certificate, r.PublicKey, ca.Key)
	if err != nil {
		return nil, fmt.Errorf("failed to sign certificate: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

// certificateUsages converts usages to those of package x509.
func certificateUsages(usages []certificatesv1.KeyUsage) (basic x509.KeyUsage, extended []x509.ExtKeyUsage, err error) {
	var unknown []certificatesv1.KeyUsage
	for _, u := range usages {
		b, isBasic := basicUsages()[u]
		e, isExtended := extendedUsages()[u]
		switch {
		case isBasic:
			basic |= b
		case isExtended:
			extended = append(extended, e)
		default:
			unknown = append(unknown, u)
		}
	}
	if len(unknown) > 0 {
		return 0, nil, fmt.Errorf("unrecognized usage values: %q", unknown)
	}
	slices.Sort(extended)
	return basic, slices.Compact(extended), nil
}

func basicUsages() map[certificatesv1.KeyUsage]x509.KeyUsage {
	return map[certificatesv1.KeyUsage]x509.KeyUsage{
		certificatesv1.UsageSigning:           x509.KeyUsageDigitalSignature,
		certificatesv1.UsageDigitalSignature:  x509.KeyUsageDigitalSignature,
		certificatesv1.UsageContentCommitment: x509.KeyUsageContentCommitment,
		certificatesv1.UsageKeyEncipherment:   x509.KeyUsageKeyEncipherment,
		certificatesv1.UsageKeyAgreement:      x509.KeyUsageKeyAgreement,
		certificatesv1.UsageDataEncipherment:  x509.KeyUsageDataEncipherment,
		certificatesv1.UsageCertSign:          x509.KeyUsageCertSign,
		certificatesv1.UsageCRLSign:           x509.KeyUsageCRLSign,
		certificatesv1.UsageEncipherOnly:      x509.KeyUsageEncipherOnly,
		certificatesv1.UsageDecipherOnly:      x509.KeyUsageDecipherOnly,
	}
}

func extendedUsages() map[certificatesv1.KeyUsage]x509.ExtKeyUsage {
	return map[certificatesv1.KeyUsage]x509.ExtKeyUsage{
		certificatesv1.UsageAny:             x509.ExtKeyUsageAny,
		certificatesv1.UsageServerAuth:      x509.ExtKeyUsageServerAuth,
		certificatesv1.UsageClientAuth:      x509.ExtKeyUsageClientAuth,
		certificatesv1.UsageCodeSigning:     x509.ExtKeyUsageCodeSigning,
		certificatesv1.UsageEmailProtection: x509.ExtKeyUsageEmailProtection,
		certificatesv1.UsageSMIME:           x509.ExtKeyUsageEmailProtection,
		certificatesv1.UsageIPsecEndSystem:  x509.ExtKeyUsageIPSECEndSystem,
		certificatesv1.UsageIPsecTunnel:     x509.ExtKeyUsageIPSECTunnel,
		certificatesv1.UsageIPsecUser:       x509.ExtKeyUsageIPSECUser,
		certificatesv1.UsageTimestamping:    x509.ExtKeyUsageTimeStamping,
		certificatesv1.UsageOCSPSigning:     x509.ExtKeyUsageOCSPSigning,
		certificatesv1.UsageMicrosoftSGC:    x509.ExtKeyUsageMicrosoftServerGatedCrypto,
		certificatesv1.UsageNetscapeSGC:     x509.ExtKeyUsageNetscapeServerGatedCrypto,
	}
}
