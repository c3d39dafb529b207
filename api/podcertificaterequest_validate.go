package api

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/types"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Maximum sizes of the fields of a request, in bytes.
const (
	maxUID           = 128
	maxKeyMaterial   = 10 << 10
	maxCertificates  = 100 << 10
	minRSABits       = 3072
	maxRSABits       = 4096
	kubernetesSigner = "kubernetes.io"
)

func podCertificateRules(at *place, r *certificatesv1beta1.PodCertificateRequest) {
	spec, s := at.of("spec"), &r.Spec
	signerName(spec.of("signerName"), s.SignerName)
	userAnnotationRules(spec.of("unverifiedUserAnnotations"), s.UnverifiedUserAnnotations)
	format(spec.of("podName"), s.PodName, dnsSubdomain)
	boundUID(spec.of("podUID"), s.PodUID)
	format(spec.of("serviceAccountName"), s.ServiceAccountName, dnsSubdomain)
	boundUID(spec.of("serviceAccountUID"), s.ServiceAccountUID)
	format(spec.of("nodeName"), string(s.NodeName), dnsSubdomain)
	boundUID(spec.of("nodeUID"), s.NodeUID)
	if s.MaxExpirationSeconds == nil {
		spec.of("maxExpirationSeconds").required("must be set")
		return
	}
	low, high := int32(minCertificateSeconds), int32(maxCertificateSeconds)
	if isKubernetesSigner(s.SignerName) {
		high = defaultCertificateSeconds
	}
	if is := *s.MaxExpirationSeconds; is < low || is > high {
		spec.of("maxExpirationSeconds").invalid(is, fmt.Sprintf("must be in the range [%d, %d]", low, high))
	}
	keyMaterialRules(spec, s)
}

func isKubernetesSigner(name string) bool {
	domain, _, _ := strings.Cut(name, "/")
	return domain == kubernetesSigner || strings.HasSuffix(domain, "."+kubernetesSigner)
}

// userAnnotationRules are for annotations that a pod's author passes on: each key
// has a domain.
func userAnnotationRules(at *place, annotations map[string]string) {
	for _, key := range sortedKeys(annotations) {
		at.add(utilvalidation.IsDomainPrefixedKey(at.path(), strings.ToLower(key))...)
	}
	if err := validation.ValidateAnnotationsSize(annotations); err != nil {
		at.tooLong(validation.TotalAnnotationSizeLimitB)
	}
}

func boundUID(at *place, uid types.UID) {
	if uid == "" {
		at.invalid(uid, "must not be empty")
	}
	if len(uid) > maxUID {
		at.tooLong(maxUID)
	}
}

// keyMaterialRules: a key is given in an empty signing request or, as it was once,
// alone with a signature.
func keyMaterialRules(spec *place, s *certificatesv1beta1.PodCertificateRequestSpec) {
	stub, key, proof := len(s.StubPKCS10Request) > 0, len(s.PKIXPublicKey) > 0, len(s.ProofOfPossession) > 0
	switch {
	case stub && !key && !proof:
		stubRequestRules(spec.of("stubPKCS10Request"), s.StubPKCS10Request)
	case !stub && key && proof:
		provenKeyRules(spec, s)
	default:
		spec.invalid(field.OmitValueType{}, "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set")
	}
}

func stubRequestRules(at *place, stub []byte) {
	if len(stub) > maxKeyMaterial {
		at.tooLong(maxKeyMaterial)
		return
	}
	parsed, err := x509.ParseCertificateRequest(stub)
	if err != nil {
		at.invalid(field.OmitValueType{}, "must be a valid PKCS#10 CSR")
		return
	}
	if !publicKeyRules(at, parsed.PublicKey, field.OmitValueType{}, "elliptic public keys must use curve P256, P384, or P521") {
		return
	}
	if parsed.CheckSignature() != nil {
		at.invalid(field.OmitValueType{}, "invalid signature")
	}
}

// publicKeyRules refuses keys that are of an unknown type or too weak. shown is
// what a message about an unknown type shows.
func publicKeyRules(at *place, key crypto.PublicKey, shown any, curves string) bool {
	switch key := key.(type) {
	case ed25519.PublicKey:
		return true
	case *ecdsa.PublicKey:
		if slices.Contains([]elliptic.Curve{elliptic.P256(), elliptic.P384(), elliptic.P521()}, key.Curve) {
			return true
		}
		at.invalid("curve "+key.Curve.Params().Name, curves)
	case *rsa.PublicKey:
		bits := key.Size() * 8
		if bits == minRSABits || bits == maxRSABits {
			return true
		}
		at.invalid(fmt.Sprintf("%d-bit modulus", bits), "RSA keys must have modulus size 3072 or 4096")
	default:
		at.invalid(shown, "unknown public key type; supported types are Ed25519, ECDSA, and RSA")
	}
	return false
}

// provenKeyRules checks a public key and the proof that the requester has the private
// key: a signature of the UID of the pod.
func provenKeyRules(spec *place, s *certificatesv1beta1.PodCertificateRequestSpec) {
	at, proof := spec.of("pkixPublicKey"), spec.of("proofOfPossession")
	if len(s.PKIXPublicKey) > maxKeyMaterial {
		at.tooLong(maxKeyMaterial)
		return
	}
	if len(s.ProofOfPossession) > maxKeyMaterial {
		proof.tooLong(maxKeyMaterial)
		return
	}
	key, err := x509.ParsePKIXPublicKey(s.PKIXPublicKey)
	if err != nil {
		at.invalid(s.PKIXPublicKey, "must be a valid PKIX-serialized public key")
		return
	}
	if !publicKeyRules(at, key, s.PKIXPublicKey, "elliptic public keys must use curve P256 or P384") {
		return
	}
	if !signed(key, []byte(s.PodUID), s.ProofOfPossession) {
		proof.invalid(field.OmitValueType{}, "could not verify proof-of-possession signature")
	}
}

// signed reports whether a signature of data was made with the other half of key.
func signed(key crypto.PublicKey, data, signature []byte) bool {
	digest := sha256.Sum256(data)
	switch key := key.(type) {
	case ed25519.PublicKey:
		return ed25519.Verify(key, data, signature)
	case *ecdsa.PublicKey:
		return ecdsa.VerifyASN1(key, digest[:], signature)
	case *rsa.PublicKey:
		return rsa.VerifyPSS(key, crypto.SHA256, digest[:], signature, nil) == nil
	}
	return false
}

func podCertificateChanges(at *place, is, was *certificatesv1beta1.PodCertificateRequest) {
	fixed(at.of("spec"), is.Spec, was.Spec)
}
