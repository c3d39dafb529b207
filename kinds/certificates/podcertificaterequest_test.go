package certificates_test

import (
	"crypto/x509"
	"strings"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
	"github.com/miniapiserver/miniapiserver/request"
)

var podCertificate = "spec: {signerName: a.b/c, podName: p, podUID: u1, serviceAccountName: s, serviceAccountUID: u2,\n" +
	"  nodeName: node, nodeUID: u3,\n" +
	"  maxExpirationSeconds: 7200, stubPKCS10Request: " + encoded(stubRequest(ellipticKey)) + "}"

func TestPodCertificateRules(t *testing.T) {
	k := kindtest.New(t, "podcertificaterequests.v1beta1.certificates.k8s.io", podCertificate, "PodCertificateRequest")
	k.Create(kindtest.Rules{
		{"a signer has a domain and a path", "spec.signerName: a.b/c", "spec.signerName: a",
			`spec.signerName: Invalid value: "a": must be a fully qualified domain and path of the ` +
				"form 'example.com/signer-name'"},
		{"the name of a pod is a subdomain", "spec.podName: a.b", "spec.podName: P",
			`spec.podName: Invalid value: "P": a lowercase RFC 1123 subdomain must consist of lower ` +
				"case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"a pod has a UID", "spec.podUID: u", `spec.podUID: ""`, `spec.podUID: Invalid value: "": must not be empty`},
		{"a service account has a name", "spec.serviceAccountName: a.b", `spec.serviceAccountName: ""`,
			`spec.serviceAccountName: Invalid value: "": a lowercase RFC 1123 subdomain must consist ` +
				"of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"a service account has a UID", "spec.serviceAccountUID: u", `spec.serviceAccountUID: ""`,
			`spec.serviceAccountUID: Invalid value: "": must not be empty`},
		{"a node has a name", "spec.nodeName: a.b", "spec.nodeName: a_b",
			`spec.nodeName: Invalid value: "a_b": a lowercase RFC 1123 subdomain must consist of ` +
				"lower case alphanumeric characters, '-' or '.', and must start and end with an " +
				"alphanumeric character (e.g. 'example.com', regex used for validation is " +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"a node has a UID", "spec.nodeUID: u", `spec.nodeUID: ""`,
			`spec.nodeUID: Invalid value: "": must not be empty`},
		{"a UID is short", "spec.nodeUID: " + strings.Repeat("u", 128), "spec.nodeUID: " + strings.Repeat("u", 129),
			"spec.nodeUID: Too long: may not be more than 128 bytes"},
		{"a certificate lasts an hour", "spec.maxExpirationSeconds: 3600", "spec.maxExpirationSeconds: 3599",
			"spec.maxExpirationSeconds: Invalid value: 3599: must be in the range [3600, 7862400]"},
		{"a certificate lasts 91 days at most", "spec.maxExpirationSeconds: 7862400",
			"spec.maxExpirationSeconds: 7862401",
			"spec.maxExpirationSeconds: Invalid value: 7862401: must be in the range [3600, 7862400]"},
		{"a certificate of Kubernetes lasts a day at most",
			"spec.signerName: kubernetes.io/a; spec.maxExpirationSeconds: 86400",
			"spec.signerName: a.kubernetes.io/a; spec.maxExpirationSeconds: 86401",
			"spec.maxExpirationSeconds: Invalid value: 86401: must be in the range [3600, 86400]"},
		{"the key of an annotation has a domain", "spec.unverifiedUserAnnotations: {a.b/c: d}",
			"spec.unverifiedUserAnnotations: {c: d}",
			`spec.unverifiedUserAnnotations: Invalid value: "c": must be a domain-prefixed key (such ` +
				`as "acme.io/foo")`},
		{"annotations are limited", "spec.unverifiedUserAnnotations: {a.b/c: " + strings.Repeat("d", 1000) + "}",
			"spec.unverifiedUserAnnotations: {a.b/c: " + strings.Repeat("d", 262144) + "}",
			"spec.unverifiedUserAnnotations: Too long: may not be more than 262144 bytes"},
		{"a request has one form of a key", "spec.stubPKCS10Request: " + encoded(stubRequest(edwardsKey)),
			"spec.stubPKCS10Request: null",
			"spec: Invalid value: exactly one of (stubPKCS10Request) or (pkixPublicKey, " +
				"proofOfPossession) must be set"},
		{"a request has no second key", "spec.stubPKCS10Request: " + encoded(stubRequest(rsaKey)),
			"spec.pkixPublicKey: " + publicKey(ellipticKey),
			"spec: Invalid value: exactly one of (stubPKCS10Request) or (pkixPublicKey, " +
				"proofOfPossession) must be set"},
		{"a stub is a request", "spec.stubPKCS10Request: " + encoded(stubRequest(edwardsKey)),
			"spec.stubPKCS10Request: YQ==", "spec.stubPKCS10Request: Invalid value: must be a valid PKCS#10 CSR"},
		{"a stub is signed with its key", "spec.stubPKCS10Request: " + encoded(stubRequest(edwardsKey)),
			"spec.stubPKCS10Request: " + encoded(damaged(stubRequest(edwardsKey))),
			"spec.stubPKCS10Request: Invalid value: invalid signature"},
		{"a stub is short", "spec.stubPKCS10Request: " + encoded(stubRequest(edwardsKey)),
			"spec.stubPKCS10Request: " + encoded(make([]byte, 10241)),
			"spec.stubPKCS10Request: Too long: may not be more than 10240 bytes"},
		{"a curve has 256 bits", "spec.stubPKCS10Request: " + encoded(stubRequest(ellipticKey)),
			"spec.stubPKCS10Request: " + encoded(stubRequest(shortKey)),
			`spec.stubPKCS10Request: Invalid value: "curve P-224": elliptic public keys must use ` +
				"curve P256, P384, or P521"},
		{"a modulus has 3072 bits", "spec.stubPKCS10Request: " + encoded(stubRequest(rsaKey)),
			"spec.stubPKCS10Request: " + encoded(stubRequest(weakKey)),
			`spec.stubPKCS10Request: Invalid value: "2048-bit modulus": RSA keys must have modulus ` +
				"size 3072 or 4096"},
		{"a key is proven by its signature", provenKey(ellipticKey, "u1"), provenKey(ellipticKey, "u2"),
			"spec.proofOfPossession: Invalid value: could not verify proof-of-possession signature"},
		{"a signature of another key is no proof", provenKey(edwardsKey, "u1"),
			provenKey(edwardsKey, "u1") + "; spec.pkixPublicKey: " + publicKey(ellipticKey),
			"spec.proofOfPossession: Invalid value: could not verify proof-of-possession signature"},
		{"a proven key is not weak", provenKey(rsaKey, "u1"), provenKey(weakKey, "u1"),
			`spec.pkixPublicKey: Invalid value: "2048-bit modulus": RSA keys must have modulus size ` +
				"3072 or 4096"},
		{"a proven key is a key", provenKey(rsaKey, "u1"), provenKey(rsaKey, "u1") + "; spec.pkixPublicKey: YQ==",
			`spec.pkixPublicKey: Invalid value: "YQ==": must be a valid PKIX-serialized public key`},
		{"a proven key is short", provenKey(rsaKey, "u1"),
			provenKey(rsaKey, "u1") + "; spec.pkixPublicKey: " + encoded(make([]byte, 10241)),
			"spec.pkixPublicKey: Too long: may not be more than 10240 bytes"},
		{"a proof is short", provenKey(rsaKey, "u1"),
			provenKey(rsaKey, "u1") + "; spec.proofOfPossession: " + encoded(make([]byte, 10241)),
			"spec.proofOfPossession: Too long: may not be more than 10240 bytes"},
	})
}

func TestPodCertificateUpdateRules(t *testing.T) {
	k := kindtest.New(t, "podcertificaterequests.v1beta1.certificates.k8s.io", podCertificate, "PodCertificateRequest")
	k.Update(kindtest.Rules{
		{"the spec is immutable", "metadata.labels: {a: b}", "spec.podName: q",
			"spec: Invalid value: ...: field is immutable"},
	})
}

func TestPodCertificateStatusRules(t *testing.T) {
	k := kindtest.New(t, "podcertificaterequests.v1beta1.certificates.k8s.io", podCertificate, "PodCertificateRequest")
	k.UpdateStatus(kindtest.Rules{
		{"an issued chain has a certificate", issued(certificate(ellipticKey, nil), 2*time.Hour),
			issued("x", 2*time.Hour),
			`status.certificateChain: Invalid value: "x": issued certificate chain must contain at ` +
				"least one certificate"},
		{"a chain is limited", issued(certificate(ellipticKey, nil), 2*time.Hour),
			issued(strings.Repeat("x", 102401), 2*time.Hour),
			"status.certificateChain: Too long: may not be more than 102400 bytes"},
		{"a chain has blocks of certificates", issued(certificate(ellipticKey, nil), 2*time.Hour),
			issued(pemBlock("KEY", nil), 2*time.Hour),
			`status.certificateChain: Invalid value: "-----BEGIN KEY-----\n-----END KEY-----\n": ` +
				"issued certificate chain must consist entirely of CERTIFICATE PEM blocks"},
		{"the first certificate parses", issued(certificate(ellipticKey, nil), 2*time.Hour),
			issued(pemBlock("CERTIFICATE", []byte("a")), 2*time.Hour),
			`status.certificateChain: Invalid value: "-----BEGIN CERTIFICATE-----\nYQ==\n-----END ` +
				`CERTIFICATE-----\n": leaf certificate does not parse as valid X.509`},
		{"the first certificate is for the key", issued(certificate(ellipticKey, nil), 2*time.Hour),
			issued(certificate(edwardsKey, nil), 2*time.Hour),
			"status.certificateChain: Invalid value: ...: leaf certificate was not issued to the " +
				"requested public key"},
		{"a second certificate is one", issued(certificate(ellipticKey, nil)+authority("a"), 2*time.Hour),
			issued(certificate(ellipticKey, nil)+pemBlock("KEY", nil), 2*time.Hour),
			"status.certificateChain: Invalid value: ...: issued certificate chain must consist " +
				"entirely of CERTFICATE PEM blocks"},
		{"a second certificate parses", issued(certificate(ellipticKey, nil)+authority("a"), 2*time.Hour),
			issued(certificate(ellipticKey, nil)+pemBlock("CERTIFICATE", []byte("a")), 2*time.Hour),
			"status.certificateChain: Invalid value: ...: intermediate certificate does not parse as " +
				"valid X.509"},
		{"the start is that of the certificate", issued(certificate(ellipticKey, nil), 2*time.Hour),
			issued(certificate(ellipticKey, nil), 2*time.Hour) + "; status.notBefore: " + after(time.Second),
			"status.notBefore: Invalid value: ...: must be set to the NotBefore time encoded in the " +
				"leaf certificate"},
		{"the end is that of the certificate", issued(certificate(ellipticKey, nil), 2*time.Hour),
			issued(certificate(ellipticKey, nil), 2*time.Hour) + "; status.notAfter: " + after(time.Second),
			"status.notAfter: Invalid value: ...: must be set to the NotAfter time encoded in the " +
				"leaf certificate"},
		{"the start is now", issued(certificate(ellipticKey, nil), 2*time.Hour),
			issued(certificate(ellipticKey, starting(10*time.Minute)), 2*time.Hour) + "; status.notBefore: " +
				after(10*time.Minute),
			"status.notBefore: Invalid value: ...: must be set to within 5 minutes of " +
				"kube-apiserver's current time"},
		{"the times are required", issued(certificate(ellipticKey, nil), 2*time.Hour),
			issued(certificate(ellipticKey, nil), 2*time.Hour) +
				"; status.notBefore: null; status.notAfter: null; status.beginRefreshAt: null",
			"status.notBefore: Required value: must be present and consistent with the issued " +
				"certificate; status.notAfter: Required value: must be present and consistent with the " +
				"issued certificate; status.beginRefreshAt: Required value: must be present and in the " +
				"range [notbefore+10min, notafter-10min]"},
		{"a certificate lasts an hour", issued(certificate(ellipticKey, lasting(time.Hour)), time.Hour),
			issued(certificate(ellipticKey, lasting(time.Minute)), time.Minute),
			"status.certificateChain: Invalid value: 60000000000: leaf certificate lifetime must be >= 1 hour"},
		{"a certificate lasts no longer than asked for", issued(certificate(ellipticKey, nil), 2*time.Hour),
			issued(certificate(ellipticKey, lasting(3*time.Hour)), 3*time.Hour),
			"status.certificateChain: Invalid value: 10800000000000: leaf certificate lifetime must " +
				"be <= spec.maxExpirationSeconds (7200)"},
		{"a refresh is not early",
			issued(certificate(ellipticKey, nil), 2*time.Hour) + "; status.beginRefreshAt: " +
				after(10*time.Minute),
			issued(certificate(ellipticKey, nil), 2*time.Hour) + "; status.beginRefreshAt: " +
				after(9*time.Minute),
			"status.beginRefreshAt: Invalid value: ...: must be at least 10 minutes after status.notBefore"},
		{"a refresh is not late",
			issued(certificate(ellipticKey, nil), 2*time.Hour) + "; status.beginRefreshAt: " +
				after(110*time.Minute),
			issued(certificate(ellipticKey, nil), 2*time.Hour) + "; status.beginRefreshAt: " +
				after(111*time.Minute),
			"status.beginRefreshAt: Invalid value: ...: must be at least 10 minutes before status.notAfter"},
		{"a denial is all of the status", "status.conditions: [" + decided("Denied") + "]",
			issued(certificate(ellipticKey, nil), 2*time.Hour) + "; status.conditions: [" + decided("Denied") +
				"]",
			"status: Invalid value: non-condition status fields must be empty when denying or " +
				"failing the PodCertificateRequest"},
		{"a status has a decision", "status.conditions: [" + decided("Failed") + "]", "status.certificateChain: a",
			`status: Invalid value: status is immutable unless transitioning to "Issued", "Denied", or "Failed"`},
		{"a decision is known", "status.conditions: [" + decided("Failed") + "]",
			"status.conditions: [" + decided("Approved") + "]",
			`status.conditions.[0].type: Unsupported value: "Approved": supported values: "Issued", ` +
				`"Denied", "Failed"`},
		{"a decision is true", "status.conditions: [" + decided("Failed") + "]",
			"status.conditions: [" + decided("Failed") + `]; status.conditions[0].status: "False"`,
			`status.conditions.[0].status: Unsupported value: "False": supported values: "True"`},
		{"there is one decision", "status.conditions: [" + decided("Failed") + "]",
			"status.conditions: [" + decided("Failed") + ", " + decided("Denied") + "]",
			`status.conditions.[1].type: Invalid value: "Denied": There may be at most one condition ` +
				`with type "Issued", "Denied", or "Failed"`},
		{"a decision has a reason", "status.conditions: [" + decided("Failed") + "]",
			"status.conditions: [" + decided("Failed") + `]; status.conditions[0].reason: ""`,
			"status.conditions[0].reason: Required value"},
	})
}

func TestPodCertificateNameRules(t *testing.T) {
	k := kindtest.New(t, "podcertificaterequests.v1beta1.certificates.k8s.io", podCertificate, "PodCertificateRequest")
	k.UpdateStatus(kindtest.Rules{
		{"a name has no empty label", issued(certificate(ellipticKey, naming("a.b")), 2*time.Hour),
			issued(certificate(ellipticKey, naming("a..b")), 2*time.Hour),
			`status.certificateChain: Invalid value: "a..b": leaf certificate's DNSName should not contain '..'`},
		{"a name does not begin with a dot", issued(certificate(ellipticKey, naming("a.b")), 2*time.Hour),
			issued(certificate(ellipticKey, naming(".a")), 2*time.Hour),
			`status.certificateChain: Invalid value: ".a": leaf certificate's DNSName should not ` +
				"start or end with '.'"},
		{"a name does not end with a dot", issued(certificate(ellipticKey, naming("a.b")), 2*time.Hour),
			issued(certificate(ellipticKey, naming("a.")), 2*time.Hour),
			`status.certificateChain: Invalid value: "a.": leaf certificate's DNSName should not ` +
				"start or end with '.'"},
	})
}

func TestProvenPodCertificateStatusRules(t *testing.T) {
	k := kindtest.New(t, "podcertificaterequests.v1beta1.certificates.k8s.io", podCertificate, "PodCertificateRequest").With(
		provenKey(rsaKey, "u1"))
	k.UpdateStatus(kindtest.Rules{
		{"a certificate is for the proven key", issued(certificate(rsaKey, nil), 2*time.Hour),
			issued(certificate(ellipticKey, nil), 2*time.Hour),
			"status.certificateChain: Invalid value: ...: leaf certificate was not issued to the " +
				"requested public key"},
	})
}

func TestDecidedPodCertificateStatusRules(t *testing.T) {
	k := kindtest.New(t, "podcertificaterequests.v1beta1.certificates.k8s.io", podCertificate, "PodCertificateRequest").With(
		"status.conditions: [" + decided("Denied") + "]")
	k.UpdateStatus(kindtest.Rules{
		{"a decision is final", "metadata.labels: {a: b}", "status.conditions[0].message: z",
			"status: Invalid value: immutable after PodCertificateRequest is issued, denied, or failed"},
	})
}

func TestPodCertificateCreated(t *testing.T) {
	k := kindtest.New(t, "podcertificaterequests.v1beta1.certificates.k8s.io", podCertificate, "PodCertificateRequest")
	k.Created(kindtest.Cases{
		{"a certificate lasts a day", "spec.maxExpirationSeconds: null", "spec.maxExpirationSeconds: 86400"},
		{"a new request has no status", "status.certificateChain: a", "status: {}"},
	})
}

func TestPodCertificateStatusUpdated(t *testing.T) {
	k := kindtest.New(t, "podcertificaterequests.v1beta1.certificates.k8s.io", podCertificate, "PodCertificateRequest")
	k.StatusUpdated(kindtest.Cases{
		{"the status alone",
			"spec.podName: q; metadata.labels: {a: b}; status.conditions: [" + decided("Denied") + "]",
			"spec.podName: p; metadata.labels: null; status.conditions[0].type: Denied"},
	})
}

func TestPodCertificateInV1(t *testing.T) {
	k := kindtest.New(t, "podcertificaterequests.v1beta1.certificates.k8s.io", podCertificate, "PodCertificateRequest")
	k.Converted("v1", kindtest.Cases{
		{"a stub has a field", "", "spec.podName: p; spec.maxExpirationSeconds: 7200"},
		{"a proven key has none", provenKey(rsaKey, "u1"),
			"spec.pkixPublicKey: null; spec.stubPKCS10Request: null; metadata.annotations: null"},
	})
}

func TestPodCertificateColumns(t *testing.T) {
	k := kindtest.New(t, "podcertificaterequests.v1beta1.certificates.k8s.io", podCertificate, "PodCertificateRequest")
	k.Columns("Name|PodName|ServiceAccountName|NodeName|SignerName|State|UnverifiedUserAnnotations", kindtest.Cases{
		{"pending", "spec.unverifiedUserAnnotations: {a.b/c: d}", "x|p|s|node|a.b/c|Pending|a.b/c=d"},
		{"denied", "status.conditions: [" + decided("Denied") + "]", "x|p|s|node|a.b/c|Denied|<none>"},
	})
}

func TestPodCertificateSelectableFields(t *testing.T) {
	k := kindtest.New(t, "podcertificaterequests.v1beta1.certificates.k8s.io", podCertificate, "PodCertificateRequest")
	k.Selectable(kindtest.Cases{
		{"by signer, pod and node", "", "spec.nodeName=node,spec.podName=p,spec.signerName=a.b/c"},
	})
}

// signer returns a user with the permission to sign for a signer.
func signer(name string) kindtest.Writer {
	return kindtest.Writer{User: &request.User{Name: "joe"}, Permissions: []string{"sign signers " + name}}
}

func TestPodCertificateSignerRules(t *testing.T) {
	k := kindtest.New(t, "podcertificaterequests.v1beta1.certificates.k8s.io", podCertificate, "PodCertificateRequest").
		By(signer("d.e/*")).With(
		"spec.signerName: d.e/f")
	k.UpdateStatus(kindtest.Rules{
		{"who decides may sign for the domain", "status.conditions: [" + decided("Failed") + "]",
			"status.conditions: [" + decided("Failed") + "]; status.certificateChain: x",
			"status: Invalid value: non-condition status fields must be empty when denying or " +
				"failing the PodCertificateRequest"},
	})
}

func TestPodCertificateOneSignerRules(t *testing.T) {
	k := kindtest.New(t, "podcertificaterequests.v1beta1.certificates.k8s.io", podCertificate, "PodCertificateRequest").
		By(signer("a.b/c"))
	k.UpdateStatus(kindtest.Rules{
		{"who decides may sign for the signer", "status.conditions: [" + decided("Failed") + "]",
			"status.conditions: [" + decided("Failed") + "]; status.certificateChain: x",
			"status: Invalid value: non-condition status fields must be empty when denying or " +
				"failing the PodCertificateRequest"},
	})
}

func TestPodCertificateNoSignerRules(t *testing.T) {
	k := kindtest.New(t, "podcertificaterequests.v1beta1.certificates.k8s.io", podCertificate, "PodCertificateRequest").
		By(signer("a.b/other"))
	k.UpdateStatus(kindtest.Rules{
		{"a signer decides", "metadata.labels: {a: b}", "status.conditions: [" + decided("Failed") + "]",
			`spec.signerName: Forbidden: User "joe" is not permitted to "sign" for signer "a.b/c"`},
	})
}

// lasting returns a change of the lifetime of a certificate.
func lasting(life time.Duration) func(*x509.Certificate) {
	return func(c *x509.Certificate) { c.NotAfter = c.NotBefore.Add(life) }
}

// starting returns a change of the time from which a certificate is valid.
func starting(d time.Duration) func(*x509.Certificate) {
	return func(c *x509.Certificate) { c.NotBefore = issueTime.Add(d) }
}

// naming returns a change of the DNS names of a certificate.
func naming(name string) func(*x509.Certificate) {
	return func(c *x509.Certificate) { c.DNSNames = []string{name} }
}

var podCertificateV1 = "spec: {signerName: a.b/c, podName: p, podUID: u1, serviceAccountName: s, serviceAccountUID: u2,\n" +
	"  nodeName: node, nodeUID: u3,\n" +
	"  stubPKCS10Request: " + encoded(stubRequest(edwardsKey)) + "}"

func TestPodCertificateInV1beta1(t *testing.T) {
	k := kindtest.New(t, "podcertificaterequests.v1.certificates.k8s.io", podCertificateV1, "PodCertificateRequest")
	k.Converted("v1beta1", kindtest.Cases{
		{"a request", "", "spec.podName: p; spec.maxExpirationSeconds: 86400; spec.pkixPublicKey: null"},
	})
}
