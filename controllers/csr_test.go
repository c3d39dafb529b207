package controllers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/kinds/certificates"
)

// NewRequest returns a PKCS#10 request and its key in PEM.
func NewRequest(t *testing.T, template x509.CertificateRequest) (csr, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &template, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})
}

// Subject is a request for a name.
func Subject(cn string, o ...string) x509.CertificateRequest {
	return x509.CertificateRequest{Subject: pkix.Name{CommonName: cn, Organization: o}}
}

func TestSignerRules(t *testing.T) {
	node := Subject("system:node:n", "system:nodes")
	with := func(r x509.CertificateRequest, change func(*x509.CertificateRequest)) x509.CertificateRequest {
		change(&r)
		return r
	}
	dns := func(r *x509.CertificateRequest) { r.DNSNames = []string{"n"} }
	email := func(r *x509.CertificateRequest) { r.EmailAddresses = []string{"a@b.c"} }
	ip := func(r *x509.CertificateRequest) { r.IPAddresses = []net.IP{net.IPv4(10, 0, 0, 1)} }
	uri := func(r *x509.CertificateRequest) { r.URIs = []*url.URL{{Scheme: "spiffe", Host: "a"}} }
	const (
		signature, encipher = certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment
		client, serving     = certificatesv1.UsageClientAuth, certificatesv1.UsageServerAuth
		api                 = certificatesv1.KubeAPIServerClientSignerName
		kubelet             = certificatesv1.KubeAPIServerClientKubeletSignerName
		server              = certificatesv1.KubeletServingSignerName
		legacy              = "kubernetes.io/legacy-unknown"
	)
	type usages = []certificatesv1.KeyUsage
	for _, c := range []struct {
		signer  string
		request x509.CertificateRequest
		usages  usages
		want    string
	}{
		{api, Subject("ada"), usages{client}, ""},
		{api, Subject("ada"), usages{encipher, signature, client}, ""},
		{api, with(Subject("ada"), dns), usages{client}, ""},
		{api, Subject("ada"), usages{signature}, "missing required usage for client certificate: client auth"},
		{api, Subject("ada"), usages{client, serving}, "invalid usage for client certificate: server auth"},
		{kubelet, node, usages{signature, client}, ""},
		{kubelet, node, usages{client, encipher, signature, client}, ""},
		{kubelet, node, usages{client}, "usages did not match [client auth digital signature key encipherment]"},
		{kubelet, node, usages{client, signature, serving}, "usages did not match [client auth digital signature key encipherment]"},
		{kubelet, Subject("system:node:n"), usages{signature, client}, "subject organization is not system:nodes"},
		{kubelet, Subject("system:node:n", "system:nodes", "system:masters"), usages{signature, client}, "subject organization is not system:nodes"},
		{kubelet, Subject("n", "system:nodes"), usages{signature, client}, "subject common name does not begin with system:node:"},
		{kubelet, with(node, dns), usages{signature, client}, "DNS subjectAltNames are not allowed"},
		{kubelet, with(node, email), usages{signature, client}, "Email subjectAltNames are not allowed"},
		{kubelet, with(node, ip), usages{signature, client}, "IP subjectAltNames are not allowed"},
		{kubelet, with(node, uri), usages{signature, client}, "URI subjectAltNames are not allowed"},
		{server, with(node, ip), usages{signature, serving}, ""},
		{server, with(node, dns), usages{signature, encipher, serving}, ""},
		{server, node, usages{signature, serving}, "DNS or IP subjectAltName is required"},
		{server, with(with(node, dns), email), usages{signature, serving}, "Email subjectAltNames are not allowed"},
		{server, with(with(node, dns), uri), usages{signature, serving}, "URI subjectAltNames are not allowed"},
		{server, with(node, dns), usages{signature, client}, "usages did not match [digital signature key encipherment server auth]"},
		{server, with(Subject("n", "system:nodes"), dns), usages{signature, serving}, "subject common name does not begin with system:node:"},
		{legacy, with(Subject("any"), uri), usages{certificatesv1.UsageCodeSigning}, ""},
	} {
		check, ok := signerRules(c.signer)
		if !ok {
			t.Fatalf("%s is not known", c.signer)
		}
		got := ""
		if err := check(&c.request, c.usages); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s, %v: got %q, want %q", c.signer, c.usages, got, c.want)
		}
	}
	if _, ok := signerRules("example.com/own"); ok {
		t.Error("a foreign signer has rules")
	}
}

func TestLifetime(t *testing.T) {
	seconds := func(n int32) *int32 { return &n }
	const year, day = 365 * 24 * time.Hour, 24 * time.Hour
	for _, c := range []struct {
		asked      *int32
		most, want time.Duration
	}{
		{nil, year, year}, {seconds(86400), year, day}, {seconds(864000), day, day}, {seconds(600), year, minLifetime}, {seconds(1), year, minLifetime},
	} {
		if got := certificateLifetime(c.asked, c.most); got != c.want {
			t.Errorf("%v of %v: %v, want %v", c.asked, c.most, got, c.want)
		}
	}
}

func TestCertificate(t *testing.T) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	ca := &CA{Key: caKey, Certificate: &x509.Certificate{
		Subject: pkix.Name{CommonName: "ca"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(100 * time.Hour), IsCA: true, BasicConstraintsValid: true,
	}}
	data, _ := NewRequest(t, x509.CertificateRequest{Subject: pkix.Name{CommonName: "ada"}, DNSNames: []string{"a.example"},
		ExtraExtensions: []pkix.Extension{{Id: []int{2, 5, 29, 19}, Critical: true, Value: []byte{0x30, 0x03, 0x01, 0x01, 0xff}}}}) // asks to be a CA
	csr, err := certificates.ParseRequest(data)
	if err != nil {
		t.Fatal(err)
	}
	usages := []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth, certificatesv1.UsageSMIME, certificatesv1.UsageEmailProtection, certificatesv1.UsageSigning, certificatesv1.UsageKeyEncipherment}
	for _, c := range []struct{ lifetime, end time.Duration }{
		{time.Hour, time.Hour}, {8 * time.Hour, 8*time.Hour - 5*time.Minute}, {1000 * time.Hour, 100 * time.Hour},
	} {
		signed, err := ca.sign(csr, usages, c.lifetime, now)
		if err != nil {
			t.Fatal(err)
		}
		block, _ := pem.Decode(signed)
		got, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if !got.NotBefore.Equal(now.Add(-5*time.Minute)) || !got.NotAfter.Equal(now.Add(c.end)) {
			t.Errorf("for %v: %v to %v", c.lifetime, got.NotBefore, got.NotAfter)
		}
		if got.IsCA || !got.BasicConstraintsValid || got.Subject.CommonName != "ada" || !slices.Equal(got.DNSNames, []string{"a.example"}) {
			t.Errorf("certificate: %+v", got)
		}
		if got.KeyUsage != x509.KeyUsageDigitalSignature|x509.KeyUsageKeyEncipherment || !slices.Equal(got.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageEmailProtection}) {
			t.Errorf("usages: %v, %v", got.KeyUsage, got.ExtKeyUsage)
		}
	}
	if _, err := ca.sign(csr, usages, time.Hour, now.Add(100*time.Hour)); err == nil || !strings.HasPrefix(err.Error(), "refusing to sign a certificate that expired in the past") {
		t.Errorf("of an expired CA: %v", err)
	}
	if _, err := ca.sign(csr, []certificatesv1.KeyUsage{"flying"}, time.Hour, now); err == nil || err.Error() != `unrecognized usage values: ["flying"]` {
		t.Errorf("of an unknown usage: %v", err)
	}
}

func TestUsefulUntil(t *testing.T) {
	created, changed := metav1.NewTime(time.Unix(1e9, 0)), metav1.NewTime(time.Unix(2e9, 0))
	is := func(types ...certificatesv1.RequestConditionType) []certificatesv1.CertificateSigningRequestCondition {
		var out []certificatesv1.CertificateSigningRequestCondition
		for _, t := range types {
			out = append(out, certificatesv1.CertificateSigningRequestCondition{Type: t, LastUpdateTime: changed})
		}
		return out
	}
	at := time.Unix(2e9, 0)
	for name, c := range map[string]struct {
		conditions []certificatesv1.CertificateSigningRequestCondition
		issued     bool
		expires    time.Time
		want       time.Time
	}{
		"pending":               {want: created.Add(24 * time.Hour)},
		"denied":                {conditions: is(certificatesv1.CertificateDenied), want: at.Add(time.Hour)},
		"failed":                {conditions: is(certificatesv1.CertificateApproved, certificatesv1.CertificateFailed), want: at.Add(time.Hour)},
		"approved, not issued":  {conditions: is(certificatesv1.CertificateApproved), want: at.Add(24 * time.Hour)},
		"issued":                {conditions: is(certificatesv1.CertificateApproved), issued: true, expires: at.Add(48 * time.Hour), want: at.Add(time.Hour)},
		"issued, soon expired":  {conditions: is(certificatesv1.CertificateApproved), issued: true, expires: at.Add(10 * time.Minute), want: at.Add(10 * time.Minute)},
		"something else":        {conditions: is("Else"), want: time.Time{}},
		"issued, never decided": {issued: true, expires: at, want: time.Time{}},
	} {
		r := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: created}}
		r.Status.Conditions = c.conditions
		if c.issued {
			r.Status.Certificate = expiring(t, c.expires)
		}
		if got := deletionTime(r); !got.Equal(c.want) {
			t.Errorf("%s: until %v, want %v", name, got, c.want)
		}
	}
}

// expiring returns a certificate that expires at end.
func expiring(t *testing.T, end time.Time) []byte {
	t.Helper()
	csr, _ := NewRequest(t, Subject("x"))
	parsed, err := certificates.ParseRequest(csr)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ca := &CA{Key: key, Certificate: &x509.Certificate{NotAfter: end.Add(time.Hour), Subject: pkix.Name{CommonName: "ca"}}}
	out, err := ca.sign(parsed, nil, time.Hour, end.Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestCleaning checks that a request is deleted after its time, and not before.
func TestCleaning(t *testing.T) {
	var sent []string
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent = append(sent, r.Method+" "+r.URL.Path+" "+string(body))
	})
	resource := &api.Resource{AnyKind: api.AnyKind{
		Names:    api.Names{Name: "certificatesigningrequests"},
		Versions: []api.Version{{GroupVersion: certificatesv1.SchemeGroupVersion}},
	}}
	end := time.Unix(1e9, 0).Add(24 * time.Hour)
	r := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "r", UID: "u", ResourceVersion: "7", CreationTimestamp: metav1.NewTime(time.Unix(1e9, 0))}}
	for _, c := range []struct {
		now  time.Time
		left reconcile.Result
		sent int
	}{{end.Add(-time.Hour), reconcile.Result(time.Hour + time.Millisecond), 0}, {end, reconcile.Result(time.Millisecond), 0}, {end.Add(time.Millisecond), reconcile.Done, 1}} {
		cleaner := requestCleaner{csrController{Config: Config{BaseConfig: reconcile.BaseConfig{Now: func() time.Time { return c.now }}}, client: reconcile.NewClient(handler, certificateAccount), resource: resource}}
		left, err := cleaner.sync(t.Context(), r)
		if err != nil || left != c.left || len(sent) != c.sent {
			t.Errorf("at %v: sync again after %v, %v; sent %q", c.now, time.Duration(left), err, sent)
		}
	}
	if want := `DELETE /apis/certificates.k8s.io/v1/certificatesigningrequests/r {"preconditions":{"uid":"u","resourceVersion":"7"}}`; sent[0] != want {
		t.Errorf("sent %s\nwant %s", sent[0], want)
	}
}
