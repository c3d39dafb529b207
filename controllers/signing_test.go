package controllers_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/controllers"
	"github.com/miniapiserver/miniapiserver/server"
)

func conditionOf(r *certificatesv1.CertificateSigningRequest, t certificatesv1.RequestConditionType) *certificatesv1.CertificateSigningRequestCondition {
	i := slices.IndexFunc(r.Status.Conditions, func(c certificatesv1.CertificateSigningRequestCondition) bool { return c.Type == t })
	if i < 0 {
		return nil
	}
	return &r.Status.Conditions[i]
}

// decide creates a request and approves or denies it.
func decide(t *testing.T, c kubernetes.Interface, name string, spec certificatesv1.CertificateSigningRequestSpec, decision certificatesv1.RequestConditionType) {
	t.Helper()
	requests := c.CertificatesV1().CertificateSigningRequests()
	r, err := requests.Create(t.Context(), &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r.Status.Conditions = append(r.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{Type: decision, Status: corev1.ConditionTrue, Reason: "Tested"})
	if _, err := requests.UpdateApproval(t.Context(), name, r, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// awaitSigned waits until a request has a certificate or has failed, and returns it.
func awaitSigned(t *testing.T, c kubernetes.Interface, name string) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	var r *certificatesv1.CertificateSigningRequest
	eventually(t, name, func(ctx context.Context) (ok bool, err error) {
		r, err = c.CertificatesV1().CertificateSigningRequests().Get(ctx, name, metav1.GetOptions{})
		return err == nil && (len(r.Status.Certificate) > 0 || conditionOf(r, certificatesv1.CertificateFailed) != nil), err
	})
	return r
}

// TestSigning has a request signed and authenticates with the certificate. Other requests
// fail or are not signed.
func TestSigning(t *testing.T) {
	s, c := start(t, server.Options{})
	csr, key := controllers.NewRequest(t, controllers.Subject("ada", "analysts"))
	hour := int32(3600)
	client := []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth, certificatesv1.UsageDigitalSignature}
	// Requests that are not signed are created first, so that the controller has skipped
	// them when the last one is signed.
	decide(t, c, "denied", certificatesv1.CertificateSigningRequestSpec{Request: csr, Usages: client, SignerName: certificatesv1.KubeAPIServerClientSignerName}, certificatesv1.CertificateDenied)
	decide(t, c, "foreign", certificatesv1.CertificateSigningRequestSpec{Request: csr, Usages: client, SignerName: "example.com/own"}, certificatesv1.CertificateApproved)
	decide(t, c, "server", certificatesv1.CertificateSigningRequestSpec{Request: csr, Usages: []certificatesv1.KeyUsage{certificatesv1.UsageServerAuth}, SignerName: certificatesv1.KubeAPIServerClientSignerName}, certificatesv1.CertificateApproved)
	decide(t, c, "ada", certificatesv1.CertificateSigningRequestSpec{Request: csr, Usages: client, ExpirationSeconds: &hour, SignerName: certificatesv1.KubeAPIServerClientSignerName}, certificatesv1.CertificateApproved)

	ada := awaitSigned(t, c, "ada")
	block, more := pem.Decode(ada.Status.Certificate)
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil || len(more) > 0 {
		t.Fatal(err, len(more))
	}
	if left := time.Until(certificate.NotAfter); left > time.Hour || left < time.Hour-time.Minute {
		t.Errorf("lasts for %v", left)
	}
	who := clientFor(t, &rest.Config{Host: s.URL, TLSClientConfig: rest.TLSClientConfig{CAData: s.CA, CertData: ada.Status.Certificate, KeyData: key}})
	if user := whoami(t, who); user != "ada" {
		t.Errorf("known as %q", user)
	}

	failed := conditionOf(awaitSigned(t, c, "server"), certificatesv1.CertificateFailed)
	if failed == nil || failed.Status != corev1.ConditionTrue || failed.Reason != "SignerValidationFailure" || failed.Message != "invalid usage for client certificate: server auth" {
		t.Errorf("failed: %+v", failed)
	}
	for _, name := range []string{"denied", "foreign"} {
		r, err := c.CertificatesV1().CertificateSigningRequests().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil || len(r.Status.Certificate) > 0 || len(r.Status.Conditions) != 1 {
			t.Errorf("%s: %+v, %v", name, r.Status, err)
		}
	}
}

// authority creates a CA and writes its certificate and key to files.
func authority(t *testing.T, name, certFile, keyFile string) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(48 * time.Hour), KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "EC PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// TestSigningFiles signs with a CA from files that are replaced while the server runs, and
// publishes root certificates from a file.
func TestSigningFiles(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key")
	first := authority(t, "first", certFile, keyFile)
	_, c := start(t, server.Options{
		Signing:     server.Signing{CertFile: certFile, KeyFile: keyFile, Duration: 2 * time.Hour},
		Controllers: server.Controllers{RootCAFile: certFile},
	})
	published, err := os.ReadFile(certFile)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "root certificates", func(ctx context.Context) (bool, error) {
		cm, err := c.CoreV1().ConfigMaps("default").Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		return err == nil && cm.Data["ca.crt"] == string(published), err
	})
	csr, _ := controllers.NewRequest(t, controllers.Subject("ada"))
	signedBy := func(name string, ca *x509.Certificate) {
		t.Helper()
		day := int32(86400)
		decide(t, c, name, certificatesv1.CertificateSigningRequestSpec{Request: csr, Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
			ExpirationSeconds: &day, SignerName: certificatesv1.KubeAPIServerClientSignerName}, certificatesv1.CertificateApproved)
		block, _ := pem.Decode(awaitSigned(t, c, name).Status.Certificate)
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if err := cert.CheckSignatureFrom(ca); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if left := time.Until(cert.NotAfter); left > 2*time.Hour || left < 2*time.Hour-time.Minute {
			t.Errorf("%s lasts for %v", name, left)
		}
	}
	signedBy("one", first)
	signedBy("two", authority(t, "second", certFile, keyFile))
}

// TestBadFiles checks that the error for an unreadable file names its flag.
func TestBadFiles(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	for flag, o := range map[string]server.Options{
		"--root-ca-file":                                      {Controllers: server.Controllers{RootCAFile: none}},
		"--cluster-signing-cert-file":                         {Signing: server.Signing{CertFile: none, KeyFile: none}},
		"--cluster-signing-cert-file: must be given together": {Signing: server.Signing{KeyFile: none}},
		"--cluster-signing-duration":                          {Signing: server.Signing{Duration: -1}},
	} {
		s, err := server.Start(t.Context(), o)
		if err == nil {
			_ = s.Stop(t.Context())
		}
		if err == nil || !strings.HasPrefix(err.Error(), flag) {
			t.Errorf("%s: %v", flag, err)
		}
	}
}
