package kinds

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/kinds/certificates"
	"github.com/miniapiserver/miniapiserver/request"
)

// certificateTime returns the time at which the certificates of these tests are issued.
func certificateTime() time.Time { return time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC) }

// certified returns a certificate for a key, signed by signer.
func certified(t *testing.T, key crypto.PublicKey, signer crypto.Signer, change func(*x509.Certificate)) string {
	t.Helper()
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "c"},
		NotBefore: certificateTime(), NotAfter: certificateTime().Add(2 * time.Hour), BasicConstraintsValid: true,
	}
	if change != nil {
		change(c)
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key, signer)
	if err != nil {
		t.Fatal(err)
	}
	return pemBlock("CERTIFICATE", der)
}

func pemBlock(kind string, data []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}))
}

func ellipticKey(t *testing.T, c elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(c, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func stubRequest(t *testing.T, key crypto.Signer) []byte {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func certificateRequest(stub []byte) *certificatesv1beta1.PodCertificateRequest {
	return &certificatesv1beta1.PodCertificateRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "ns"},
		Spec: certificatesv1beta1.PodCertificateRequestSpec{
			SignerName: "example.com/s", PodName: "p", PodUID: "u1", ServiceAccountName: "sa", ServiceAccountUID: "u2",
			NodeName: "n", NodeUID: "u3", MaxExpirationSeconds: new(int32(7200)), StubPKCS10Request: stub,
		},
	}
}

func TestPodCertificateRules(t *testing.T) {
	key := ellipticKey(t, elliptic.P256())
	good := stubRequest(t, key)
	proof := func(key crypto.Signer, uid string) (public, signature []byte) {
		public, err := x509.MarshalPKIXPublicKey(key.Public())
		if err != nil {
			t.Fatal(err)
		}
		digest := sha256.Sum256([]byte(uid))
		switch key.(type) {
		case ed25519.PrivateKey:
			signature, err = key.Sign(rand.Reader, []byte(uid), crypto.Hash(0))
		case *rsa.PrivateKey:
			signature, err = key.Sign(rand.Reader, digest[:], &rsa.PSSOptions{Hash: crypto.SHA256})
		default:
			signature, err = key.Sign(rand.Reader, digest[:], crypto.SHA256)
		}
		if err != nil {
			t.Fatal(err)
		}
		return public, signature
	}
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	weak, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	proven := func(key crypto.Signer, uid string) func(*certificatesv1beta1.PodCertificateRequestSpec) {
		return func(s *certificatesv1beta1.PodCertificateRequestSpec) {
			s.StubPKCS10Request = nil
			s.PKIXPublicKey, s.ProofOfPossession = proof(key, uid)
		}
	}
	broken := slices.Clone(good)
	broken[len(broken)-1] ^= 1
	type spec = certificatesv1beta1.PodCertificateRequestSpec
	for name, c := range map[string]struct {
		change func(*spec)
		want   string
	}{
		"good":         {func(*spec) {}, ""},
		"edwards":      {func(s *spec) { s.StubPKCS10Request = stubRequest(t, edwards) }, ""},
		"signature":    {func(s *spec) { s.StubPKCS10Request = broken }, "spec.stubPKCS10Request: Invalid value: invalid signature"},
		"no request":   {func(s *spec) { s.StubPKCS10Request = []byte("x") }, "spec.stubPKCS10Request: Invalid value: must be a valid PKCS#10 CSR"},
		"too long":     {func(s *spec) { s.StubPKCS10Request = make([]byte, 10241) }, "spec.stubPKCS10Request: Too long: may not be more than 10240 bytes"},
		"curve":        {func(s *spec) { s.StubPKCS10Request = stubRequest(t, ellipticKey(t, elliptic.P224())) }, `"curve P-224": elliptic public keys must use curve P256, P384, or P521`},
		"weak":         {func(s *spec) { s.StubPKCS10Request = stubRequest(t, weak) }, `"2048-bit modulus": RSA keys must have modulus size 3072 or 4096`},
		"no key":       {func(s *spec) { s.StubPKCS10Request = nil }, "spec: Invalid value: exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set"},
		"two keys":     {func(s *spec) { s.PKIXPublicKey = []byte("k") }, "exactly one of (stubPKCS10Request)"},
		"proven":       {proven(key, "u1"), ""},
		"proven too":   {proven(edwards, "u1"), ""},
		"of another":   {proven(key, "u2"), "spec.proofOfPossession: Invalid value: could not verify proof-of-possession signature"},
		"weak, proven": {proven(weak, "u1"), "spec.pkixPublicKey: Invalid value: \"2048-bit modulus\""},
		"no PKIX":      {func(s *spec) { proven(key, "u1")(s); s.PKIXPublicKey = []byte("k") }, "must be a valid PKIX-serialized public key"},
		"signer":       {func(s *spec) { s.SignerName = "x" }, "spec.signerName: Invalid value: \"x\": must be a fully qualified domain and path of the form 'example.com/signer-name'"},
		"pod":          {func(s *spec) { s.PodName, s.PodUID = "P", "" }, "spec.podUID: Invalid value: \"\": must not be empty"},
		"long uid": {func(s *spec) {
			s.NodeUID = types.UID(strings.Repeat("u", 129))
		}, "spec.nodeUID: Too long: may not be more than 128 bytes"},
		"unbounded":   {func(s *spec) { s.MaxExpirationSeconds = nil }, "spec.maxExpirationSeconds: Required value: must be set"},
		"long":        {func(s *spec) { *s.MaxExpirationSeconds = 7862401 }, "must be in the range [3600, 7862400]"},
		"long, ours":  {func(s *spec) { s.SignerName, *s.MaxExpirationSeconds = "kubernetes.io/s", 86401 }, "must be in the range [3600, 86400]"},
		"annotations": {func(s *spec) { s.UnverifiedUserAnnotations = map[string]string{"plain": "v"} }, "spec.unverifiedUserAnnotations: Invalid value: \"plain\": must be a domain-prefixed key (such as \"acme.io/foo\")"},
	} {
		t.Run(name, func(t *testing.T) {
			r := certificateRequest(good)
			c.change(&r.Spec)
			wantFaults(t, besideMetadata(certificates.PodCertificateRequest(certificateTime).CheckCreate(nil, r)), c.want)
		})
	}
	changed := certificateRequest(good)
	changed.Spec.PodName = "q"
	wantFaults(t, besideMetadata(checkUpdate(certificates.PodCertificateRequest(certificateTime), nil, changed, certificateRequest(good))), "field is immutable")
}

// issued returns a request with an issued certificate chain.
func issued(stub []byte, chain string) *certificatesv1beta1.PodCertificateRequest {
	r := certificateRequest(stub)
	at := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: certificateTime().Add(d)} }
	r.Status = certificatesv1beta1.PodCertificateRequestStatus{
		CertificateChain: chain, NotBefore: at(0), NotAfter: at(2 * time.Hour), BeginRefreshAt: at(time.Hour),
		Conditions: decided(certificatesv1beta1.PodCertificateRequestConditionTypeIssued),
	}
	return r
}

func decided(how string) []metav1.Condition {
	return []metav1.Condition{{Type: how, Status: metav1.ConditionTrue, Reason: "R", Message: "m", LastTransitionTime: metav1.NewTime(certificateTime())}}
}

func TestPodCertificateStatusRules(t *testing.T) {
	key, signer := ellipticKey(t, elliptic.P256()), ellipticKey(t, elliptic.P256())
	stub := stubRequest(t, key)
	leaf := certified(t, key.Public(), signer, nil)
	chain := leaf + certified(t, signer.Public(), signer, nil)
	check := func(r *certificatesv1beta1.PodCertificateRequest, old *certificatesv1beta1.PodCertificateRequest, now time.Time, want string) {
		t.Helper()
		kind := certificates.PodCertificateRequest(func() time.Time { return now })
		wantFaults(t, besideMetadata(checkStatus(kind, nil, r, old)), want)
	}
	fresh := certificateRequest(stub)
	check(issued(stub, chain), fresh, certificateTime(), "")
	check(fresh, fresh, certificateTime(), "")
	check(issued(stub, chain), fresh, certificateTime().Add(6*time.Minute), "must be set to within 5 minutes of kube-apiserver's current time")
	type status = certificatesv1beta1.PodCertificateRequestStatus
	for name, c := range map[string]struct {
		change func(*status)
		want   string
	}{
		"nothing":      {func(s *status) { s.CertificateChain = "x" }, "issued certificate chain must contain at least one certificate"},
		"other block":  {func(s *status) { s.CertificateChain = pemBlock("KEY", nil) }, "issued certificate chain must consist entirely of CERTIFICATE PEM blocks"},
		"no leaf":      {func(s *status) { s.CertificateChain = pemBlock("CERTIFICATE", []byte("x")) }, "leaf certificate does not parse as valid X.509"},
		"other key":    {func(s *status) { s.CertificateChain = certified(t, signer.Public(), signer, nil) }, "leaf certificate was not issued to the requested public key"},
		"no times":     {func(s *status) { s.NotBefore, s.NotAfter, s.BeginRefreshAt = nil, nil, nil }, "status.beginRefreshAt: Required value: must be present and in the range [notbefore+10min, notafter-10min]"},
		"other start":  {func(s *status) { s.NotBefore.Time = s.NotBefore.Add(time.Second) }, "must be set to the NotBefore time encoded in the leaf certificate"},
		"other end":    {func(s *status) { s.NotAfter.Time = s.NotAfter.Add(time.Second) }, "must be set to the NotAfter time encoded in the leaf certificate"},
		"early":        {func(s *status) { s.BeginRefreshAt.Time = s.NotBefore.Add(9 * time.Minute) }, "must be at least 10 minutes after status.notBefore"},
		"late":         {func(s *status) { s.BeginRefreshAt.Time = s.NotAfter.Add(-9 * time.Minute) }, "must be at least 10 minutes before status.notAfter"},
		"second block": {func(s *status) { s.CertificateChain = leaf + pemBlock("KEY", nil) }, "issued certificate chain must consist entirely of CERTFICATE PEM blocks"},
		"second":       {func(s *status) { s.CertificateChain = leaf + pemBlock("CERTIFICATE", []byte("x")) }, "intermediate certificate does not parse as valid X.509"},
		"names": {func(s *status) {
			s.CertificateChain = certified(t, key.Public(), signer, func(c *x509.Certificate) { c.DNSNames = []string{"a..b"} })
		}, "leaf certificate"},
		"short": {func(s *status) {
			s.CertificateChain = certified(t, key.Public(), signer, func(c *x509.Certificate) { c.NotAfter = c.NotBefore.Add(time.Minute) })
			s.NotAfter.Time = s.NotBefore.Add(time.Minute)
		}, "leaf certificate lifetime must be >= 1 hour"},
		"long": {func(s *status) {
			s.CertificateChain = certified(t, key.Public(), signer, func(c *x509.Certificate) { c.NotAfter = c.NotBefore.Add(3 * time.Hour) })
			s.NotAfter.Time = s.NotBefore.Add(3 * time.Hour)
		}, "leaf certificate lifetime must be <= spec.maxExpirationSeconds (7200)"},
		"denied":       {func(s *status) { s.Conditions[0].Type = "Denied" }, "non-condition status fields must be empty when denying or failing the PodCertificateRequest"},
		"undecided":    {func(s *status) { s.Conditions = nil }, `status is immutable unless transitioning to "Issued", "Denied", or "Failed"`},
		"unknown":      {func(s *status) { s.Conditions[0].Type = "Approved" }, `status.conditions.[0].type: Unsupported value: "Approved": supported values: "Issued", "Denied", "Failed"`},
		"false":        {func(s *status) { s.Conditions[0].Status = "False" }, `status.conditions.[0].status: Unsupported value: "False": supported values: "True"`},
		"both":         {func(s *status) { s.Conditions = append(s.Conditions, decided("Failed")...) }, `status.conditions.[1].type: Invalid value: "Failed": There may be at most one condition`},
		"too long":     {func(s *status) { s.CertificateChain = string(make([]byte, 102401)) }, "status.certificateChain: Too long: may not be more than 102400 bytes"},
		"no reason":    {func(s *status) { s.Conditions[0].Reason = "" }, "status.conditions[0].reason: Required value"},
		"second round": {func(s *status) { s.BeginRefreshAt.Time = s.BeginRefreshAt.Add(time.Minute) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := issued(stub, chain)
			c.change(&r.Status)
			check(r, fresh, certificateTime(), c.want)
		})
	}
	again := issued(stub, chain)
	again.Status.BeginRefreshAt.Time = again.Status.BeginRefreshAt.Add(time.Minute)
	check(again, issued(stub, chain), certificateTime(), "status: Invalid value: immutable after PodCertificateRequest is issued, denied, or failed")
}

// access has the names of the signers for which the user may sign.
type access []string

func (a access) Authorize(_ context.Context, info *request.Info) error {
	if info.Verb == "sign" && info.Resource == "signers" && slices.Contains(a, info.Name) {
		return nil
	}
	return errors.New("no")
}

func (access) Namespace(context.Context, string) (*corev1.Namespace, error) {
	return nil, errors.New("no")
}

func TestWhoMaySign(t *testing.T) {
	stub := stubRequest(t, ellipticKey(t, elliptic.P256()))
	denied := certificateRequest(stub)
	denied.Status.Conditions = decided("Denied")
	half := certificateRequest(stub)
	half.Status.CertificateChain = "x"
	ctx := request.With(t.Context(), &request.Scope{User: &request.User{Name: "joe"}})
	const refused = `spec.signerName: Forbidden: User "joe" is not permitted to "sign" for signer "example.com/s"`
	for name, c := range map[string]struct {
		obj  *certificatesv1beta1.PodCertificateRequest
		may  access
		want string
	}{
		"nobody":      {denied, nil, refused},
		"the signer":  {denied, access{"example.com/s"}, ""},
		"its domain":  {denied, access{"example.com/*"}, ""},
		"another":     {denied, access{"example.com/t"}, refused},
		"no change":   {certificateRequest(stub), nil, ""},
		"other fault": {half, nil, ""}, // the rules check the chain
	} {
		r := certificates.PodCertificateRequest(certificateTime)
		old := certificateRequest(stub)
		for _, obj := range []api.Object{c.obj, old} {
			obj.SetName("r")
			obj.SetNamespace("ns")
			obj.SetResourceVersion("1")
		}
		w := r.NewWrite(api.Attempt{Context: ctx, Access: c.may, Status: true}, c.obj, old)
		for _, check := range r.Status.Checks {
			check(w)
		}
		got := slices.DeleteFunc(w.Errors, func(err *field.Error) bool { return err.Type != field.ErrorTypeForbidden })
		if text := got.ToAggregate(); (c.want == "") != (text == nil) || text != nil && !strings.Contains(text.Error(), c.want) {
			t.Errorf("%s: got %v", name, text)
		}
	}
}

// TestPodCertificateVersions checks that v1 does not have the older form of the key material, as in kube-apiserver.
func TestPodCertificateVersions(t *testing.T) {
	kind := certificates.PodCertificateRequest(certificateTime)
	hub := certificateRequest(nil)
	hub.Spec.PKIXPublicKey, hub.Spec.ProofOfPossession = []byte("key"), []byte("proof")
	obj, err := kind.As(kind.Version(certificatesv1.SchemeGroupVersion), hub)
	if err != nil || len(obj.GetAnnotations()) > 0 {
		t.Errorf("%v, annotations %v", err, obj.GetAnnotations())
	}
}
