package certificates

import (
	"context"
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
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/request"
)

// defaultCertificateSeconds is the default of maxExpirationSeconds.
const defaultCertificateSeconds int32 = 24 * 60 * 60

// PodCertificateRequest describes the kind PodCertificateRequest, which asks a signer for a
// certificate for a pod. now is the clock for the validation of certificates.
func PodCertificateRequest(now func() time.Time) *api.Resource {
	return api.NewResource(api.Kind[*certificatesv1beta1.PodCertificateRequest]{
		Names: api.Names{
			Name: "podcertificaterequests", Singular: "podcertificaterequest", Kind: "PodCertificateRequest",
			Namespaced: true,
		},
		Versions: podCertificateVersions(),
		Default: func(obj *certificatesv1beta1.PodCertificateRequest) {
			api.SetDefault(&obj.Spec.MaxExpirationSeconds, defaultCertificateSeconds)
		},
		Storage:                api.Storage{Prefix: "podcertificaterequests"},
		RequireResourceVersion: true,
		Checks: api.Checks(
			api.Metadata,
			api.Changes(podCertificateChanges),
			api.OnCreate(api.Rules(podCertificateRules)),
			api.Declared,
		),
		Status: api.NewStatus(api.KeepMetadataOf,
			api.Metadata, api.Changes(podCertificateStatusChanges(now)), api.IfValid(api.WithAccess(checkSigner)), api.Declared),
		Selectable: func(obj *certificatesv1beta1.PodCertificateRequest) map[string]string {
			s := &obj.Spec
			return map[string]string{"spec.signerName": s.SignerName, "spec.podName": s.PodName, "spec.nodeName": string(s.NodeName)}
		},
		Reset: map[string][]string{"status": {"metadata", "spec"}},
		Table: api.Rows(podCertificateRequestRow),
	})
}

// podCertificateVersions returns the versions of the kind. The hub is v1beta1, because v1 does not
// have the older form of the key material, which clients of v1 do not see.
func podCertificateVersions() []api.Version {
	v1 := api.SameFields[certificatesv1beta1.PodCertificateRequest, certificatesv1.PodCertificateRequest](
		certificatesv1.SchemeGroupVersion)
	versions := append(api.Preview[certificatesv1beta1.PodCertificateRequest](certificatesv1beta1.SchemeGroupVersion, ""), v1)
	for i := range versions {
		api.WithFieldLabels(versions[i:], api.NameLabel, "spec.signerName", "spec.podName", "spec.nodeName")
	}
	return api.WithGate(versions, features.PodCertificateRequest)
}

// checkSigner refuses a status update unless the user may sign for the signer of the request
// or for all signers of its domain.
func checkSigner(ctx context.Context, access api.Access, obj, old *certificatesv1beta1.PodCertificateRequest) field.ErrorList {
	if equality.Semantic.DeepEqual(obj.Status, old.Status) {
		return nil
	}
	signer := old.Spec.SignerName
	domain, _, _ := strings.Cut(signer, "/")
	for _, name := range []string{signer, domain + "/*"} {
		err := access.Authorize(ctx, &request.Info{
			IsResource: true, Verb: "sign", Group: certificatesv1.GroupName, Version: "*", Resource: "signers", Name: name,
		})
		if err == nil {
			return nil
		}
	}
	user := ""
	if u := request.From(ctx).User; u != nil {
		user = u.Name
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec", "signerName"),
		fmt.Sprintf("User %q is not permitted to \"sign\" for signer %q", user, signer))}
}

func podCertificateRequestRow(row *table.Row, r *certificatesv1beta1.PodCertificateRequest) {
	state := "Pending"
	for _, c := range r.Status.Conditions {
		if validation.IsOneOf(c.Type, finalCertificateConditions()...) {
			state = c.Type
		}
	}
	row.Name(r.Name)
	row.Text("PodName", ".spec.podName", r.Spec.PodName)
	row.Text("ServiceAccountName", ".spec.serviceAccountName", r.Spec.ServiceAccountName)
	row.Text("NodeName", ".spec.nodeName", string(r.Spec.NodeName))
	row.Text("SignerName", ".spec.signerName", r.Spec.SignerName)
	row.Text("State", "Is the request Pending, Issued, Denied, or Failed?", state)
	row.Text("UnverifiedUserAnnotations", ".spec.unverifiedUserAnnotations",
		labels.FormatLabels(r.Spec.UnverifiedUserAnnotations))
}

// Maximum sizes of the fields of a request, in bytes.
const (
	maxUID           = 128
	maxKeyMaterial   = 10 << 10
	maxCertificates  = 100 << 10
	minRSABits       = 3072
	maxRSABits       = 4096
	kubernetesSigner = "kubernetes.io"
)

func podCertificateRules(at *validation.Path, r *certificatesv1beta1.PodCertificateRequest) {
	spec, s := at.Child("spec"), &r.Spec
	SignerName(spec.Child("signerName"), s.SignerName)
	UserAnnotationRules(spec.Child("unverifiedUserAnnotations"), s.UnverifiedUserAnnotations)
	validation.Format(spec.Child("podName"), s.PodName, validation.DNSSubdomain)
	boundUID(spec.Child("podUID"), s.PodUID)
	validation.Format(spec.Child("serviceAccountName"), s.ServiceAccountName, validation.DNSSubdomain)
	boundUID(spec.Child("serviceAccountUID"), s.ServiceAccountUID)
	validation.Format(spec.Child("nodeName"), string(s.NodeName), validation.DNSSubdomain)
	boundUID(spec.Child("nodeUID"), s.NodeUID)
	if s.MaxExpirationSeconds == nil {
		spec.Child("maxExpirationSeconds").Required("must be set")
		return
	}
	low, high := int32(MinCertificateSeconds), int32(MaxCertificateSeconds)
	if isKubernetesSigner(s.SignerName) {
		high = defaultCertificateSeconds
	}
	if seconds := *s.MaxExpirationSeconds; seconds < low || seconds > high {
		spec.Child("maxExpirationSeconds").Invalid(seconds, fmt.Sprintf("must be in the range [%d, %d]", low, high))
	}
	keyMaterialRules(spec, s)
}

func isKubernetesSigner(name string) bool {
	domain, _, _ := strings.Cut(name, "/")
	return domain == kubernetesSigner || strings.HasSuffix(domain, "."+kubernetesSigner)
}

// UserAnnotationRules validates annotations from the author of the pod, whose keys must have a
// domain.
func UserAnnotationRules(at *validation.Path, annotations map[string]string) {
	for _, key := range validation.SortedKeys(annotations) {
		at.Add(utilvalidation.IsDomainPrefixedKey(at.ToField(), strings.ToLower(key))...)
	}
	if err := apivalidation.ValidateAnnotationsSize(annotations); err != nil {
		at.TooLong(apivalidation.TotalAnnotationSizeLimitB)
	}
}

func boundUID(at *validation.Path, uid types.UID) {
	if uid == "" {
		at.Invalid(uid, "must not be empty")
	}
	if len(uid) > maxUID {
		at.TooLong(maxUID)
	}
}

// keyMaterialRules validates the public key, which is in a signing request without other
// content or, in the older form, in a field beside a proof of possession.
func keyMaterialRules(spec *validation.Path, s *certificatesv1beta1.PodCertificateRequestSpec) {
	stub, key, proof := len(s.StubPKCS10Request) > 0, len(s.PKIXPublicKey) > 0, len(s.ProofOfPossession) > 0
	switch {
	case stub && !key && !proof:
		stubRequestRules(spec.Child("stubPKCS10Request"), s.StubPKCS10Request)
	case !stub && key && proof:
		provenKeyRules(spec, s)
	default:
		spec.Invalid(field.OmitValueType{}, "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set")
	}
}

func stubRequestRules(at *validation.Path, stub []byte) {
	if len(stub) > maxKeyMaterial {
		at.TooLong(maxKeyMaterial)
		return
	}
	parsed, err := x509.ParseCertificateRequest(stub)
	if err != nil {
		at.Invalid(field.OmitValueType{}, "must be a valid PKCS#10 CSR")
		return
	}
	if !publicKeyRules(at, parsed.PublicKey, field.OmitValueType{}, "elliptic public keys must use curve P256, P384, or P521") {
		return
	}
	if parsed.CheckSignature() != nil {
		at.Invalid(field.OmitValueType{}, "invalid signature")
	}
}

// publicKeyRules refuses keys of an unknown type and weak keys. shown is the value in the
// error for an unknown type.
func publicKeyRules(at *validation.Path, key crypto.PublicKey, shown any, curves string) bool {
	switch key := key.(type) {
	case ed25519.PublicKey:
		return true
	case *ecdsa.PublicKey:
		if slices.Contains([]elliptic.Curve{elliptic.P256(), elliptic.P384(), elliptic.P521()}, key.Curve) {
			return true
		}
		at.Invalid("curve "+key.Curve.Params().Name, curves)
	case *rsa.PublicKey:
		bits := key.Size() * 8
		if bits == minRSABits || bits == maxRSABits {
			return true
		}
		at.Invalid(fmt.Sprintf("%d-bit modulus", bits), "RSA keys must have modulus size 3072 or 4096")
	default:
		at.Invalid(shown, "unknown public key type; supported types are Ed25519, ECDSA, and RSA")
	}
	return false
}

// provenKeyRules validates a public key and the proof that the requester has the private key:
// a signature of the pod's UID.
func provenKeyRules(spec *validation.Path, s *certificatesv1beta1.PodCertificateRequestSpec) {
	at, proof := spec.Child("pkixPublicKey"), spec.Child("proofOfPossession")
	if len(s.PKIXPublicKey) > maxKeyMaterial {
		at.TooLong(maxKeyMaterial)
		return
	}
	if len(s.ProofOfPossession) > maxKeyMaterial {
		proof.TooLong(maxKeyMaterial)
		return
	}
	key, err := x509.ParsePKIXPublicKey(s.PKIXPublicKey)
	if err != nil {
		at.Invalid(s.PKIXPublicKey, "must be a valid PKIX-serialized public key")
		return
	}
	if !publicKeyRules(at, key, s.PKIXPublicKey, "elliptic public keys must use curve P256 or P384") {
		return
	}
	if !isSignedBy(key, []byte(s.PodUID), s.ProofOfPossession) {
		proof.Invalid(field.OmitValueType{}, "could not verify proof-of-possession signature")
	}
}

// isSignedBy reports whether a signature of data was made with the private key of key.
func isSignedBy(key crypto.PublicKey, data, signature []byte) bool {
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

func podCertificateChanges(at *validation.Path, obj, old *certificatesv1beta1.PodCertificateRequest) {
	validation.Immutable(at.Child("spec"), obj.Spec, old.Spec)
}

// Bounds of the lifetime of pod certificates, in seconds.
const (
	MinCertificateSeconds = 60 * 60
	MaxCertificateSeconds = 91 * 24 * 60 * 60
)
