package credentials

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/request"
)

func testNames() Names {
	return NamesFor(net.ParseIP("192.0.2.7"), []net.IP{net.ParseIP("10.0.0.1")})
}

func load(t *testing.T, dir string, names Names, now time.Time) *Certificates {
	t.Helper()
	c, err := Load(dir, names, now, false)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCertificatesAreForAllNames checks that the serving certificate is valid for all names
// of the server.
func TestCertificatesAreForAllNames(t *testing.T) {
	c := load(t, t.TempDir(), testNames(), time.Now())
	hosts := []string{
		"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
		"kubernetes.default.svc.cluster.local", "127.0.0.1", "::1", "192.0.2.7", "10.0.0.1",
	}
	if host, err := os.Hostname(); err == nil && isHostname(host) {
		hosts = append(hosts, host)
	}
	roots := x509.NewCertPool()
	roots.AddCert(c.CA.Cert)
	for _, host := range hosts {
		_, err := c.Serving.Cert.Verify(x509.VerifyOptions{DNSName: host, Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
		if err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	if c.Serving.Cert.VerifyHostname("example.com") == nil {
		t.Error("the certificate is for any name")
	}
	_, err := c.Admin.Cert.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	if s := c.Admin.Cert.Subject; err != nil || s.CommonName != "kubernetes-admin" || len(s.Organization) != 1 || s.Organization[0] != "system:masters" {
		t.Errorf("admin: %v, %v", c.Admin.Cert.Subject, err)
	}
}

// TestCertificateFiles checks the files and their modes.
func TestCertificateFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "pki")
	load(t, dir, testNames(), time.Now())
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 12 {
		t.Fatalf("got %v, %v", entries, err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(e.Name(), ".key") && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", e.Name(), info.Mode())
		}
	}
}

// TestCertificatesAreKept checks which certificates a later start replaces.
func TestCertificatesAreKept(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	first := load(t, dir, testNames(), now)
	other := testNames()
	other.IPs = append(other.IPs, net.ParseIP("192.0.2.8"))
	cases := []struct {
		name               string
		names              Names
		now                time.Time
		ca, serving, admin bool // kept
	}{
		{"again", testNames(), now, true, true, true},
		{"later", testNames(), now.Add(leafLifetime - renewBefore - time.Hour), true, true, true},
		{"other names", other, now, true, false, true},
		{"near their end", testNames(), now.Add(leafLifetime - renewBefore + time.Hour), true, false, false},
		{"long after", testNames(), now.Add(2 * caLifetime), false, false, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			copied := t.TempDir()
			if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			got := load(t, copied, c.names, c.now)
			for _, p := range []struct {
				name        string
				before, got *KeyPair
				isKept      bool
			}{{"ca", first.CA, got.CA, c.ca}, {"serving", first.Serving, got.Serving, c.serving}, {"admin", first.Admin, got.Admin, c.admin}} {
				if isKept := p.before.Cert.Equal(p.got.Cert); isKept != p.isKept {
					t.Errorf("%s: kept is %v, want %v", p.name, isKept, p.isKept)
				}
				if err := p.got.Cert.CheckSignatureFrom(got.CA.Cert); err != nil {
					t.Errorf("%s: %v", p.name, err)
				}
				if c.now.After(p.got.Cert.NotAfter) {
					t.Errorf("%s ended at %v", p.name, p.got.Cert.NotAfter)
				}
			}
			if !bytes.Equal(first.CA.KeyPEM, got.CA.KeyPEM) {
				t.Error("the CA has another key")
			}
		})
	}
}

// TestCertificatesAfterCrash checks that a start repairs a key without a matching
// certificate.
func TestCertificatesAfterCrash(t *testing.T) {
	for _, lost := range []string{"ca.crt", "apiserver.crt", "admin.crt", "admin.key"} {
		dir := t.TempDir()
		load(t, dir, testNames(), time.Now())
		if err := os.Remove(filepath.Join(dir, lost)); err != nil {
			t.Fatal(err)
		}
		c := load(t, dir, testNames(), time.Now())
		if _, err := c.Serving.TLS(); err != nil {
			t.Errorf("without %s: %v", lost, err)
		}
	}
	// The new key was written, but its certificate was not.
	lost := t.TempDir()
	before := load(t, lost, testNames(), time.Now())
	if err := os.Remove(filepath.Join(lost, "ca.crt")); err != nil {
		t.Fatal(err)
	}
	if after := load(t, lost, testNames(), time.Now()); !bytes.Equal(after.CA.KeyPEM, before.CA.KeyPEM) || after.IsNew || !before.IsNew {
		t.Errorf("a CA without its certificate gets another key: %t, %t", before.IsNew, after.IsNew)
	}
	if err := os.Remove(filepath.Join(lost, "ca.key")); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(lost, testNames(), time.Now(), false); err == nil || !strings.Contains(err.Error(), "ca.key is missing: put it back") {
		t.Errorf("a CA without its key: %v", err)
	}
	dir, donor := t.TempDir(), t.TempDir()
	load(t, dir, testNames(), time.Now())
	load(t, donor, testNames(), time.Now())
	key, err := os.ReadFile(filepath.Join(donor, "apiserver.key"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "apiserver.key"), key, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := load(t, dir, testNames(), time.Now()).Serving.TLS(); err != nil {
		t.Error(err)
	}
}

// TestForeignCertificateIsLeftAlone checks that a certificate of another CA is not
// replaced.
func TestForeignCertificateIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	load(t, dir, testNames(), time.Now())
	foreign := pki{dir: dir, now: time.Now()}
	brought, err := foreign.issue("apiserver", &x509.Certificate{Subject: pkix.Name{CommonName: "mine"}, DNSNames: []string{"api.example"}, NotAfter: time.Now().Add(time.Hour)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c := load(t, dir, testNames(), time.Now()); !c.Serving.Cert.Equal(brought.Cert) {
		t.Error("the certificate was replaced")
	}
}

// TestCertificatesThatCannotBeRead checks the errors for invalid files.
func TestCertificatesThatCannotBeRead(t *testing.T) {
	for _, name := range []string{"ca.crt", "ca.key", "apiserver.crt", "admin.key"} {
		dir := t.TempDir()
		load(t, dir, testNames(), time.Now())
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("not a certificate"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load(dir, testNames(), time.Now(), false)
		if err == nil || !strings.HasPrefix(err.Error(), path+": no PEM ") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	dir, donor := t.TempDir(), t.TempDir()
	load(t, dir, testNames(), time.Now())
	load(t, donor, testNames(), time.Now())
	if err := os.Rename(filepath.Join(donor, "ca.key"), filepath.Join(dir, "ca.key")); err != nil {
		t.Fatal(err)
	}
	_, err := Load(dir, testNames(), time.Now(), false)
	if err == nil || !strings.Contains(err.Error(), "ca.crt: the certificate does not match the key") {
		t.Errorf("got %v", err)
	}
}

// TestNamesOfAllInterfaces checks that a server that listens on all interfaces has all
// their addresses in its certificate.
func TestNamesOfAllInterfaces(t *testing.T) {
	for _, bind := range []string{"0.0.0.0", "::"} {
		for _, ip := range NamesFor(net.ParseIP(bind), nil).IPs {
			if ip.IsUnspecified() {
				t.Errorf("%s is in the certificate", ip)
			}
		}
	}
}

// TestNamesAreUnique checks that no address is twice in the certificate of a server that listens on one that
// all certificates have.
func TestNamesAreUnique(t *testing.T) {
	for _, bind := range []string{"127.0.0.1", "::1", "0.0.0.0", "::"} {
		names := NamesFor(net.ParseIP(bind), []net.IP{net.IPv4(10, 96, 0, 1).To4(), net.IPv4(127, 0, 0, 1).To4()})
		for _, host := range []string{"127.0.0.1", "10.96.0.1", "LOCALHOST", "localhost", ""} {
			names.Add(host)
		}
		var all []string
		for _, ip := range names.IPs {
			all = append(all, ip.String())
		}
		all = append(all, names.DNS...)
		slices.Sort(all)
		if unique := slices.Compact(slices.Clone(all)); !slices.Equal(unique, all) {
			t.Errorf("%s: %q", bind, all)
		}
	}
}

// TestKubeletClientCertificateIsReplaced checks that a start replaces a certificate of the
// server's CA that makes the kubelet client an administrator, which earlier versions
// generated.
func TestKubeletClientCertificateIsReplaced(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	own := load(t, dir, testNames(), now)
	p := &pki{dir: dir, now: now, ca: own.CA}
	old, err := p.issue("apiserver-kubelet-client", &x509.Certificate{
		Subject:  pkix.Name{CommonName: KubeletClientName, Organization: []string{request.GroupMasters}},
		NotAfter: now.Add(leafLifetime), KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	current := load(t, dir, testNames(), now)
	if got := current.Kubelets.Cert.Subject.Organization; !slices.Equal(got, []string{KubeletClientGroup}) || bytes.Equal(old.KeyPEM, current.Kubelets.KeyPEM) {
		t.Errorf("the certificate is of %v", got)
	}
	if file, err := p.read("apiserver-kubelet-client"); err != nil || !bytes.Equal(file.CertPEM, current.Kubelets.CertPEM) {
		t.Errorf("the file has another certificate: %v", err)
	}
	if later := load(t, dir, testNames(), now); !bytes.Equal(later.Kubelets.CertPEM, current.Kubelets.CertPEM) {
		t.Error("it is replaced at every start")
	}
}
