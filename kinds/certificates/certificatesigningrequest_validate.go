package certificates

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/miniapiserver/miniapiserver/api/validation"
)

const (
	legacySigner      = "kubernetes.io/legacy-unknown"
	minCertificateAge = 600
)

func keyUsages() []certificatesv1.KeyUsage {
	return []certificatesv1.KeyUsage{
		certificatesv1.UsageAny, certificatesv1.UsageCertSign, certificatesv1.UsageClientAuth, certificatesv1.UsageCodeSigning,
		certificatesv1.UsageContentCommitment, certificatesv1.UsageCRLSign, certificatesv1.UsageDataEncipherment,
		certificatesv1.UsageDecipherOnly, certificatesv1.UsageDigitalSignature, certificatesv1.UsageEmailProtection,
		certificatesv1.UsageEncipherOnly, certificatesv1.UsageIPsecEndSystem, certificatesv1.UsageIPsecTunnel,
		certificatesv1.UsageIPsecUser, certificatesv1.UsageKeyAgreement, certificatesv1.UsageKeyEncipherment,
		certificatesv1.UsageMicrosoftSGC, certificatesv1.UsageNetscapeSGC, certificatesv1.UsageOCSPSigning,
		certificatesv1.UsageSMIME, certificatesv1.UsageServerAuth, certificatesv1.UsageSigning, certificatesv1.UsageTimestamping,
	}
}

// signingRules validates a new request.
func signingRules(at *validation.Path, r *certificatesv1.CertificateSigningRequest) {
	signingRulesFrom(at, r, nil)
}

// signingRulesFrom validates a request. It tolerates errors that the stored request has,
// because older servers validated less; old is nil for a new request.
func signingRulesFrom(at *validation.Path, r, old *certificatesv1.CertificateSigningRequest) {
	spec := at.Child("spec")
	if err := requestFault(r.Spec.Request); err != nil {
		spec.Child("request").Invalid(r.Spec.Request, err.Error())
	}
	usageRules(spec.Child("usages"), r, old)
	if signer := spec.Child("signerName"); r.Spec.SignerName == legacySigner && (old == nil || old.Spec.SignerName != legacySigner) {
		signer.Invalid(r.Spec.SignerName, "the legacy signerName is not allowed via this API version")
	} else {
		SignerName(signer, r.Spec.SignerName)
	}
	if s := r.Spec.ExpirationSeconds; s != nil && *s < minCertificateAge {
		spec.Child("expirationSeconds").Invalid(*s, "may not specify a duration less than 600 seconds (10 minutes)")
	}
	var lenient conditionLeniency
	if old != nil {
		lenient = conditionFailings(old.Status.Conditions)
	}
	signingConditionRules(at.Child("status").Child("conditions"), r.Status.Conditions, lenient)
	if old != nil && certificateFault(old.Status.Certificate) != nil {
		return
	}
	if err := certificateFault(r.Status.Certificate); err != nil {
		at.Child("status").Child("certificate").Invalid("<certificate data>", err.Error())
	}
}

func usageRules(at *validation.Path, r, old *certificatesv1.CertificateSigningRequest) {
	if len(r.Spec.Usages) == 0 {
		at.Required("")
	}
	known := keyUsages()
	stranger := func(u certificatesv1.KeyUsage) bool { return !slices.Contains(known, u) }
	if old == nil || !slices.ContainsFunc(old.Spec.Usages, stranger) {
		slices.Sort(known)
		for i, u := range r.Spec.Usages {
			validation.OneOf(at.Index(i), u, known...)
		}
	}
	if old == nil {
		var seen validation.Unique[certificatesv1.KeyUsage]
		for i, u := range r.Spec.Usages {
			seen.Add(at.Index(i), u)
		}
	}
}

// requestFault returns the error of a PKCS#10 request, or nil.
func requestFault(data []byte) error {
	request, err := ParseRequest(data)
	if err != nil {
		return err
	}
	return request.CheckSignature()
}

// ParseRequest parses a PKCS#10 request in PEM. It does not check the signature.
func ParseRequest(data []byte) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, errors.New("PEM block type must be CERTIFICATE REQUEST")
	}
	return x509.ParseCertificateRequest(block.Bytes)
}

// certificateFault returns the error of issued certificates, or nil.
func certificateFault(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	found := false
	for {
		block, rest := pem.Decode(data)
		if block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return fmt.Errorf("only CERTIFICATE PEM blocks are allowed, found %q", block.Type)
		}
		if len(block.Headers) != 0 {
			return errors.New("no PEM block headers are permitted")
		}
		certificates, err := x509.ParseCertificates(block.Bytes)
		if err != nil {
			return err
		}
		if len(certificates) == 0 {
			return errors.New("found CERTIFICATE PEM block containing 0 certificates")
		}
		found, data = true, rest
	}
	if !found {
		return errors.New("must contain at least one CERTIFICATE PEM block")
	}
	return nil
}

// conditionLeniency has the rules about conditions that are not applied to an update because the stored
// request violates them.
type conditionLeniency struct {
	noType, duplicates, approvedAndDenied bool
}

func conditionFailings(list []certificatesv1.CertificateSigningRequestCondition) conditionLeniency {
	var l conditionLeniency
	seen := map[certificatesv1.RequestConditionType]bool{}
	for _, c := range list {
		l.noType = l.noType || c.Type == ""
		l.duplicates = l.duplicates || seen[c.Type]
		seen[c.Type] = true
	}
	l.approvedAndDenied = seen[certificatesv1.CertificateApproved] && seen[certificatesv1.CertificateDenied]
	return l
}

func signingConditionRules(at *validation.Path, list []certificatesv1.CertificateSigningRequestCondition, lenient conditionLeniency) {
	approved, denied := false, false
	var seen validation.Unique[certificatesv1.RequestConditionType]
	for i, c := range list {
		at := at.Index(i)
		statuses := []corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionTrue, corev1.ConditionUnknown}
		switch c.Type {
		case "":
			if !lenient.noType {
				at.Child("type").Required("")
			}
		case certificatesv1.CertificateApproved, certificatesv1.CertificateDenied, certificatesv1.CertificateFailed:
			statuses = []corev1.ConditionStatus{corev1.ConditionTrue}
		}
		validation.Enum(at.Child("status"), c.Status, statuses...)
		approved = approved || c.Type == certificatesv1.CertificateApproved
		denied = denied || c.Type == certificatesv1.CertificateDenied
		if !lenient.duplicates {
			seen.Add(at.Child("type"), c.Type)
		}
		if approved && denied && !lenient.approvedAndDenied &&
			(c.Type == certificatesv1.CertificateApproved || c.Type == certificatesv1.CertificateDenied) {
			at.Parent.InvalidOrigin("zeroOrOneOf", c.Type, "Approved and Denied conditions are mutually exclusive")
		}
	}
}

// signingAccess selects the part of the status that an update may change.
type signingAccess struct {
	approval, certificate bool
}

func signingChanges(access signingAccess) func(at *validation.Path, obj, old *certificatesv1.CertificateSigningRequest) {
	return func(at *validation.Path, obj, old *certificatesv1.CertificateSigningRequest) {
		signingRulesFrom(at, obj, old)
		conditions := at.Child("status").Child("conditions")
		for _, t := range []certificatesv1.RequestConditionType{
			certificatesv1.CertificateApproved, certificatesv1.CertificateDenied, certificatesv1.CertificateFailed,
		} {
			if len(conditionsOf(obj, t)) < len(conditionsOf(old, t)) {
				conditions.Forbidden(fmt.Sprintf("updates may not remove a condition of type %q", t))
			}
		}
		if !access.approval {
			approvalUnchanged(conditions, obj, old)
		}
		if bytes.Equal(obj.Status.Certificate, old.Status.Certificate) {
			return
		}
		switch certificate := at.Child("status").Child("certificate"); {
		case !access.certificate:
			certificate.Forbidden("updates may not set certificate content")
		case len(old.Status.Certificate) > 0:
			certificate.Forbidden("updates may not modify existing certificate content")
		}
	}
}

// approvalUnchanged validates that an update neither adds nor changes an approval or denial.
func approvalUnchanged(at *validation.Path, obj, old *certificatesv1.CertificateSigningRequest) {
	for _, t := range []certificatesv1.RequestConditionType{certificatesv1.CertificateApproved, certificatesv1.CertificateDenied} {
		now, before := conditionsOf(obj, t), conditionsOf(old, t)
		switch {
		case len(now) > len(before):
			at.Forbidden(fmt.Sprintf("updates may not add a condition of type %q", t))
		case len(now) == len(before) && !equality.Semantic.DeepEqual(now, before):
			at.Forbidden(fmt.Sprintf("updates may not modify a condition of type %q\n%v", t, validation.InternalDiff(before, now)))
		}
	}
}

func conditionsOf(r *certificatesv1.CertificateSigningRequest,
	t certificatesv1.RequestConditionType) []certificatesv1.CertificateSigningRequestCondition {
	var found []certificatesv1.CertificateSigningRequestCondition
	for _, c := range r.Status.Conditions {
		if c.Type == t {
			found = append(found, c)
		}
	}
	return found
}
