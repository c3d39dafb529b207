package server

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"time"
)

// loadCredentials reads or makes the certificates that the server presents, and the
// credentials of its administrator.
func (p *parts) loadCredentials() (err error) {
	bind := net.ParseIP(p.o.BindAddress)
	service, err := serviceIPs(p.o.ServiceClusterIPRange)
	if err != nil {
		return fmt.Errorf("--service-cluster-ip-range: %w", err)
	}
	names := subjectAltNamesFor(bind, service)
	names.add(p.o.AdvertiseAddress)
	names.add(p.o.ExternalHostname)
	switch {
	case !p.o.NoDataDir:
		p.own, err = loadCertificates(p.o.CertDir, names, time.Now(), !p.ephemeral)
	case p.o.TLSCertFile != "":
		p.own, err = generateCertificates("", names, time.Now())
	default:
		p.own, err = generateCertificates(p.o.CertDir, names, time.Now())
	}
	if err != nil {
		return fmt.Errorf("--cert-dir: %w", err)
	}
	serving, verify, err := loadServing(&p.o, p.own)
	if err != nil {
		return err
	}
	certFile, keyFile := p.o.TLSCertFile, p.o.TLSKeyFile
	if certFile == "" {
		certFile, keyFile = filepath.Join(p.o.CertDir, servingName+".crt"), filepath.Join(p.o.CertDir, servingName+".key")
	}
	certificate, err := newServingCertificate(serving, certFile, keyFile, p.logger)
	if err != nil {
		return fmt.Errorf("--tls-cert-file: %w", err)
	}
	named, err := loadSNI(p.o.SNICertificates, p.logger)
	if err != nil {
		return err
	}
	p.tls = tlsConfig(&p.o, chooseCertificate(named, certificate))
	host, port := localHost(bind), p.secure.Addr().(*net.TCPAddr).Port
	p.admin = adminAccess{
		url:        "https://" + net.JoinHostPort(host, strconv.Itoa(port)),
		ca:         verify,
		serverName: serverNameFor(serving, host),
		cert:       p.own.admin.certPEM,
		key:        p.own.admin.keyPEM,
	}
	p.URL, p.CA, p.Token = p.admin.url, verify, newToken()
	if p.kubeconfig, err = p.admin.kubeconfig(); err != nil {
		return err
	}
	if p.o.NoDataDir {
		return nil
	}
	p.KubeconfigFile = filepath.Join(p.o.Dir, "admin.kubeconfig")
	return writeFile(p.KubeconfigFile, p.kubeconfig, 0o600, !p.ephemeral)
}

// loadServing returns the certificate to serve with, and the certificates that
// clients verify it with. A certificate from --tls-cert-file is not of the server's
// CA, so that clients are given that certificate itself.
func loadServing(o *Options, own *certificates) (serving *keyPair, verify []byte, err error) {
	if o.TLSCertFile == "" {
		if own.serving.cert.CheckSignatureFrom(own.ca.cert) != nil {
			return own.serving, own.serving.certPEM, nil
		}
		return own.serving, own.ca.certPEM, nil
	}
	serving, err = readPair(o.TLSCertFile, o.TLSKeyFile)
	if errors.Is(err, errMismatch) {
		return nil, nil, fmt.Errorf("--tls-cert-file, --tls-private-key-file: %w", err)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("--tls-cert-file: %w", err)
	}
	return serving, serving.certPEM, nil
}

// serverNameFor returns the name that clients must expect in a certificate that is
// not valid for host; empty if it is valid.
func serverNameFor(p *keyPair, host string) string {
	switch {
	case p.cert.VerifyHostname(host) == nil:
		return ""
	case len(p.cert.DNSNames) > 0:
		return p.cert.DNSNames[0]
	case len(p.cert.IPAddresses) > 0:
		return p.cert.IPAddresses[0].String()
	}
	return ""
}

// newToken returns a random bearer token.
func newToken() string { return rand.Text() + rand.Text() }

// localHost returns the host at which this machine reaches a listener that is bound
// to an address.
func localHost(bind net.IP) string {
	switch {
	case !bind.IsUnspecified():
		return bind.String()
	case bind.To4() != nil:
		return "127.0.0.1"
	}
	return "::1"
}
